/** A form that makes an app with its first key, and shows the lines that its SDK needs. */
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import type { ApiKey, CreatedApp } from '../../../api/client.ts';
import { APP_TYPES } from '../../../domain/apps/app.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Field, SelectField } from '../../parts/field.tsx';
import { Head } from '../../parts/head.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { textOf } from '../../parts/text-of.ts';
import { useAction } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { Snippets } from './snippets.tsx';

const CHANGED = ['listApps', 'viewApp'] as const;

export function NewApp() {
  const { may } = useSession();
  const [made, setMade] = useState<CreatedApp | null>(null);
  const addKey = useAction('createApiKey', { changes: CHANGED });
  const create = useAction('createApp', {
    changes: CHANGED,
    onDone(app) {
      setMade(app);
      if (may('createApiKey')) addKey.mutate({ params: { app_identifier: app.identifier }, body: {} });
    },
  });
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    create.mutate({
      body: {
        name: textOf(form, 'name'),
        package_name: textOf(form, 'package_name'),
        app_type: textOf(form, 'app_type') as CreatedApp['platform'],
        qa: textOf(form, 'qa') !== '',
      },
    });
  };
  return (
    <>
      <Head title="New app" within={{ title: 'Apps', to: '/apps', name: 'new' }} />
      {made ? (
        <Made app={made} newKey={addKey.data}>
          {addKey.error && <Refused refusal={addKey.error} />}
        </Made>
      ) : (
        <div className="cols">
          <Panel title="The app">
            <form className="body" onSubmit={send}>
              <Field
                label="Name"
                name="name"
                required
                autoComplete="off"
                hint="As people call it, such as Shop for iOS"
              />
              <Field
                label="Package name"
                name="package_name"
                required
                autoComplete="off"
                spellCheck={false}
                hint="As its SDK sends it in context.app.namespace, such as com.example.shop"
              />
              <SelectField label="Platform" name="app_type">
                {APP_TYPES.map((type) => (
                  <option key={type}>{type}</option>
                ))}
              </SelectField>
              <label>
                <input type="checkbox" name="qa" /> For tests
              </label>
              {create.error && <Refused refusal={create.error} />}
              <div>
                <button type="submit" className="btn main" disabled={create.isPending}>
                  {may('createApiKey') ? 'Make it, with its first key' : 'Make it'}
                </button>
              </div>
            </form>
          </Panel>
          <AsCommand
            operation="createApp"
            body={{ name: 'Shop', package_name: 'com.example.shop', app_type: 'Web App' }}
            cli={["millrace apps add Shop --package com.example.shop --type 'Web App'", 'millrace apps keys add Shop']}
            manual="apps"
          />
        </div>
      )}
    </>
  );
}

function Made({ app, newKey, children }: { app: CreatedApp; newKey: ApiKey | undefined; children: React.ReactNode }) {
  return (
    <Panel title={`${app.name} is made`}>
      <div className="body">
        {children}
        {newKey && (
          <>
            <p>Put these lines into the app. The key stays in this page alone, and on a press in that of the app.</p>
            <Snippets apiKey={newKey.api_key} platform={app.platform} />
          </>
        )}
        <p className="second">
          Everybody who has the app has its key. Before messages hold personal data, let only verified users get them.
        </p>
        <div>
          <Link className="btn main" to={`/apps/${app.identifier}`}>
            Watch its calls come in
          </Link>
        </div>
      </div>
    </Panel>
  );
}
