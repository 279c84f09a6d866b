/** Looks at a run that are written into the audit log: its log, and the sample of a dry run. */
import { type SampledRecord, stringify, type SyncRequest } from '../../../api/client.ts';
import type { Tone } from '../../parts/balance.tsx';
import { Chip } from '../../parts/head.tsx';
import { Empty, Shown } from '../../parts/panel.tsx';
import { PersonLink } from '../../parts/person-link.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { Count, durationText, instantText, When } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { useSettings } from '../../session/settings.ts';

type RunParams = { sync_id: string; run_id: string };

export function RunLog({ params }: { params: RunParams }) {
  const { zone } = useSettings();
  const result = useRead('readSyncLog', { params });
  return (
    <Shown result={result}>
      {({ lines }) =>
        lines.length === 0 ? (
          <Empty says="The run and its source have said nothing." />
        ) : (
          <div className="body">
            <pre className="cmd log" tabIndex={0}>
              {lines.map(({ at, line }) => `${instantText(new Date(at), zone)}  ${line}`).join('\n')}
            </pre>
            <div>
              <button type="button" className="btn" disabled={result.isFetching} onClick={() => void result.refetch()}>
                Read it again
              </button>
            </div>
          </div>
        )
      }
    </Shown>
  );
}

const REQUEST_COLUMNS: readonly Column<SyncRequest>[] = [
  { title: 'Sent', cell: ({ sent_at: at }) => <When at={at} /> },
  { title: 'Request', cell: ({ method, path }) => <code>{`${method} ${path}`}</code> },
  {
    title: 'Status',
    isNumber: true,
    cell: ({ status }) => status ?? <span className="quiet">no answer</span>,
  },
  { title: 'Took', isNumber: true, cell: ({ milliseconds }) => durationText(milliseconds) },
];

export function RunRequests({ params }: { params: RunParams }) {
  const result = useRead('listSyncRequests', { params });
  return (
    <Shown result={result}>
      {({ requests }) => (
        <DataTable
          caption="The last HTTP requests of the run, newest first"
          columns={REQUEST_COLUMNS}
          rows={requests}
          keyOf={({ sent_at: at, path, milliseconds }) => `${at} ${path} ${milliseconds}`}
          empty={<Empty says="No request is kept." />}
        />
      )}
    </Shown>
  );
}

const TONES: Record<SampledRecord['outcome'], Tone> = {
  written: 'ok',
  unchanged: 'neutral',
  ignored: 'warn',
  failed: 'bad',
};

const COLUMNS: readonly Column<SampledRecord>[] = [
  { title: 'Record', isNumber: true, cell: ({ line }) => <Count value={line} /> },
  {
    title: 'Person',
    cell: ({ customer_id: id }) => (id === null ? <span className="quiet">–</span> : <PersonLink id={id} />),
  },
  { title: 'Outcome', cell: ({ outcome }) => <Chip tone={TONES[outcome]}>{outcome}</Chip> },
  { title: 'Change', cell: (sampled) => <Changes sampled={sampled} /> },
];

function Changes({ sampled: { changes = [], record, message } }: { sampled: SampledRecord }) {
  return (
    <ul className="changes">
      {message !== undefined && <li>{message}</li>}
      {changes.map(({ key, before, after }) => (
        <li key={key}>
          <code>{key}</code> {before !== null && before !== undefined && <span className="was">{shown(before)}</span>}
          <b>{after === null || after === undefined ? 'removed' : shown(after)}</b>
        </li>
      ))}
      {record !== undefined && (
        <li>
          <code>{shown(record)}</code>
        </li>
      )}
    </ul>
  );
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : stringify(value));

export function RunSample({ params }: { params: RunParams }) {
  const result = useRead('viewDryRunSample', { params });
  return (
    <Shown result={result}>
      {({ records }) => (
        <DataTable
          caption="What the run would change"
          columns={COLUMNS}
          rows={records}
          keyOf={({ line }) => String(line)}
          empty={<Empty says="No record would change anything." />}
        />
      )}
    </Shown>
  );
}
