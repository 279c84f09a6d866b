/** Routes of the users of an entity: invite, change and remove them. */
import * as api from '../../api/accounts/users.ts';
import { type Right, withFlags } from '../../domain/accounts/rights.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { insertInvitation } from '../../store/accounts/invitations.ts';
import {
  countAdmins,
  deleteMember,
  findMember,
  hasMemberOfEmail,
  isOnlyMemberOf,
  listMembers,
  lockMembers,
  type Member,
  updateMembership,
} from '../../store/accounts/members.ts';
import { deletePasswordResetsOf, insertPasswordReset } from '../../store/accounts/password-resets.ts';
import { deleteTokensOf } from '../../store/accounts/tokens.ts';
import {
  findUser,
  findUserByEmail,
  lockSuperadmins,
  updateUser,
  type UserChanges,
} from '../../store/accounts/users.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { type Caller, rightsOf } from '../http/caller.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { checkPassword, countAttempt, hashPassword } from './passwords.ts';
import { fullName, showInvitation, showRights } from './account-records.ts';

const NOT_FOUND = 'User not found';

const listUsers = route(api.listUsers, async ({ query, caller: { entityId } }, { db, settings }) => {
  const { items, total } = await listMembers(db, entityId, rowsOf(query));
  return showPage(settings, api.listUsers.path, query, total, items.map(showMember));
});

const viewUser = route(api.viewUser, async ({ params: { user_id }, caller }, { db }) => {
  return showMember((await findMember(db, caller.entityId, user_id)) ?? refuse(404, 'not_found', NOT_FOUND));
});

const inviteUser = route(api.inviteUser, async ({ body, keepReply, ...who }, { db }) => {
  const { entityId, userId: invitedBy } = who.caller;
  const rights = withFlags([], body.enable ?? {});
  refuseGiving(who.caller, [], rights);
  refuseSuperadminChange(who.caller, body.superadmin);
  if (await hasMemberOfEmail(db, entityId, body.email)) refuseTakenEmail();
  await countAttempt(db, { kind: 'invitations of an entity', name: String(entityId) });
  return write(db, async (tx) => {
    const { email: address, first_name: firstName, last_name: lastName, admin, superadmin } = body;
    const asked = { email: address, firstName, lastName, rights, admin, superadmin, invitedBy };
    const invitation =
      (await insertInvitation(tx, entityId, asked)) ??
      refuseField('email', 'is invited already: send the invitation again, or withdraw it');
    const details = { admin, superadmin, given: rights.join(' ') };
    await audit(tx, who, { action: 'create', subjectKind: 'invitation', subject: invitation.identifier, details });
    return keepReply(tx, showInvitation(invitation));
  });
});

const updateAUser = route(api.updateUser, async ({ params: { user_id }, body, ...who }, { db }) => {
  const { caller } = who;
  const { entityId } = caller;
  const account = { email: body.email, firstName: body.first_name, lastName: body.last_name };
  return write(
    db,
    async (tx) => {
      await lockMembers(tx, entityId);
      const member = (await findMember(tx, entityId, user_id)) ?? refuse(404, 'not_found', NOT_FOUND);
      const rights = withFlags(member.rights, body.enable ?? {});
      refuseGiving(caller, member.rights, rights);
      refuseTaking(caller, member.rights, rights);
      await refuseAccountChange(tx, caller, member, account);
      if (body.superadmin !== undefined) await refuseSuperadminLoss(tx, caller, member, body.superadmin);
      if (body.admin === false) await refuseLastAdmin(tx, entityId, member);
      await updateUser(tx, member.id, { ...account, superadmin: body.superadmin });
      await updateMembership(tx, entityId, member.id, { rights, admin: body.admin ?? member.admin });
      if (body.email !== undefined) await deletePasswordResetsOf(tx, member.id);
      const changed = (await findMember(tx, entityId, member.uid))!;
      const details = {
        changed: Object.keys(body).join(' '),
        admin: changed.admin,
        superadmin: changed.superadmin,
        given: rights.filter((right) => !member.rights.includes(right)).join(' '),
        taken: member.rights.filter((right) => !rights.includes(right)).join(' '),
      };
      await audit(tx, who, { action: 'update', subjectKind: 'user', subject: member.uid, details });
      return showMember(changed);
    },
    { collide: true },
  );
});

const removeUser = route(api.removeUser, async ({ params: { user_id }, ...who }, { db }) => {
  const { caller } = who;
  const { entityId } = caller;
  await write(db, async (tx) => {
    await lockMembers(tx, entityId);
    const member = (await findMember(tx, entityId, user_id)) ?? refuse(404, 'not_found', NOT_FOUND);
    if (member.id === caller.userId) refuse(400, 'bad_request', 'You cannot remove yourself: another admin can');
    if (member.superadmin) await refuseSuperadminLoss(tx, caller, member, false);
    refuseTaking(caller, member.rights, []);
    await refuseLastAdmin(tx, entityId, member);
    await deleteMember(tx, entityId, member.id);
    await audit(tx, who, {
      action: 'delete',
      subjectKind: 'user',
      subject: member.uid,
      details: { user_id: member.id },
    });
  });
  return noResult();
});

