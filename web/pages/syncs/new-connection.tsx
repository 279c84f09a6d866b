/** A new connection: its connector, then a form that the connector's JSON schema makes. */
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useId, useRef, useState } from 'react';
import type { Connector } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { Head } from '../../parts/head.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { SchemaFields, settingsOf } from '../../parts/schema-form.tsx';
import { textOf } from '../../parts/text-of.ts';
import { useAction, useRead } from '../../session/calls.ts';
import { CheckResult } from './check-result.tsx';

export function NewConnection() {
  const { connector: chosen } = useSearch({ strict: false });
  const connectors = useRead('listConnectors', {});
  return (
    <>
      <Head title="New connection" within={{ title: 'Connections', to: '/connections', name: 'new' }} />
      <Shown result={connectors}>
        {(all) => {
          const connector = all.find(({ name }) => name === chosen);
          return connector ? <SettingsForm key={connector.name} connector={connector} /> : <Choice connectors={all} />;
        }}
      </Shown>
    </>
  );
}

function Choice({ connectors }: { connectors: readonly Connector[] }) {
  return (
    <Panel title="To which system?">
      <ul className="body choices">
        {connectors.map((connector) => (
          <li key={connector.name}>
            <Link className="choice" to="/connections/new" search={{ connector: connector.name }}>
              <b>{connector.title}</b>
              <span className="small second">{sidesText(connector)}</span>
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Returns what a connector can be: syncs read from it, or write to it, or alerts go to it. */
export function sidesText({ source, destination, alerts }: Connector): string {
  return [
    ...(source ? ['read from'] : []),
    ...(destination ? ['write to'] : []),
    ...(alerts ? ['send alerts to'] : []),
  ].join(', ');
}

function SettingsForm({ connector }: { connector: Connector }) {
  const navigate = useNavigate();
  const form = useRef<HTMLFormElement>(null);
  const nameId = useId();
  const [isStale, setStale] = useState(false);
  const check = useAction('checkConnectionSettings');
  const create = useAction('createConnection', {
    changes: ['listConnections'],
    onDone: ({ identifier }) => void navigate({ to: `/connections/${identifier}` }),
  });
  const settings = () => settingsOf(form.current!, connector.settings);
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const name = textOf(event.currentTarget, 'name');
    create.mutate({ body: { name, connector: connector.name, settings: settings() } });
  };
  const refusal = create.error ?? check.error;
  return (
    <div className="cols">
      <Panel title={connector.title} end={<Link to="/connections/new">Another system</Link>}>
        <form ref={form} className="body" onSubmit={send} onInput={() => setStale(true)}>
          <div className="field">
            <label htmlFor={nameId}>Name</label>
            <input className="input" id={nameId} name="name" required maxLength={255} autoComplete="off" autoFocus />
            <span className="hint">As syncs show it, such as Warehouse</span>
          </div>
          <SchemaFields schema={connector.settings} refusal={refusal} />
          {refusal && <Refused refusal={refusal} />}
          {check.data && !isStale && <CheckResult check={check.data} />}
          <div className="controls">
            <ActionButton
              operation="checkConnectionSettings"
              isBusy={check.isPending}
              onPress={() => {
                if (!form.current!.reportValidity()) return;
                setStale(false);
                create.reset();
                check.mutate({ body: { connector: connector.name, settings: settings() } });
              }}
            >
              {check.isPending ? 'Checking' : 'Check'}
            </ActionButton>
            <button type="submit" className="btn main" disabled={create.isPending}>
              Create
            </button>
          </div>
        </form>
      </Panel>
      <AsCommand
        operation="createConnection"
        body={{ name: 'Warehouse', connector: connector.name, settings: {} }}
        cli={[`millrace connections add Warehouse --connector ${connector.name} --settings settings.json`]}
        manual="connectors"
      />
    </div>
  );
}
