/** The keys by which an app's server signs user tokens: shown on a press, then forgotten. */
import { useState } from 'react';
import type { UserTokenKey, ViewedApp } from '../../../api/client.ts';
import { MAX_TOKEN_KEYS } from '../../../domain/apps/app.ts';
import { Audited } from '../../parts/audited.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { Id, When } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';

type AppParams = { app_identifier: string };

export function TokenKeys({ app: { identifier, verified_users: areVerified } }: { app: ViewedApp }) {
  const params = { app_identifier: identifier };
  const [made, setMade] = useState<readonly UserTokenKey[]>([]);
  const add = useAction('createUserTokenKey', { onDone: (key) => setMade([...made, key]) });
  return (
    <Panel
      title="Keys of user tokens"
      end={
        <ActionButton operation="createUserTokenKey" isBusy={add.isPending} onPress={() => add.mutate({ params })}>
          <Icon name="plus" />
          New key
        </ActionButton>
      }
      footer={`An app has at most ${MAX_TOKEN_KEYS} keys: one in use, and one to change to.`}
    >
      {add.error && <Refused refusal={add.error} />}
      <p className="body second">
        Your app&apos;s server signs with such a key which user is logged in. A device without such a token{' '}
        {areVerified ? 'gets no message of a user.' : 'gets messages for any user that it names.'} A key is enough to
        ask for the data of any user: keep it on the server alone.
      </p>
      {made.length > 0 && <KeyList keys={made} params={params} />}
      <Audited operation="listUserTokenKeys" what="the keys">
        {() => <Known params={params} made={made} />}
      </Audited>
    </Panel>
  );
}

function Known({ params, made }: { params: AppParams; made: readonly UserTokenKey[] }) {
  const read = useRead('listUserTokenKeys', { params }, { isForgotten: true });
  return (
    <Shown result={read}>
      {({ user_token_keys: keys }) => {
        const others = keys.filter(({ identifier }) => made.every((each) => each.identifier !== identifier));
        if (others.length > 0) return <KeyList keys={others} params={params} />;
        return <Empty says={made.length > 0 ? 'No other key.' : "No key yet. Make one for your app's server."} />;
      }}
    </Shown>
  );
}

function KeyList({ keys, params }: { keys: readonly UserTokenKey[]; params: AppParams }) {
  return (
    <ul className="body">
      {keys.map((key) => (
        <Key key={key.identifier} of={key} params={params} />
      ))}
      <li className="small quiet">The page forgets them when you leave.</li>
    </ul>
  );
}

function Key({ of: { identifier, secret, created_at: at }, params }: { of: UserTokenKey; params: AppParams }) {
  const [isGone, setGone] = useState(false);
  const remove = useAction('deleteUserTokenKey', {
    onDone: () => setGone(true),
  });
  if (isGone)
    return (
      <li className="second" role="status">
        <code>{identifier}</code> is deleted.
      </li>
    );
  return (
    <li className="entry">
      <Id value={secret} />
      <span className="small quiet">
        <code>{identifier}</code>, made <When at={at} />
      </span>
      <ConfirmButton
        operation="deleteUserTokenKey"
        title="Delete this key?"
        says="The server refuses tokens that are signed with it from then on. Change your servers to the other key first, and wait an hour."
        yes="Delete it"
        kind=""
        sent={remove}
        onYes={(options) => remove.mutate({ params: { ...params, key_identifier: identifier } }, options)}
      >
        Delete
      </ConfirmButton>
    </li>
  );
}
