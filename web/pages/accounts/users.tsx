/** The users of the entity with their rights, and the invitations that are open. */
import { type FormEvent, useState } from 'react';
import type { Invitation, User } from '../../../api/client.ts';
import { RIGHTS, type Right } from '../../../domain/accounts/rights.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Dialog, FormEnd } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { DataTable } from '../../parts/table.tsx';
import { textOf } from '../../parts/text-of.ts';
import { When } from '../../parts/values.tsx';
import { useAction, useList } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { RightsField } from './rights-field.tsx';

export function Users() {
  const { session } = useSession();
  const users = useList('listUsers', { query: {} });
  const [isInviting, setInviting] = useState(false);
  const [changed, setChanged] = useState<User | null>(null);
  return (
    <>
      <Head
        title="Users"
        facts={<span>Members of {session.entity.name}, and what they may do.</span>}
        actions={
          <ActionButton operation="inviteUser" kind="main" onPress={() => setInviting(true)}>
            Invite
          </ActionButton>
        }
      />
      <div className="cols">
        <div className="stack">
          <Panel title="Members">
            <DataTable
              caption="Users of the entity"
              columns={[
                { title: 'E-mail', cell: ({ email }) => email },
                { title: 'Name', cell: ({ full_name }) => full_name || <span className="quiet">–</span> },
                { title: 'May', cell: (user) => <May user={user} /> },
                {
                  title: 'Actions',
                  cell: (user) => (
                    <span className="filters">
                      <ActionButton operation="updateUser" onPress={() => setChanged(user)}>
                        Rights
                      </ActionButton>
                      <Remove user={user} />
                    </span>
                  ),
                },
              ]}
              rows={users.data?.pages.flatMap(({ items }) => items) ?? []}
              keyOf={({ uid }) => uid}
              empty={<Empty says="No user." />}
              more={users}
            />
          </Panel>
          <Invitations />
        </div>
        <aside className="stack">
          <AsCommand
            operation="listUsers"
            cli={['millrace users list', 'millrace users invite <email>']}
            manual="users"
          />
        </aside>
      </div>
      {isInviting && <Invite onClose={() => setInviting(false)} />}
      {changed && <Change user={changed} onClose={() => setChanged(null)} />}
    </>
  );
}

function May({ user: { admin, superadmin, enable } }: { user: User }) {
  const rights = RIGHTS.filter((right) => enable[right]);
  return (
    <>
      {superadmin && <Chip tone="warn">superadmin</Chip>} {admin && <Chip tone="info">admin</Chip>}{' '}
      {rights.length === RIGHTS.length ? 'every right' : rights.length === 0 ? 'no right' : rights.join(', ')}
    </>
  );
}

function Change({ user, onClose }: { user: User; onClose: () => void }) {
  const [enable, setEnable] = useState(user.enable);
  const [admin, setAdmin] = useState(user.admin);
  const change = useAction('updateUser', { changes: ['listUsers'], onDone: onClose });
  return (
    <Dialog title={`What ${user.email} may`} onClose={onClose}>
      <RightsField enable={enable} onChange={setEnable} />
      <label>
        <input type="checkbox" checked={admin} onChange={({ target }) => setAdmin(target.checked)} /> admin of the
        entity
      </label>
      {change.error && <Refused refusal={change.error} />}
      <div className="filters">
        <button type="button" className="btn" onClick={onClose}>
          Leave it
        </button>
        <ActionButton
          operation="updateUser"
          kind="main"
          isBusy={change.isPending}
          onPress={() => change.mutate({ params: { user_id: user.uid }, body: { enable, admin } })}
        >
          Save
        </ActionButton>
      </div>
    </Dialog>
  );
}

function Remove({ user: { uid, email } }: { user: User }) {
  const remove = useAction('removeUser', { changes: ['listUsers'] });
  return (
    <ConfirmButton
      operation="removeUser"
      title={`Remove ${email}?`}
      says="Their sessions in this entity end at once. An account that belongs to no other entity is deleted."
      typed={email}
      yes="Remove the user"
      sent={remove}
      onYes={(options) => remove.mutate({ params: { user_id: uid } }, options)}
    >
      Remove
    </ConfirmButton>
  );
}

function Invite({ onClose }: { onClose: () => void }) {
  const [enable, setEnable] = useState<Partial<Record<Right, boolean>>>({});
  const [admin, setAdmin] = useState(false);
  const invite = useAction('inviteUser', { changes: ['listInvitations'], onDone: onClose });
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    invite.mutate({ body: { email: textOf(event.currentTarget, 'email'), enable, admin } });
  };
  return (
    <Dialog title="Invite into the entity" onClose={onClose}>
      <form className="tight" onSubmit={send}>
        <Field
          label="E-mail"
          name="email"
          type="email"
          required
          hint="Millrace mails a link that works for 24 hours."
        />
        <RightsField enable={enable} onChange={setEnable} />
        <label>
          <input type="checkbox" checked={admin} onChange={({ target }) => setAdmin(target.checked)} /> admin of the
          entity
        </label>
        <FormEnd refusal={invite.error} isOff={invite.isPending} onClose={onClose}>
          Invite
        </FormEnd>
      </form>
    </Dialog>
  );
}

function Invitations() {
  const invitations = useList('listInvitations', { query: {} });
  const rows = invitations.data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <Panel title="Invitations">
      <DataTable
        caption="Invitations that are not accepted yet"
        columns={[
          { title: 'E-mail', cell: ({ email }) => email },
          { title: 'Mail', cell: (invitation) => <Mail mail={invitation.mail} /> },
          { title: 'Works until', cell: ({ expires_at }) => <When at={expires_at} /> },
          { title: 'Actions', cell: (invitation) => <InvitationActions invitation={invitation} /> },
        ]}
        rows={rows}
        keyOf={({ identifier }) => identifier}
        empty={<Empty says="No invitation is open." />}
        more={invitations}
      />
    </Panel>
  );
}

function Mail({ mail: { state, reason } }: Pick<Invitation, 'mail'>) {
  return (
    <>
      <Chip tone={reason === null ? 'neutral' : 'bad'}>{state}</Chip> {reason}
    </>
  );
}

function InvitationActions({ invitation }: { invitation: Invitation }) {
  const changes = ['listInvitations'] as const;
  const [resend, withdraw] = [useAction('resendInvitation', { changes }), useAction('withdrawInvitation', { changes })];
  const input = { params: { invitation_id: invitation.identifier } };
  const refusal = resend.error ?? withdraw.error;
  return (
    <span className="filters">
      <ActionButton operation="resendInvitation" isBusy={resend.isPending} onPress={() => resend.mutate(input)}>
        Mail again
      </ActionButton>
      <ActionButton operation="withdrawInvitation" isBusy={withdraw.isPending} onPress={() => withdraw.mutate(input)}>
        Withdraw
      </ActionButton>
      {refusal && <Refused refusal={refusal} />}
    </span>
  );
}
