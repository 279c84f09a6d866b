import { z } from 'zod';
import { refuse } from '../../domain/refusal.ts';
import { RIGHTS, withFlags } from '../../domain/rights.ts';
import { write } from '../../store/database.ts';
import { countMembers, deleteMember, findMember, listMembers, lockMembers, updateMembership } from '../../store/members.ts';
import { deleteTokensOf } from '../../store/tokens.ts';
import { insertMembership, insertUser, lockUserByEmail, updateUser } from '../../store/users.ts';
import { audit } from '../audit.ts';
import { bodyFlag, email, identifier, jsonObject, name, newPassword } from '../input.ts';
import { pageOf, pageQuery, rowsOf, showPage } from '../page.ts';
import { hashPassword } from '../passwords.ts';
import { noResult } from '../reply.ts';
import { type Route, route } from '../route.ts';
import {
  refuseAccountChange, refuseGiving, refuseLastAdmin, refuseSuperadminChange, refuseTakenEmail, refuseSuperadminLoss,
} from '../user-rules.ts';
import { showMember, UserRecord } from '../user-record.ts';

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

const createUser = route({
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Add a user to the entity',
  description: 'An account that exists already under the e-mail address keeps its names and its password, and is added.',
  body: z.object({
    email,
    password: newPassword,
    first_name: name.optional(),
    last_name: name.optional(),
    enable: enable.optional(),
    admin: bodyFlag.default(false),
    superadmin: bodyFlag.default(false),
  }),
  result: UserRecord,
  async handle({ body, keepReply, ...who }, { db }) {
    const { entityId } = who.caller;
    const rights = withFlags([], body.enable ?? {});
    refuseGiving(who.caller, [], rights);
    refuseSuperadminChange(who.caller, body.superadmin);
    const passwordHash = await hashPassword(body.password);       // takes the same time for accounts that exist
    return write(db, async (tx) => {
      await lockMembers(tx, entityId);
      const user = await lockUserByEmail(tx, body.email) ?? await insertUser(tx, {
        email: body.email, passwordHash, firstName: body.first_name, lastName: body.last_name, preferedEntityId: entityId,
      });
      if (await findMember(tx, entityId, user.uid)) refuseTakenEmail();
      if (body.superadmin) await updateUser(tx, user.id, { superadmin: true });
      await insertMembership(tx, { userId: user.id, entityId, rights, admin: body.admin });
      const details = { user_id: user.id, admin: body.admin, superadmin: body.superadmin, given: rights.join(' ') };
      await audit(tx, who, { action: 'create', subjectKind: 'user', subject: user.uid, details });
      return keepReply(tx, showMember((await findMember(tx, entityId, user.uid))!));
    }, { collide: true });
  },
});

const updateAUser = route({
  ...SHARED,
  method: 'PUT',
  path: ONE,
  summary: 'Change a user of the entity',
  description: 'A new password ends all sessions of the user; rights take effect at once.',
  params,
  body: z.object({
    email: email.optional(),
    password: newPassword.optional(),
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
    const passwordHash = body.password === undefined ? undefined : await hashPassword(body.password);
    const account = { email: body.email, firstName: body.first_name, lastName: body.last_name, passwordHash };
    return write(db, async (tx) => {
      await lockMembers(tx, entityId);
      const member = await findMember(tx, entityId, user_id) ?? refuse(404, 'not_found', NOT_FOUND);
      const rights = withFlags(member.rights, body.enable ?? {});
      refuseGiving(caller, member.rights, rights);
      if (Object.values(account).some((value) => value !== undefined)) await refuseAccountChange(tx, caller, member, account);
      if (body.superadmin !== undefined) await refuseSuperadminLoss(tx, caller, member, body.superadmin);
      if (body.admin === false) await refuseLastAdmin(tx, entityId, member);
      await updateUser(tx, member.id, { ...account, superadmin: body.superadmin });
      await updateMembership(tx, entityId, member.id, { rights, admin: body.admin ?? member.admin });
      if (passwordHash) await deleteTokensOf(tx, member.id);
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
  description: 'Ends the user\'s sessions there; whoever belongs to no other entity is deleted.',
  params,
  async handle({ params: { user_id }, ...who }, { db }) {
    const { caller } = who;
    const { entityId } = caller;
    await write(db, async (tx) => {
      await lockMembers(tx, entityId);
      const member = await findMember(tx, entityId, user_id) ?? refuse(404, 'not_found', NOT_FOUND);
      if (member.id === caller.userId) refuse(400, 'bad_request', 'You cannot remove yourself: another admin can');
      if (member.superadmin) await refuseSuperadminLoss(tx, caller, member, false);
      await refuseLastAdmin(tx, entityId, member);
      await deleteMember(tx, entityId, member.id);
      await audit(tx, who, { action: 'delete', subjectKind: 'user', subject: member.uid, details: { user_id: member.id } });
    });
    return noResult();
  },
});

export const userRoutes: Route[] = [listUsers, viewUser, createUser, updateAUser, removeUser];
