/** All apps of the entity: whether each has a key and sends, and who has it. */
import { Link } from '@tanstack/react-router';
import type { ViewedApp } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Chip, Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { Count, Id } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';

const COLUMNS: readonly Column<ViewedApp>[] = [
  {
    title: 'App',
    cell: ({ identifier, name }) => (
      <Link to={`/apps/${identifier}`}>
        <b>{name}</b>
      </Link>
    ),
  },
  { title: 'Platform', cell: ({ platform, is_qa }) => (is_qa ? `${platform}, for tests` : platform) },
  { title: 'Package', cell: ({ package_name }) => <code>{package_name}</code> },
  { title: 'State', cell: (app) => <AppState app={app} /> },
  { title: 'Devices', isNumber: true, cell: ({ downloads }) => <Count value={downloads} /> },
  { title: 'Seen in 30 days', isNumber: true, cell: ({ mau }) => <Count value={mau} /> },
  { title: 'Identifier', cell: ({ identifier }) => <Id value={identifier} /> },
];

/** Says in a word whether an app's SDK can send, and has sent. */
export function AppState({ app, isSending = app.has_usage_data }: { app: ViewedApp; isSending?: boolean }) {
  if (app.has_unwanted_status) return <Chip tone="neutral">Out of its store</Chip>;
  if (!app.has_api_key) return <Chip tone="warn">No key</Chip>;
  return isSending ? <Chip tone="ok">Sends</Chip> : <Chip tone="info">Waits for its first call</Chip>;
}

export function Apps() {
  const { may } = useSession();
  const [{ unwanted }, change] = useFilters();
  const isAll = unwanted === 'true';
  const read = useRead('listApps', { query: { unwanted: isAll, secrets: false } });
  const make = (
    <Link className="btn main" to="/apps/new">
      <Icon name="plus" />
      New app
    </Link>
  );
  return (
    <>
      <Head
        title="Apps"
        facts={<span>An app or site that holds an SDK: it sends what people do, and shows them messages.</span>}
        actions={may('createApp') ? make : undefined}
      />
      <Panel
        title="Apps of this entity"
        end={
          <label className="small">
            <input
              type="checkbox"
              checked={isAll}
              onChange={({ target }) => change({ unwanted: target.checked ? 'true' : undefined })}
            />{' '}
            Also those out of their store
          </label>
        }
      >
        <DataTable
          caption="Apps"
          columns={COLUMNS}
          rows={read.data?.apps ?? []}
          keyOf={({ identifier }) => identifier}
          more={{ ...read, hasNextPage: false, isFetchingNextPage: false, fetchNextPage: () => undefined }}
          empty={
            <Empty
              says="No app yet. Make one: it gets a key, and its SDK the address of this server."
              {...(may('createApp') ? { action: make } : {})}
              command="millrace apps add Shop --package com.example.shop --type 'Web App'"
            />
          }
        />
      </Panel>
      <AsCommand operation="listApps" cli={['millrace apps list', 'millrace apps view <app>']} manual="apps" />
    </>
  );
}
