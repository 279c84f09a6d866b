/** Accepts an invitation, for a new or an existing account. */
import { newPassword } from '../../api/core/input.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { findInvitationByToken } from '../../store/accounts/account-links-across-entities.ts';
import { insertAuditEntry } from '../../store/accounts/audit-log.ts';
import { findEntityName } from '../../store/accounts/entities.ts';
import { type Invitation, takeInvitation } from '../../store/accounts/invitations.ts';
import { findMember, lockMembers } from '../../store/accounts/members.ts';
import { findUserByEmail, insertMembership, insertUser, updateUser, type User } from '../../store/accounts/users.ts';
import { type Database, type Tx, write } from '../../store/core/database.ts';
import { tokenHash } from '../../store/core/secrets.ts';
import { rightsOf } from '../http/caller.ts';
import { checkPassword, refuseLink, withPasswordByLink } from './passwords.ts';

type Acceptance = {
  token: string;
  password: string;
  firstName?: string | undefined;
  lastName?: string | undefined;
  address: string;
};

type Account = { known: User } | { passwordHash: string };

/** Makes a member. The link only proves access to the mailbox, so an existing account also gives its password. */
export async function acceptInvitation(
  db: Database,
  acceptance: Acceptance,
): Promise<{ email: string; entityName: string }> {
  const { token, password, address } = acceptance;
  const link = tokenHash(token);
  const invitation = (await findInvitationByToken(db, link)) ?? refuseLink();
  const join = (account: Account) =>
    write(db, (tx) => insertMember(tx, { invitation, link, account, acceptance }), { collide: true });
  const user = await findUserByEmail(db, invitation.email);
  if (user) {
    const wrong = 'password: is not that of the account with this e-mail address';
    await join({ known: await checkPassword(db, user.email, password, address, wrong) });
  } else {
    refuseShortPassword(password);
    await withPasswordByLink(db, { link, address, password }, (passwordHash) => join({ passwordHash }));
  }
  return { email: invitation.email, entityName: await findEntityName(db, invitation.entityId) };
}

type Joining = { invitation: Invitation; link: Buffer; account: Account; acceptance: Acceptance };

async function insertMember(
  tx: Tx,
  { invitation: { entityId, ...found }, link, account, acceptance }: Joining,
): Promise<void> {
  await lockMembers(tx, entityId);
  const invitation = (await takeInvitation(tx, { entityId, ...found }, link)) ?? refuseLink();
  await refuseLostRights(tx, invitation);
  const { rights, admin, superadmin, identifier } = invitation;
  const user = await findOrInsertUser(tx, invitation, account, acceptance);
  if (await findMember(tx, entityId, user.uid))
    refuse(400, 'bad_request', 'This account belongs to the entity already');
  if (superadmin) await updateUser(tx, user.id, { superadmin });
  await insertMembership(tx, { userId: user.id, entityId, rights, admin });
  await insertAuditEntry(tx, entityId, {
    actorKind: 'user',
    actorId: user.id,
    address: acceptance.address,
    action: 'accept',
    subjectKind: 'invitation',
    subject: identifier,
    details: { user_id: user.id, new: 'passwordHash' in account, admin, superadmin, given: rights.join(' ') },
  });
}

/** Refuses unless the inviter is an admin who could give these rights now. */
async function refuseLostRights(tx: Tx, { entityId, invitedBy, rights, superadmin }: Invitation): Promise<void> {
  const inviter = await findMember(tx, entityId, String(invitedBy));
  const isAdmin = inviter && (inviter.admin || inviter.superadmin);
  const held = inviter && rightsOf(inviter);
  if (!isAdmin || (superadmin && !inviter.superadmin) || rights.some((right) => !held!.has(right))) {
    const message =
      'The sender of this invitation can no longer give these rights: ask an admin of the entity for a new one';
    refuse(403, 'forbidden', message);
  }
}

/** Returns the account. Refuses one that was deleted or created since the password was checked. */
async function findOrInsertUser(
  tx: Tx,
  { email, entityId, ...invited }: Invitation,
  account: Account,
  { firstName, lastName }: Acceptance,
): Promise<User> {
  const now = await findUserByEmail(tx, email, { isLocked: true });
  const isAsBefore =
    'known' in account ? now?.id === account.known.id && now.passwordHash === account.known.passwordHash : now === null;
  if (!isAsBefore) refuse(409, 'conflict', 'The account with this e-mail address has just changed: try again');
  return (
    now ??
    insertUser(tx, {
      email,
      passwordHash: (account as { passwordHash: string }).passwordHash,
      firstName: firstName ?? invited.firstName,
      lastName: lastName ?? invited.lastName,
      preferedEntityId: entityId,
    })
  );
}

function refuseShortPassword(password: string): void {
  const { error } = newPassword.safeParse(password);
  if (error) refuseField('password', error.issues[0]!.message);
}
