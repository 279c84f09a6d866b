/** One connection: whether it works, its streams, its settings without secrets, and the syncs that use it. */
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { type FormEvent, useId, useState } from 'react';
import { type Connection, type Connector, stringify, type Sync } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Audited } from '../../parts/audited.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { nameText, SchemaFields, settingsOf } from '../../parts/schema-form.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { textOf } from '../../parts/text-of.ts';
import { Id, When } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { CheckResult } from './check-result.tsx';
import { uses } from './connections.tsx';
import { Streams } from './connection-streams.tsx';
import { sidesText } from './new-connection.tsx';
import { SyncChip } from './syncs.tsx';

export function ConnectionPage() {
  const { id = '' } = useParams({ strict: false });
  const params = { connection_id: id };
  const read = useRead('viewConnection', { params });
  const connectors = useRead('listConnectors', {});
  return (
    <Shown
      result={read}
      head={<Head title="Connection" within={{ title: 'Connections', to: '/connections', name: id }} />}
    >
      {(connection) => {
        const connector = connectors.data?.find(({ name }) => name === connection.connector);
        const hasStreams = connector !== undefined && (connector.source || connector.destination);
        return (
          <>
            <ConnectionHead connection={connection} connector={connector} />
            <div className="cols">
              <div className="stack">
                <Works connection={connection} />
                {hasStreams && (
                  <Panel title="Streams">
                    <Audited operation="listStreams" what="its streams">
                      {() => <Streams id={id} />}
                    </Audited>
                  </Panel>
                )}
                {connector && <Settings key={connection.revision} connection={connection} connector={connector} />}
              </div>
              <AsCommand
                operation="checkConnection"
                params={params}
                body={{}}
                cli={[
                  `millrace connections view ${id}`,
                  `millrace connections check ${id}`,
                  `millrace connections streams ${id}`,
                ]}
                manual="connectors"
              />
            </div>
          </>
        );
      }}
    </Shown>
  );
}

function ConnectionHead({ connection, connector }: { connection: Connection; connector: Connector | undefined }) {
  const { identifier, name, created_by, created_at } = connection;
  const navigate = useNavigate();
  const remove = useAction('deleteConnection', {
    changes: ['listConnections'],
    onDone: () => void navigate({ to: '/connections' }),
  });
  return (
    <Head
      within={{ title: 'Connections', to: '/connections', name: identifier }}
      title={name}
      actions={
        <>
          {connector?.source && (
            <Link className="btn" to="/syncs/new" search={{ connection: identifier } as never}>
              <Icon name="plus" />
              New sync from this connection
            </Link>
          )}
          <ConfirmButton
            operation="deleteConnection"
            title={`Delete ${name}?`}
            says="Its settings and secrets go for good. Millrace refuses if a sync, an exporter or an app uses it."
            yes="Delete the connection"
            sent={remove}
            onYes={(options) => remove.mutate({ params: { connection_id: identifier } }, options)}
          >
            Delete
          </ConfirmButton>
        </>
      }
      facts={
        <>
          <span>
            <b>{connector?.title ?? connection.connector}</b>
            {connector && `: ${sidesText(connector)}`}
          </span>
          <span>
            made <When at={created_at} />
            {created_by && ` by ${created_by.uid}`}
          </span>
          <Id value={identifier} />
        </>
      }
    />
  );
}

const SYNC_COLUMNS: readonly Column<Sync>[] = [
  {
    title: 'Sync',
    cell: ({ identifier, name }) => <Link to={`/syncs/${identifier}`}>{name}</Link>,
  },
  { title: 'State', cell: (sync) => <SyncChip sync={sync} /> },
  {
    title: 'Last run',
    cell: ({ last_run }) =>
      last_run === null ? (
        <span className="quiet">never ran</span>
      ) : (
        <>
          {last_run.state} <When at={last_run.ended_at ?? last_run.started_at} />
        </>
      ),
  },
];

/** Shows the check that was asked for here, and how the last runs over the connection ended. */
function Works({ connection }: { connection: Connection }) {
  const check = useAction('checkConnection');
  const syncs = useRead('listSyncs', { query: { per_page: '1000' } });
  const using = (syncs.data?.items ?? []).filter((sync) => uses(sync, connection));
  return (
    <Panel
      title="Does it work?"
      end={
        <ActionButton
          operation="checkConnection"
          kind="main"
          isBusy={check.isPending}
          onPress={() => check.mutate({ params: { connection_id: connection.identifier }, body: {} })}
        >
          <Icon name="plug" />
          {check.isPending ? 'Checking' : 'Check now'}
        </ActionButton>
      }
    >
      <div className="body">
        {check.error && <Refused refusal={check.error} />}
        {check.data && <CheckResult check={check.data} at={check.submittedAt} />}
        {check.data === undefined && !check.error && (
          <p className="second">
            A check opens the connection and reads nothing.
            {using.length > 0 ? ' Below is how the last runs over it ended.' : ' No sync uses it yet.'}
          </p>
        )}
      </div>
      <Shown result={syncs}>
        {() =>
          using.length === 0 ? null : (
            <DataTable
              caption="Syncs that use it"
              columns={SYNC_COLUMNS}
              rows={using}
              keyOf={({ identifier }) => identifier}
              empty={<Empty says="No sync uses it." />}
            />
          )
        }
      </Shown>
    </Panel>
  );
}

function Settings({ connection, connector }: { connection: Connection; connector: Connector }) {
  const [isEdited, setEdited] = useState(false);
  return (
    <Panel
      title="Settings"
      end={
        isEdited ? undefined : (
          <ActionButton operation="updateConnection" onPress={() => setEdited(true)}>
            Change
          </ActionButton>
        )
      }
    >
      {isEdited ? (
        <SettingsForm connection={connection} connector={connector} onEnd={() => setEdited(false)} />
      ) : (
        <dl className="body pairs">
          {Object.entries(connection.settings).map(([name, value]) => (
            <div key={name} className="pair">
              <dt>{nameText(name)}</dt>
              <dd>{settingText(value)}</dd>
            </div>
          ))}
        </dl>
      )}
    </Panel>
  );
}

function settingText(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'set' in value)
    return value.set === true ? 'set, never shown' : 'not set';
  return typeof value === 'string' ? value : stringify(value);
}

function SettingsForm({
  connection: { identifier, name, settings },
  connector,
  onEnd,
}: {
  connection: Connection;
  connector: Connector;
  onEnd: () => void;
}) {
  const nameId = useId();
  const update = useAction('updateConnection', { changes: ['viewConnection', 'listConnections'], onDone: onEnd });
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    update.mutate({
      params: { connection_id: identifier },
      body: { name: textOf(form, 'name'), settings: settingsOf(form, connector.settings) },
    });
  };
  return (
    <form className="body" onSubmit={send}>
      <div className="field">
        <label htmlFor={nameId}>Name</label>
        <input className="input" id={nameId} name="name" defaultValue={name} required />
      </div>
      <SchemaFields schema={connector.settings} known={settings} refusal={update.error} />
      {update.error && <Refused refusal={update.error} />}
      <div className="controls">
        <button type="button" className="btn" onClick={onEnd}>
          Leave it as it was
        </button>
        <button type="submit" className="btn main" disabled={update.isPending}>
          Save
        </button>
      </div>
    </form>
  );
}
