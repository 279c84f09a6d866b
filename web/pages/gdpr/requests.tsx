/** The privacy requests of the entity: those that wait for approval first. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { ListedGdprRequest } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Balance } from '../../parts/balance.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Chip, Head } from '../../parts/head.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { Toggles } from '../../parts/toggles.tsx';
import { countText, When } from '../../parts/values.tsx';
import { useList, useRead } from '../../session/calls.ts';
import { Ask } from './ask.tsx';
import { Decide } from './decide.tsx';
import { isUnderWay, sourceText, StateChip, TYPE_WORDS } from './request-state.tsx';

const PAGE = 100;

export function Requests() {
  const [asked, setAsked] = useState<ListedGdprRequest['type'] | null>(null);
  const waiting = useRead(
    'listGdprRequests',
    { query: { state: 'waiting', per_page: PAGE } },
    { pollWhile: ({ by_state: states }) => states.accepted + states.running > 0 },
  );
  return (
    <>
      <Head
        title="Requests"
        facts={
          <span>People ask for their data, or for its deletion. A request is kept for a week once it is done.</span>
        }
        actions={
          <>
            <ActionButton operation="requestAccess" onPress={() => setAsked('access')}>
              Request access
            </ActionButton>
            <ActionButton operation="requestDeletion" kind="danger" onPress={() => setAsked('delete')}>
              Request deletion
            </ActionButton>
          </>
        }
      />
      {waiting.data && <States states={waiting.data.by_state} />}
      <div id="waiting">
        <Panel
          title="Waiting for approval"
          end={waiting.data && waiting.data.total_items > 0 && <Chip tone="warn">{waiting.data.total_items}</Chip>}
        >
          <Shown result={waiting}>{({ items }) => <Waiting items={items} />}</Shown>
        </Panel>
      </div>
      <div id="requests">
        <All states={waiting.data?.by_state} />
      </div>
      <AsCommand
        operation="listGdprRequests"
        cli={['millrace gdpr requests', 'millrace gdpr access <user…>', 'millrace gdpr delete <user…>']}
        manual="gdpr"
      />
      {asked && <Ask type={asked} onClose={() => setAsked(null)} />}
    </>
  );
}

type StateCounts = Record<ListedGdprRequest['state'], number>;

function States({ states }: { states: StateCounts }) {
  const { waiting, accepted, running, treated, declined } = states;
  return (
    <Balance
      total={waiting + accepted + running + treated + declined}
      what="requests"
      parts={[
        { label: 'wait for approval', count: waiting, tone: 'warn', to: '.', hash: 'waiting' },
        { label: 'accepted', count: accepted, tone: 'info', ...listedBy('accepted') },
        { label: 'running', count: running, tone: 'accent', ...listedBy('running') },
        { label: 'treated', count: treated, tone: 'ok', ...listedBy('treated') },
        { label: 'declined', count: declined, tone: 'neutral', ...listedBy('declined') },
      ]}
    />
  );
}

/** Returns what leads a number to the requests of this state below. */
const listedBy = (state: string) => ({ to: '.', search: { state, type: 'any' }, hash: 'requests' });

const linkOf = ({ request_id: id, type }: ListedGdprRequest) => (
  <Link to={`/privacy/${id}`}>
    {TYPE_WORDS[type]} <span className="mono n">{id}</span>
  </Link>
);

function Waiting({ items }: { items: readonly ListedGdprRequest[] }) {
  return (
    <DataTable
      caption="Requests that wait for approval"
      columns={[
        { title: 'Requested', cell: ({ requested_at: at }) => <When at={at} /> },
        { title: 'Request', cell: linkOf },
        { title: 'Source', cell: sourceText },
        { title: 'People', isNumber: true, cell: ({ people }) => countText(people.asked) },
        { title: 'Decide', cell: (request) => <Decide request={request} /> },
      ]}
      rows={items}
      keyOf={({ request_id: id }) => id}
      empty={<Empty says="No request waits. Deletions that a device requests without a user token wait here." />}
    />
  );
}

const COLUMNS: Column<ListedGdprRequest>[] = [
  { title: 'Requested', cell: ({ requested_at: at }) => <When at={at} /> },
  { title: 'Request', cell: linkOf },
  {
    title: 'State',
    cell: (request) => (
      <span className="filters">
        <StateChip request={request} /> {request.stage}
      </span>
    ),
  },
  { title: 'People', isNumber: true, cell: ({ people }) => countText(people.asked) },
  { title: 'Treated', isNumber: true, cell: ({ people }) => countText(people.treated) },
  { title: 'On hold', isNumber: true, cell: ({ people }) => countText(people.held) },
];

const TYPES = [
  { value: 'any', title: 'All' },
  { value: 'access', title: 'Access' },
  { value: 'delete', title: 'Deletion' },
] as const;
const STATES = ['accepted', 'running', 'treated', 'declined'] as const;

function All({ states }: { states: StateCounts | undefined }) {
  const [filters, change] = useFilters();
  const type = TYPES.find(({ value }) => value === filters['type'])?.value ?? 'any';
  const state = STATES.find((each) => each === filters['state']);
  const requests = useList(
    'listGdprRequests',
    { query: { per_page: PAGE, ...(type === 'any' ? {} : { type }), ...(state && { state }) } },
    { pollWhile: ({ items }) => items.some(isUnderWay) },
  );
  const isFiltered = type !== 'any' || state !== undefined;
  return (
    <Panel title="All requests">
      <div className="body controls">
        <Toggles
          label="Type"
          choices={TYPES}
          value={type}
          onChange={(value) => change({ type: value === 'any' ? undefined : value })}
        />
        <Toggles
          label="State"
          choices={[
            { value: 'any', title: 'Any state' },
            ...STATES.map((value) => ({
              value,
              title: (
                <>
                  {value} <b>{states?.[value] ?? ''}</b>
                </>
              ),
            })),
          ]}
          value={state ?? 'any'}
          onChange={(value) => change({ state: value === 'any' ? undefined : value })}
        />
      </div>
      <DataTable
        caption="Requests, newest first"
        columns={COLUMNS}
        rows={requests.data?.pages.flatMap(({ items }) => items) ?? []}
        keyOf={({ request_id: id }) => id}
        empty={
          isFiltered ? (
            <Empty says="No request of the last days fits these filters." />
          ) : (
            <Empty
              says="No request yet. Ask for a person’s data, or for its deletion, above."
              command="millrace gdpr access <user>"
            />
          )
        }
        more={requests}
      />
    </Panel>
  );
}
