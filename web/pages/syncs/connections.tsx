/** All connections: what each is, and whether the syncs that use it work. */
import { Link } from '@tanstack/react-router';
import type { Connection, Sync } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { DataTable } from '../../parts/table.tsx';
import { When } from '../../parts/values.tsx';
import { useList, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';

export function Connections() {
  const { may } = useSession();
  const list = useList('listConnections', { query: { per_page: '100' } });
  const connectors = useRead('listConnectors', {});
  const syncs = useRead('listSyncs', { query: { per_page: '1000' } });
  const connections = list.data?.pages.flatMap(({ items }) => items) ?? [];
  const titleOf = ({ connector }: Connection): string =>
    connectors.data?.find(({ name }) => name === connector)?.title ?? connector;
  const make = may('createConnection') ? (
    <Link className="btn main" to="/connections/new">
      <Icon name="plus" />
      New connection
    </Link>
  ) : undefined;
  return (
    <>
      <Head
        title="Connections"
        actions={make}
        facts={<span>Settings and secrets of outside systems that syncs read from and write to.</span>}
      />
      <Panel title="All connections">
        <DataTable
          caption="All connections"
          rows={connections}
          keyOf={({ identifier }) => identifier}
          more={list}
          columns={[
            {
              title: 'Connection',
              cell: ({ identifier, name }) => (
                <Link to={`/connections/${identifier}`}>
                  <b>{name}</b>
                </Link>
              ),
            },
            { title: 'Kind', cell: titleOf },
            {
              title: 'Syncs that use it',
              cell: (connection) => <Use syncs={(syncs.data?.items ?? []).filter((sync) => uses(sync, connection))} />,
            },
            {
              title: 'Last run over it',
              cell: (connection) => <Last syncs={(syncs.data?.items ?? []).filter((sync) => uses(sync, connection))} />,
            },
            { title: 'Changed', cell: ({ updated_at }) => <When at={updated_at} /> },
          ]}
          empty={
            <Empty
              says="No connection yet. One has the address and the secrets of a database, a file or a bucket to read from, or of a system to write to."
              action={make}
              command="millrace connections add Warehouse --connector postgres --settings settings.json"
            />
          }
        />
      </Panel>
      <AsCommand operation="listConnections" cli={['millrace connections list']} manual="connectors" />
    </>
  );
}

/** Returns whether a sync reads from the connection, or writes to it. */
export function uses({ source, destination }: Sync, { identifier }: Pick<Connection, 'identifier'>): boolean {
  return source.connection === identifier || destination.connection === identifier;
}

function Use({ syncs }: { syncs: readonly Sync[] }) {
  const failing = syncs.filter(({ failures }) => failures > 0).length;
  if (syncs.length === 0) return <span className="quiet">none</span>;
  return (
    <>
      {syncs.length} {failing > 0 && <Chip tone="bad">{failing} failing</Chip>}
    </>
  );
}

/** Shows how the run that ended last over the connection went. */
function Last({ syncs }: { syncs: readonly Sync[] }) {
  const [last] = syncs
    .flatMap(({ last_run: run }) => (run === null || run.ended_at === null ? [] : [{ ...run, at: run.ended_at }]))
    .toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at));
  const isUnderWay = syncs.some(({ last_run: run }) => run !== null && run.ended_at === null);
  if (last === undefined) return <span className="quiet">{isUnderWay ? 'under way' : 'none yet'}</span>;
  return (
    <>
      <Chip tone={last.state === 'finished' ? 'ok' : last.state === 'failed' ? 'bad' : 'neutral'}>{last.state}</Chip>{' '}
      <When at={last.at} />
    </>
  );
}
