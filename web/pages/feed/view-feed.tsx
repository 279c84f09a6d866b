/** One request of the JSON feed: its balance, and the values that changed nothing. */
import { Link, useParams } from '@tanstack/react-router';
import type { FeedRequest, ImportError } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Audited } from '../../parts/audited.tsx';
import { Balance } from '../../parts/balance.tsx';
import { Head } from '../../parts/head.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { Timeline } from '../../parts/timeline.tsx';
import { countText, durationText, Id } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { FeedState } from './feed-list.tsx';

export function ViewFeed() {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  const request = useRead(
    'viewFeedRequest',
    { params: { request_id: id } },
    { pollWhile: ({ state }) => state === 'accepted' },
  );
  return (
    <Shown
      result={request}
      head={<Head title="Feed request" within={{ title: 'Imports', to: '/imports', name: id }} />}
    >
      {(data) => <Request request={data} />}
    </Shown>
  );
}

function Request({ request }: { request: FeedRequest }) {
  const { request_id: id, sor, values, suspicious_ids: suspicious, version, state } = request;
  const { in: total, ok, ignored, failed } = values;
  const waiting = total - ok - ignored - failed;
  return (
    <>
      <Head
        title="Feed request"
        within={{ title: 'Imports', to: '/imports', name: id }}
        state={<FeedState {...request} />}
        facts={
          <>
            <span>
              into {sor ? <Link to={`/sors/${sor.identifier}`}>{sor.name}</Link> : 'a deleted System of Records'}
            </span>
            <span>version {version} of the feed</span>
            <Id value={id} />
          </>
        }
      />
      <Balance
        total={total}
        what="values in the request"
        parts={[
          { label: 'ok', count: ok, tone: 'ok' },
          { label: 'ignored: no such attribute', count: ignored, tone: 'neutral', to: '.', hash: 'refused' },
          { label: 'failed', count: failed, tone: 'bad', to: '.', hash: 'refused' },
          ...(state === 'accepted' ? [{ label: 'not merged yet', count: waiting, tone: 'info' as const }] : []),
        ]}
        note={
          suspicious > 0
            ? `${countText(suspicious)} values were taken under an id that is probably a mistake, such as “undefined” or “null”.`
            : undefined
        }
      />
      <div className="cols">
        <div className="stack">
          <div id="refused">
            {' '}
            <Panel title="Refused values">
              {ignored + failed === 0 ? (
                <Empty says={state === 'accepted' ? 'The request is not merged yet.' : 'Every value came in.'} />
              ) : (
                <Audited operation="listImportErrors" what="these values">
                  {() => <RefusedValues id={id} />}
                </Audited>
              )}
            </Panel>
          </div>
        </div>
        <aside className="stack">
          <WhatHappened request={request} />
          <AsCommand
            operation="viewFeedRequest"
            params={{ request_id: id }}
            cli={[`millrace feeds view ${id}`, `millrace errors ${id}`]}
            manual="feed"
          />
        </aside>
      </div>
    </>
  );
}

function WhatHappened({ request: { received_at: received, done_at: done, values } }: { request: FeedRequest }) {
  return (
    <Panel title="What happened">
      <div className="body">
        <Timeline
          entries={[
            { at: received, title: 'Received', more: `${countText(values.in)} values` },
            done === null
              ? { at: null, title: 'Not merged yet', tone: 'info' }
              : {
                  at: done,
                  title: 'Merged',
                  tone: 'ok',
                  more: `${durationText(Date.parse(done) - Date.parse(received))} after it came`,
                },
          ]}
        />
      </div>
    </Panel>
  );
}

/** Most values of a request: all fit on a page. */
const MAX_VALUES = 3_000;

function RefusedValues({ id }: { id: string }) {
  const errors = useRead('listImportErrors', { query: { import_id: id, limit: MAX_VALUES } });
  return (
    <Shown result={errors}>
      {({ attribute_errors: rows }) => (
        <DataTable
          caption="Refused values"
          columns={COLUMNS}
          rows={rows}
          keyOf={({ line }) => String(line)}
          empty={<Empty says="No value was refused." />}
        />
      )}
    </Shown>
  );
}

const COLUMNS: readonly Column<ImportError>[] = [
  { title: 'Value', isNumber: true, cell: ({ line }) => countText(line) },
  { title: 'Error', cell: ({ error_type: type }) => <code>{type}</code> },
  {
    title: 'As it came',
    cell: ({ raw }) =>
      raw === null ? <span className="quiet">erased person</span> : <code className="wraps">{raw}</code>,
  },
  { title: 'Problem', cell: ({ message }) => message },
];
