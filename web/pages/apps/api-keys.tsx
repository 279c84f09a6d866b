/** The keys of an app: shown on a press, then forgotten; another key, and one that is refused or accepted again. */
import type { ApiKey, ViewedApp } from '../../../api/client.ts';
import { Audited } from '../../parts/audited.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Chip } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { Id, When } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { Snippets } from './snippets.tsx';

const CHANGED = ['viewApp', 'listApps', 'listApiKeys'] as const;

export function Keys({ app }: { app: ViewedApp }) {
  const params = { app_identifier: app.identifier };
  const add = useAction('createApiKey', { changes: CHANGED });
  return (
    <Panel
      title="Keys"
      end={
        <ActionButton
          operation="createApiKey"
          isBusy={add.isPending}
          kind={app.has_api_key ? '' : 'main'}
          onPress={() => add.mutate({ params, body: {} })}
        >
          <Icon name="plus" />
          {app.has_api_key ? 'Another key' : 'Make a key'}
        </ActionButton>
      }
    >
      {add.error && <Refused refusal={add.error} />}
      {!app.has_api_key && (
        <Empty says="No key: the server refuses all its calls. Make one, and put it into the app." />
      )}
      {add.data && (
        <div className="body">
          <p role="status">
            New key: <Id value={add.data.api_key} />
          </p>
        </div>
      )}
      <Audited operation="listApiKeys" what="the keys">
        {() => <KeyList app={app} />}
      </Audited>
      <div className="body">
        <h3>In the app</h3>
        <Snippets platform={app.platform} {...(add.data ? { apiKey: add.data.api_key } : {})} />
      </div>
    </Panel>
  );
}

function KeyList({ app: { identifier } }: { app: ViewedApp }) {
  const params = { app_identifier: identifier };
  const read = useRead('listApiKeys', { params }, { isForgotten: true });
  return (
    <Shown result={read}>
      {({ api_keys: keys }) =>
        keys.length === 0 ? (
          <></>
        ) : (
          <ul className="body">
            {keys.map((each) => (
              <Key key={each.identifier} of={each} params={params} />
            ))}
            <li className="small quiet">The page forgets them when you leave.</li>
          </ul>
        )
      }
    </Shown>
  );
}

function Key({ of, params }: { of: ApiKey; params: { app_identifier: string } }) {
  const change = useAction('updateApiKey', { changes: CHANGED });
  const at = { ...params, key_identifier: of.identifier };
  return (
    <li className="entry">
      <span className="filters">
        <Id value={of.api_key} />
        {of.revoked && <Chip tone="neutral">revoked</Chip>}
      </span>
      <span className="small quiet">
        made <When at={of.created_at * 1_000} />
      </span>
      {of.revoked ? (
        <ActionButton
          operation="updateApiKey"
          isBusy={change.isPending}
          onPress={() => change.mutate({ params: at, body: { revoked: false } })}
        >
          Accept it again
        </ActionButton>
      ) : (
        <ConfirmButton
          operation="updateApiKey"
          title="Revoke this key?"
          says="The server refuses all calls with it within two seconds. Apps that people have keep their key until an update."
          yes="Revoke it"
          kind=""
          sent={change}
          onYes={(options) => change.mutate({ params: at, body: { revoked: true } }, options)}
        >
          Revoke
        </ConfirmButton>
      )}
      {of.revoked && change.error && <Refused refusal={change.error} />}
    </li>
  );
}
