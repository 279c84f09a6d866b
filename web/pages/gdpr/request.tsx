/** One privacy request: how far it is, what keeps it, what was erased where, and its proof. */
import { Link, useParams } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import type { ListedGdprRequest, PersonalDataLocation } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Audited } from '../../parts/audited.tsx';
import { Balance } from '../../parts/balance.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { DataTable } from '../../parts/table.tsx';
import { Timeline, type TimelineEntry } from '../../parts/timeline.tsx';
import { Toggles } from '../../parts/toggles.tsx';
import { countText, When } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { Decide } from './decide.tsx';
import { Identifiers } from './identifiers.tsx';
import { ReceiptsOfRequest } from './receipt-list.tsx';
import { RequestPeople } from './request-people.tsx';
import { isGivenUp, isUnderWay, Kept, peopleText, sourceText, StateChip, TYPE_WORDS } from './request-state.tsx';

export function Request() {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  // The list writes no entry into the audit log, so that the request can be followed.
  const found = useRead(
    'listGdprRequests',
    { query: { request_id: id } },
    { pollWhile: ({ items }) => items.some((item) => isUnderWay(item) || item.state === 'waiting') },
  );
  return (
    <Shown
      result={found.isPlaceholderData ? { ...found, data: undefined } : found}
      head={<Head title="Request" within={{ ...WITHIN, name: id }} />}
    >
      {({ items: [request] }) => (request ? <One key={id} request={request} /> : <Gone id={id} />)}
    </Shown>
  );
}

const WITHIN = { title: 'Requests', to: '/privacy' } as const;

/** Says that the request is unknown by now: its receipts stay. */
function Gone({ id }: { id: string }) {
  return (
    <>
      <Head title="Request" within={{ ...WITHIN, name: id }} state={<Chip tone="neutral">unknown or discarded</Chip>} />
      <p className="second">
        Millrace keeps a request for seven days after it is treated or declined. Its receipts stay, and hold no ids.
      </p>
      <Panel title="Receipts">
        <Audited operation="listGdprReceipts" what="the receipts">
          {() => <ReceiptsOfRequest id={id} />}
        </Audited>
      </Panel>
    </>
  );
}

/** Leads a number to the people of the request. */
const PEOPLE = { to: '.', hash: 'people' } as const;

function One({ request }: { request: ListedGdprRequest }) {
  const { request_id: id, type, people } = request;
  const open = people.asked - people.treated - people.held;
  return (
    <>
      <Head
        title={people.asked === 0 ? TYPE_WORDS[type] : `${TYPE_WORDS[type]} of ${peopleText(people.asked)}`}
        within={{ ...WITHIN, name: id }}
        state={<StateChip request={request} />}
        actions={<Decide request={request} />}
        facts={<Facts request={request} />}
      />
      <Kept request={request} />
      {people.asked === 0 && (
        <p className="note info">
          <Icon name="lock" />
          Everyone in this request was erased since, so that it no longer counts or names them.
        </p>
      )}
      <Balance
        total={people.asked}
        what={people.asked === 1 ? 'person' : 'people'}
        parts={[
          { label: 'treated', count: people.treated, tone: 'ok', ...PEOPLE },
          { label: 'on hold', count: people.held, tone: 'warn', ...PEOPLE },
          { label: request.state === 'declined' ? 'declined' : 'open', count: open, tone: 'neutral', ...PEOPLE },
        ]}
      />
      <div className="cols">
        <div className="stack">
          {type === 'delete' && <Erased request={request} />}
          <div id="people">
            <Panel title="People">
              <Audited operation="viewGdprRequest" what="the people of this request">
                {() => <RequestPeople id={id} />}
              </Audited>
            </Panel>
          </div>
          <Panel title="Identifiers">
            <Audited operation="listGdprIdentifiers" what="their identifiers">
              {() => <Identifiers id={id} isWaiting={request.state === 'waiting'} />}
            </Audited>
          </Panel>
          <Proof request={request} />
        </div>
        <aside className="stack">
          <Panel title="What happened">
            <div className="body">
              <Timeline entries={entriesOf(request)} />
            </div>
          </Panel>
          <AsCommand
            operation="viewGdprRequest"
            params={{ request_id: id }}
            cli={[
              `millrace gdpr status ${id}`,
              ...(type === 'delete' ? [`millrace gdpr locations ${id}`] : [`millrace gdpr download ${id}`]),
              `millrace gdpr receipt ${id} --out receipts.json`,
              `millrace verify receipts.json \\\n  --jwks "$MILLRACE_URL/.well-known/jwks.json"`,
            ]}
            manual="gdpr"
          />
        </aside>
      </div>
    </>
  );
}

function Facts({ request }: { request: ListedGdprRequest }) {
  return (
    <>
      <span>
        requested <When at={request.requested_at} />
      </span>
      <span>{sourceText(request)}</span>
      {request.expires_at !== null && (
        <span>
          discarded <When at={request.expires_at} />
        </span>
      )}
    </>
  );
}

