/** The service tokens of the entity; a new one is shown once. */
import { type FormEvent, useState } from 'react';
import type { CreatedServiceToken, ServiceToken } from '../../../api/client.ts';
import { type Right, RIGHTS } from '../../../domain/accounts/rights.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Dialog, FormEnd } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Head } from '../../parts/head.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { DataTable } from '../../parts/table.tsx';
import { textOf } from '../../parts/text-of.ts';
import { Id, When } from '../../parts/values.tsx';
import { useAction, useList } from '../../session/calls.ts';
import { RightsField } from './rights-field.tsx';

export function Tokens() {
  const tokens = useList('listServiceTokens', { query: {} });
  const [isMaking, setMaking] = useState(false);
  const make = (
    <ActionButton operation="createServiceToken" kind="main" onPress={() => setMaking(true)}>
      New token
    </ActionButton>
  );
  return (
    <>
      <Head
        title="Tokens"
        facts={<span>For programs. Each acts in this entity with the rights listed.</span>}
        actions={make}
      />
      <div className="cols">
        <Panel title="Service tokens">
          <DataTable
            caption="Service tokens"
            columns={[
              { title: 'Name', cell: ({ name }) => name },
              { title: 'Id', cell: ({ identifier }) => <Id value={identifier} /> },
              {
                title: 'Rights',
                cell: ({ rights }) => (rights.length === RIGHTS.length ? 'every right' : rights.join(', ')),
              },
              { title: 'Last used', cell: ({ last_used_at }) => <When at={last_used_at} /> },
              { title: 'Expires', cell: ({ expires_at }) => <When at={expires_at} /> },
              {
                title: 'Actions',
                cell: (token) => <Revoke token={token} />,
              },
            ]}
            rows={tokens.data?.pages.flatMap(({ items }) => items) ?? []}
            keyOf={({ identifier }) => identifier}
            empty={
              <Empty
                says="No service token yet. A schedule or a script needs one."
                action={make}
                command="millrace tokens create"
              />
            }
            more={tokens}
          />
        </Panel>
        <aside className="stack">
          <AsCommand operation="listServiceTokens" cli={['millrace tokens list']} manual="users" />
        </aside>
      </div>
      {isMaking && <Make onClose={() => setMaking(false)} />}
    </>
  );
}

function Revoke({ token: { identifier, name } }: { token: ServiceToken }) {
  const revoke = useAction('revokeServiceToken', { changes: ['listServiceTokens'] });
  return (
    <ConfirmButton
      operation="revokeServiceToken"
      title={`Revoke ${name}?`}
      says="The server refuses its calls from now on. This can't be undone."
      yes="Revoke the token"
      sent={revoke}
      onYes={(options) => revoke.mutate({ params: { token_identifier: identifier } }, options)}
    >
      Revoke
    </ConfirmButton>
  );
}

function Make({ onClose }: { onClose: () => void }) {
  const [made, setMade] = useState<CreatedServiceToken | null>(null);
  const [enable, setEnable] = useState<Partial<Record<Right, boolean>>>({});
  const create = useAction('createServiceToken', { changes: ['listServiceTokens'], onDone: setMade });
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    create.mutate({
      body: {
        name: textOf(form, 'name'),
        expires_in_days: Number(textOf(form, 'days')),
        rights: RIGHTS.filter((right) => enable[right]),
      },
    });
  };
  if (made) {
    return (
      <Dialog title="The token, shown this once" onClose={onClose}>
        <Id value={made.token} />
        <p className="second">Keep it where the program reads it. Millrace stores a hash of it alone.</p>
        <button type="button" className="btn main" onClick={onClose}>
          I have kept it
        </button>
      </Dialog>
    );
  }
  return (
    <Dialog title="New service token" onClose={onClose}>
      <form className="tight" onSubmit={send}>
        <Field label="Name" name="name" required hint="Says which program uses it." />
        <Field label="Days until it expires" name="days" type="number" min={1} max={730} defaultValue={90} required />
        <RightsField enable={enable} onChange={setEnable} />
        <FormEnd refusal={create.error} isOff={create.isPending} onClose={onClose}>
          Create it
        </FormEnd>
      </form>
    </Dialog>
  );
}
