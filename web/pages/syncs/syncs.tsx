/** All syncs: whether each is on time, and how its last run ended. */
import { Link, useSearch } from '@tanstack/react-router';
import type { Sync } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { FilterToggles } from '../../parts/filter-toggles.tsx';
import { Count, When } from '../../parts/values.tsx';
import { useList } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { endText, scheduleText } from './run-words.tsx';

const COLUMNS: readonly Column<Sync>[] = [
  {
    title: 'Sync',
    cell: ({ identifier, name }) => (
      <Link to={`/syncs/${identifier}`}>
        <b>{name}</b>
      </Link>
    ),
  },
  { title: 'From', cell: ({ source }) => endText(source) },
  { title: 'To', cell: ({ destination }) => endText(destination) },
  { title: 'State', cell: (sync) => <SyncChip sync={sync} /> },
  { title: 'Last run', cell: ({ last_run }) => <LastRun run={last_run} /> },
  {
    title: 'Failed',
    isNumber: true,
    cell: ({ last_run }) => (last_run ? <Count value={last_run.failed_records} /> : '–'),
  },
  { title: 'Next run', cell: (sync) => <NextRun sync={sync} /> },
];

export function Syncs() {
  const { state = 'all' } = useSearch({ strict: false });
  const list = useList('listSyncs', { query: { per_page: '100' } });
  const syncs = list.data?.pages.flatMap(({ items }) => items) ?? [];
  const { may } = useSession();
  const make = may('createSync') ? (
    <Link className="btn main" to="/syncs/new">
      <Icon name="plus" />
      New sync
    </Link>
  ) : undefined;
  const shown = syncs.filter((sync) => state === 'all' || stateOf(sync) === state);
  return (
    <>
      <Head title="Syncs" actions={make} facts={<span>Each copies a stream of a connection, again and again.</span>} />
      <Panel title="All syncs">
        {syncs.length > 0 && (
          <div className="body">
            <FilterToggles
              name="state"
              label="State"
              value={state}
              options={(['all', 'active', 'failing', 'paused'] as const).map((each) => ({
                value: each,
                count: syncs.filter((sync) => each === 'all' || stateOf(sync) === each).length,
              }))}
            />
          </div>
        )}
        <DataTable
          caption="Syncs"
          columns={COLUMNS}
          rows={shown}
          keyOf={({ identifier }) => identifier}
          more={list}
          empty={
            <Empty
              says={
                syncs.length > 0
                  ? `No sync is ${state}.`
                  : 'No sync yet. A sync copies a stream of a connection into attributes or another system.'
              }
              {...(syncs.length > 0 ? {} : { command: 'millrace syncs add customers.yaml' })}
              action={syncs.length > 0 ? undefined : make}
            />
          }
        />
      </Panel>
      <AsCommand operation="listSyncs" cli={['millrace syncs list']} manual="syncs" />
    </>
  );
}

function stateOf({ state, failures }: Sync): 'paused' | 'failing' | 'active' {
  if (state === 'paused') return 'paused';
  return failures > 0 ? 'failing' : 'active';
}

export function SyncChip({ sync }: { sync: Sync }) {
  const state = stateOf(sync);
  if (state === 'paused') return <Chip tone="warn">Paused</Chip>;
  if (state === 'failing') return <Chip tone="bad">{`Active, ${sync.failures} failed in a row`}</Chip>;
  return <Chip tone="ok">Active</Chip>;
}

function LastRun({ run }: { run: Sync['last_run'] }) {
  if (run === null) return <span className="quiet">never ran</span>;
  return (
    <>
      {run.state} <When at={run.ended_at ?? run.started_at} />
    </>
  );
}

function NextRun({ sync }: { sync: Sync }) {
  if (sync.state === 'paused') return <span className="quiet">paused</span>;
  const [next] = sync.next_runs;
  return next === undefined ? <span className="quiet">{scheduleText(sync)}</span> : <When at={next} />;
}
