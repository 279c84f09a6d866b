/** Users of an entity and their rights (reference: Authentication, 2; docs/users.md). */
import { z } from 'zod';
import { RIGHTS } from '../../domain/accounts/rights.ts';
import { bodyFlag, email, identifier, jsonObject, name, newPassword, PASSWORD_CHARS, text } from '../core/input.ts';
import { MAIL_STATES } from '../core/mail.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';

/** Every right, true or false, as in the login response (reference: Authentication, 2). */
export const Enable = z.record(z.enum(RIGHTS), z.boolean()).meta({ id: 'Enable' });
export type Enable = z.output<typeof Enable>;

export const User = z
  .object({
    id: z.int(),
    uid: z.string(),
    email: z.string(),
    first_name: z.string(),
    last_name: z.string(),
    full_name: z.string(),
    enable: Enable,
    admin: z.boolean(),
    superadmin: z.boolean(),
  })
  .meta({ id: 'User' });
export type User = z.output<typeof User>;

/** The users of the caller's entity. No response shows other entities that they belong to. */
const SHARED = { tag: 'Users', role: 'admin' } as const;
const PATH = '/api/users';
const ONE = `${PATH}/:user_id`;
const params = z.object({ user_id: identifier.describe('uid or id of the user') });
const enable = jsonObject(z.partialRecord(z.enum(RIGHTS), bodyFlag)).describe(
  'Rights by name; a right that you leave out does not change',
);

export const listUsers = operation({
  id: 'listUsers',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List the users of the entity',
  query: z.object(pageQuery),
  result: pageOf(User),
});

export const viewUser = operation({
  id: 'viewUser',
  ...SHARED,
  method: 'GET',
  path: ONE,
  summary: 'View a user of the entity',
  params,
  result: User,
});

/** An invitation: what the admin sent, and nothing about an account that may exist. */
export const Invitation = z
  .object({
    identifier: z.string(),
    email: z.string(),
    first_name: z.string(),
    last_name: z.string(),
    enable: Enable,
    admin: z.boolean(),
    superadmin: z.boolean(),
    invited_by: z.int().describe('id of the user who invites'),
    created_at: z.string(),
    expires_at: z.string().describe('When the link stops working'),
    mail: z.object({ state: z.enum(['waiting', ...MAIL_STATES]), reason: z.string().nullable() }),
  })
  .meta({ id: 'Invitation' });
export type Invitation = z.output<typeof Invitation>;

export const inviteUser = operation({
  id: 'inviteUser',
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Invite a person into the entity',
  description:
    'Millrace mails a link that works once, for 24 hours. The person joins the entity by accepting. The response does not ' +
    'show whether the address has an account.',
  audits: 'create invitation',
  body: z.object({
    email,
    password: noPassword('cannot be set here: the person chooses it with the mailed link'),
    first_name: name.optional(),
    last_name: name.optional(),
    enable: enable.optional(),
    admin: bodyFlag.default(false),
    superadmin: bodyFlag.default(false),
  }),
  result: Invitation,
});

export const updateUser = operation({
  id: 'updateUser',
  ...SHARED,
  method: 'PUT',
  path: ONE,
  summary: 'Change a user of the entity',
  description: 'Changes of rights take effect at once. You can give and take only rights that you have.',
  audits: 'update user',
  params,
  body: z.object({
    email: email.optional().describe('Only superadmins can change it, because links that set a password go there'),
    password: noPassword('cannot be set for other users: POST …/password_reset mails the user a link that sets it'),
    first_name: name.optional(),
    last_name: name.optional(),
    enable: enable.optional(),
    admin: bodyFlag.optional(),
    superadmin: bodyFlag.optional(),
  }),
  result: User,
});

export const removeUser = operation({
  id: 'removeUser',
  ...SHARED,
  method: 'DELETE',
  path: ONE,
  summary: 'Remove a user from the entity',
  description:
    "Ends the user's sessions in the entity, and deletes an account that belongs to no other entity. You need all rights " +
    'that the user has.',
  audits: 'delete user',
  params,
});

export const mailPasswordReset = operation({
  id: 'mailPasswordReset',
  ...SHARED,
  method: 'POST',
  path: `${ONE}/password_reset`,
  summary: 'Mail a user a password reset link',
  description: 'Millrace mails the link only to the address of the account. It works once, for 24 hours.',
  audits: 'create password_reset',
  params,
});

/** Documents the member as forbidden, so that older programs get the reason. */
function noPassword(message: string) {
  return z.never({ error: message }).optional();
}

export const changeOwnPassword = operation({
  id: 'changeOwnPassword',
  method: 'PUT',
  path: '/api/users/me/password',
  summary: 'Change your own password',
  description:
    'Ends all other sessions of the user and all links that set a password. Wrong passwords count as failed logins.',
  audits: 'update user',
  tag: 'Users',
  role: 'person',
  body: z.object({
    password: text({ max: PASSWORD_CHARS }).describe('The current password'),
    new_password: newPassword,
  }),
});