function Proof({ request: { request_id: id, people, state } }: { request: ListedGdprRequest }) {
  return (
    <Panel title="Receipts">
      {people.treated === 0 && state !== 'treated' ? (
        <Empty
          says={
            state === 'declined'
              ? 'No receipt: nothing was deleted.'
              : 'No receipt yet. Millrace signs one as soon as people are treated; people on hold get theirs later.'
          }
        />
      ) : (
        <Audited operation="listGdprReceipts" what="the receipts">
          {() => <ReceiptsOfRequest id={id} />}
        </Audited>
      )}
    </Panel>
  );
}

const DONE = { access: 'all archives are written', delete: 'the last scan found nothing' } as const;

function entriesOf(request: ListedGdprRequest): TimelineEntry[] {
  const { state, stage, requested_at: requestedAt, treated_at: treatedAt, expires_at: expiresAt, fault } = request;
  return [
    { at: requestedAt, title: 'Requested', more: sourceText(request) },
    ...(state === 'waiting'
      ? [{ at: null, title: 'Waits for approval', more: 'nothing happens before it', tone: 'warn' } as const]
      : []),
    ...(isUnderWay(request) && !isGivenUp(request)
      ? [{ at: null, title: stage ?? 'Starts soon', more: 'at this moment', tone: 'accent' } as const]
      : []),
    ...(fault === null ? [] : [{ at: fault.since, title: 'Kept', more: fault.reason, tone: 'bad' } as const]),
    ...(treatedAt === null ? [] : [{ at: treatedAt, title: 'Treated', more: DONE[request.type], tone: 'ok' } as const]),
    ...(state === 'declined' ? [{ at: null, title: 'Declined', more: 'nothing was deleted' }] : []),
    ...(expiresAt === null ? [] : [{ at: expiresAt, title: 'Will be discarded', more: 'its receipts stay' }]),
  ];
}

/** Shows what the deletion has erased, location by location. */
function Erased({ request }: { request: ListedGdprRequest }) {
  const found = useRead(
    'listPersonalDataLocations',
    { query: { request_id: request.request_id } },
    { pollWhile: () => isUnderWay(request) },
  );
  const { refetch } = found;
  const seen = useRef(request.state);
  // The counts that were read last may be older than the end.
  useEffect(() => {
    if (seen.current !== request.state) void refetch();
    seen.current = request.state;
  }, [request.state, refetch]);
  return (
    <Panel title="Erased, location by location">
      <Shown result={found}>
        {({ locations }) =>
          request.state === 'waiting' ? <Planned locations={locations} /> : <Counts locations={locations} />
        }
      </Shown>
    </Panel>
  );
}

/** Says how much an approval would look through. */
function Planned({ locations }: { locations: readonly PersonalDataLocation[] }) {
  return (
    <Empty
      says={`Nothing is erased before the approval. It would erase the people and identifiers below in ${countText(
        locations.filter(({ is_erased: isErased }) => isErased).length,
      )} locations.`}
      action={
        <Link className="btn" to="/privacy/map">
          See the locations
        </Link>
      }
    />
  );
}

const sumOf = (locations: readonly PersonalDataLocation[], name: 'erased' | 'survivors'): number =>
  locations.reduce((sum, location) => sum + (location[name] ?? 0), 0);

function Counts({ locations }: { locations: readonly PersonalDataLocation[] }) {
  const [shown, setShown] = useState<'named' | 'all'>('named');
  const erasing = locations.filter(({ is_erased: isErased }) => isErased);
  const scanned = erasing.filter(({ survivors }) => typeof survivors === 'number');
  const named = erasing.filter(({ erased, survivors }) => (erased ?? 0) + (survivors ?? 0) > 0);
  const left = sumOf(erasing, 'survivors');
  return (
    <>
      <div className="body">
        <p>
          <b>{countText(sumOf(erasing, 'erased'))}</b> rows and files erased in {countText(named.length)} of{' '}
          {countText(erasing.length)} locations.{' '}
          {scanned.length === 0 ? (
            <span className="second">The scan for survivors comes last.</span>
          ) : (
            <Chip tone={left === 0 ? 'ok' : 'warn'}>{countText(left)} survivors in the last scan</Chip>
          )}
        </p>
        <Toggles
          label="Locations"
          choices={[
            { value: 'named', title: `With data ${named.length}` },
            { value: 'all', title: `All ${erasing.length}` },
          ]}
          value={shown}
          onChange={setShown}
        />
      </div>
      <DataTable
        caption="Locations with the counts of this deletion"
        columns={[
          { title: 'Location', cell: ({ name }) => <code>{name}</code> },
          { title: 'Erased', isNumber: true, cell: ({ erased }) => countOf(erased) },
          { title: 'Survivors', isNumber: true, cell: ({ survivors }) => countOf(survivors) },
          { title: 'How', cell: ({ erased_by: words }) => <span className="second">{plain(words)}</span> },
        ]}
        rows={shown === 'all' ? erasing : named}
        keyOf={({ name }) => name}
        empty={<Empty says="No location had data of these people so far." />}
      />
    </>
  );
}

const countOf = (count: number | null | undefined) =>
  typeof count === 'number' ? countText(count) : <span className="quiet">–</span>;

/** Leaves the words of links, and what follows the first half of the sentence out. */
const plain = (markdown: string): string => markdown.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').split(/[;.] /)[0]!;