const resetPassword = route(api.mailPasswordReset, async ({ params: { user_id }, keepReply, ...who }, { db }) => {
  const member = (await findMember(db, who.caller.entityId, user_id)) ?? refuse(404, 'not_found', NOT_FOUND);
  await countAttempt(db, { kind: 'resets by admins', name: member.uid });
  return write(db, async (tx) => {
    await insertPasswordReset(tx, { email: member.email, userId: member.id });
    await audit(tx, who, { action: 'create', subjectKind: 'password_reset', subject: member.uid });
    return keepReply(tx, noResult());
  });
});

const changeOwnPassword = route(api.changeOwnPassword, async ({ body, ...who }, { db }) => {
  const { userId, token } = who.caller;
  const user = (await findUser(db, userId)) ?? refuse(401, 'unauthorized', 'Invalid or missing token');
  await checkPassword(db, user.email, body.password, who.address, 'password: is not the one in force');
  const passwordHash = await hashPassword(body.new_password);
  await write(db, async (tx) => {
    await updateUser(tx, userId, { passwordHash });
    await deleteTokensOf(tx, userId, token);
    await deletePasswordResetsOf(tx, userId);
    await audit(tx, who, {
      action: 'update',
      subjectKind: 'user',
      subject: user.uid,
      details: { changed: 'password' },
    });
  });
  return noResult();
});

export const userRoutes: Route[] = [
  listUsers,
  viewUser,
  inviteUser,
  updateAUser,
  removeUser,
  resetPassword,
  changeOwnPassword,
];

function showMember(member: Member): api.User {
  return {
    id: member.id,
    uid: member.uid,
    email: member.email,
    first_name: member.firstName,
    last_name: member.lastName,
    full_name: fullName(member),
    enable: showRights(rightsOf(member)),
    admin: member.admin,
    superadmin: member.superadmin,
  };
}

function refuseTaking({ rights }: Caller, before: readonly Right[], after: readonly Right[]): void {
  const missing = before.find((right) => !after.includes(right) && !rights.has(right));
  if (missing) refuse(403, 'forbidden', `Only an admin who has the right ${missing} can take it`);
}

/** Refuses changes by an admin of one of several entities: an account is the same in all. */
async function refuseAccountChange(
  tx: Queryable,
  caller: Caller,
  member: Member,
  { email, firstName, lastName }: UserChanges,
): Promise<void> {
  if (caller.superadmin) return email === undefined ? undefined : refuseOthersEmail(tx, member, email);
  if (email !== undefined) {
    refuse(
      403,
      'forbidden',
      'Only a superadmin can change the e-mail address of a user: links that set a password go there',
    );
  }
  const isOwn = !member.superadmin && (await isOnlyMemberOf(tx, caller.entityId, member.id));
  if (!isOwn && (firstName ?? lastName) !== undefined)
    refuse(403, 'forbidden', 'Only a superadmin can change the names of this user');
}

async function refuseOthersEmail(tx: Queryable, member: Member, email: string): Promise<void> {
  const other = await findUserByEmail(tx, email);
  if (other && other.id !== member.id) refuseTakenEmail();
}

function refuseTakenEmail(): never {
  return refuseField('email', 'belongs to a user already');
}

/** Refuses a change by anybody but a superadmin, and the removal of the last superadmin. */
async function refuseSuperadminLoss(tx: Queryable, caller: Caller, member: Member, superadmin: boolean): Promise<void> {
  refuseSuperadminChange(caller, superadmin !== member.superadmin);
  if (superadmin || !member.superadmin) return;
  if ((await lockSuperadmins(tx)) === 1)
    refuse(400, 'bad_request', 'This is the last superadmin: make another user one first');
}

/** Refuses to remove the last admin. Call it in a transaction that has locked the members. */
async function refuseLastAdmin(tx: Queryable, entityId: number, member: Member): Promise<void> {
  if (member.admin && (await countAdmins(tx, entityId)) === 1) {
    refuse(400, 'bad_request', 'This is the last admin of the entity: make another user one first');
  }
}

export function refuseGiving({ rights }: Caller, before: readonly Right[], after: readonly Right[]): void {
  const missing = after.find((right) => !before.includes(right) && !rights.has(right));
  if (missing) refuse(403, 'forbidden', `Only who has the right ${missing} can give it`);
}

function refuseSuperadminChange({ superadmin }: Caller, isChanged: boolean): void {
  if (isChanged && !superadmin) refuse(403, 'forbidden', 'Only a superadmin can change who is one');
}
