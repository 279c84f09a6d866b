import { z } from 'zod';
import { RIGHTS, withFlags } from '../../domain/accounts/rights.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { insertInvitation } from '../../store/accounts/invitations.ts';
import {
  countMembers, deleteMember, findMember, hasMemberOfEmail, listMembers, lockMembers, updateMembership,
} from '../../store/accounts/members.ts';
import { deletePasswordResetsOf, insertPasswordReset } from '../../store/accounts/password-resets.ts';
import { updateUser } from '../../store/accounts/users.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { bodyFlag, email, identifier, jsonObject, name } from '../http/input.ts';
import { pageOf, pageQuery, rowsOf, showPage } from '../http/page.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { countAttempt } from './count-attempt.ts';
import { InvitationRecord, showInvitation } from './invitation-record.ts';
import { showMember, UserRecord } from './user-record.ts';
import {
  refuseAccountChange, refuseGiving, refuseLastAdmin, refuseSuperadminChange, refuseSuperadminLoss, refuseTakenEmail, refuseTaking,
} from './user-rules.ts';

/** The users of the caller's entity. Nothing here tells of other entities that they belong to. */
const SHARED = { tag: 'Users', role: 'admin' } as const;
const PATH = '/api/users';
const ONE = `${PATH}/:user_id`;
const NOT_FOUND = 'User not found';

const params = z.object({ user_id: identifier.describe('uid or id') });
const enable = jsonObject(z.partialRecord(z.enum(RIGHTS), bodyFlag)).describe('Rights by name; one that is left out stays as it is');

const listUsers = route({
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List the users of the entity',
  query: z.object(pageQuery),
  result: pageOf(UserRecord),
  async handle({ query, caller: { entityId } }, { db, settings }) {
    const users = await listMembers(db, entityId, rowsOf(query));
    return showPage(settings, PATH, query, await countMembers(db, entityId), users.map(showMember));
  },
});

const viewUser = route({
  ...SHARED,
  method: 'GET',
  path: ONE,
  summary: 'View a user of the entity',
  params,
  result: UserRecord,
  async handle({ params: { user_id }, caller }, { db }) {
    return showMember(await findMember(db, caller.entityId, user_id) ?? refuse(404, 'not_found', NOT_FOUND));
  },
});

const inviteUser = route({
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Invite a person into the entity',
  description: 'Mails a link that works once, for 24 hours. The person becomes a user of the entity by accepting; whether the address has '
    + 'an account is not told.',
  body: z.object({
    email,
    password: noPassword('cannot be set here: the person chooses it by the link that is mailed'),
    first_name: name.optional(),
    last_name: name.optional(),
    enable: enable.optional(),
    admin: bodyFlag.default(false),
    superadmin: bodyFlag.default(false),
  }),
  result: InvitationRecord,
  async handle({ body, keepReply, ...who }, { db }) {
    const { entityId, userId: invitedBy } = who.caller;
    const rights = withFlags([], body.enable ?? {});
    refuseGiving(who.caller, [], rights);
    refuseSuperadminChange(who.caller, body.superadmin);
    if (await hasMemberOfEmail(db, entityId, body.email)) refuseTakenEmail();
    await countAttempt(db, { kind: 'invitations of an entity', name: String(entityId) });
    return write(db, async (tx) => {
      const { email: address, first_name: firstName, last_name: lastName, admin, superadmin } = body;
      const asked = { email: address, firstName, lastName, rights, admin, superadmin, invitedBy };
      const invitation = await insertInvitation(tx, entityId, asked)
        ?? refuseField('email', 'is invited already: send the invitation again, or withdraw it');
      const details = { admin, superadmin, given: rights.join(' ') };
      await audit(tx, who, { action: 'create', subjectKind: 'invitation', subject: invitation.identifier, details });
      return keepReply(tx, showInvitation(invitation));
    });
  },
});

const updateAUser = route({
  ...SHARED,
  method: 'PUT',
  path: ONE,
  summary: 'Change a user of the entity',
  description: 'Rights take effect at once. An admin gives and takes only rights that they have.',
  params,
  body: z.object({
    email: email.optional().describe('Only superadmins change it: links that set a password go there'),
    password: noPassword('cannot be set for others: POST …/password_reset mails the user a link that sets it'),
    first_name: name.optional(),
    last_name: name.optional(),
    enable: enable.optional(),
    admin: bodyFlag.optional(),
    superadmin: bodyFlag.optional(),
  }),
  result: UserRecord,
  async handle({ params: { user_id }, body, ...who }, { db }) {
    const { caller } = who;
    const { entityId } = caller;
    const account = { email: body.email, firstName: body.first_name, lastName: body.last_name };
    return write(db, async (tx) => {
      await lockMembers(tx, entityId);
      const member = await findMember(tx, entityId, user_id) ?? refuse(404, 'not_found', NOT_FOUND);
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
        changed: Object.keys(body).join(' '), admin: changed.admin, superadmin: changed.superadmin,
        given: rights.filter((right) => !member.rights.includes(right)).join(' '),
        taken: member.rights.filter((right) => !rights.includes(right)).join(' '),
      };
      await audit(tx, who, { action: 'update', subjectKind: 'user', subject: member.uid, details });
      return showMember(changed);
    }, { collide: true });
  },
});

const removeUser = route({
  ...SHARED,
  method: 'DELETE',
  path: ONE,
  summary: 'Remove a user from the entity',
  description: 'Ends the user\'s sessions there; an account without another entity is deleted. Only an admin with all rights of the user '
    + 'can.',
  params,
  async handle({ params: { user_id }, ...who }, { db }) {
    const { caller } = who;
    const { entityId } = caller;
    await write(db, async (tx) => {
      await lockMembers(tx, entityId);
      const member = await findMember(tx, entityId, user_id) ?? refuse(404, 'not_found', NOT_FOUND);
      if (member.id === caller.userId) refuse(400, 'bad_request', 'You cannot remove yourself: another admin can');
      if (member.superadmin) await refuseSuperadminLoss(tx, caller, member, false);
      refuseTaking(caller, member.rights, []);
      await refuseLastAdmin(tx, entityId, member);
      await deleteMember(tx, entityId, member.id);
      await audit(tx, who, { action: 'delete', subjectKind: 'user', subject: member.uid, details: { user_id: member.id } });
    });
    return noResult();
  },
});

const resetPassword = route({
  ...SHARED,
  method: 'POST',
  path: `${ONE}/password_reset`,
  summary: 'Mail a user a password reset link',
  description: 'To the address of the account, and nowhere else. The link works once, for 24 hours.',
  params,
  async handle({ params: { user_id }, keepReply, ...who }, { db }) {
    const member = await findMember(db, who.caller.entityId, user_id) ?? refuse(404, 'not_found', NOT_FOUND);
    await countAttempt(db, { kind: 'resets by admins', name: member.uid });
    return write(db, async (tx) => {
      await insertPasswordReset(tx, { email: member.email, userId: member.id });
      await audit(tx, who, { action: 'create', subjectKind: 'password_reset', subject: member.uid });
      return keepReply(tx, noResult());
    });
  },
});

/** Documented as a member that must not be there, so that a program of before learns why. */
function noPassword(message: string) {
  return z.never({ error: message }).optional();
}

export const userRoutes: Route[] = [listUsers, viewUser, inviteUser, updateAUser, removeUser, resetPassword];
