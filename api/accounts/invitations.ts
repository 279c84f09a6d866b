/** Invitations of users to an entity: list, mail again, withdraw, accept. */
import { z } from 'zod';
import { identifier, linkToken, name, PASSWORD_CHARS, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { Invitation } from './users.ts';

const SHARED = { tag: 'Users', role: 'admin' } as const;
const PATH = '/api/invitations';
const ONE = `${PATH}/:invitation_id`;
const params = z.object({ invitation_id: identifier });

export const listInvitations = operation({
  id: 'listInvitations',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List the invitations that are not accepted yet',
  query: z.object(pageQuery),
  result: pageOf(Invitation),
});

export const resendInvitation = operation({
  id: 'resendInvitation',
  ...SHARED,
  method: 'POST',
  path: `${ONE}/send`,
  summary: 'Mail an invitation again',
  description: 'The mail has a new link, which works for 24 hours. The earlier link stops working.',
  audits: 'update invitation',
  params,
  result: Invitation,
});

export const withdrawInvitation = operation({
  id: 'withdrawInvitation',
  ...SHARED,
  method: 'DELETE',
  path: ONE,
  summary: 'Withdraw an invitation',
  description: 'Its link stops working.',
  audits: 'delete invitation',
  params,
});

export const acceptInvitation = operation({
  id: 'acceptInvitation',
  method: 'POST',
  path: `${PATH}/accept`,
  summary: 'Accept an invitation',
  description:
    'Takes the token of the mailed link. An existing account confirms with its current password; wrong passwords count as ' +
    'failed logins. A new account gets the password. Accepting does not log in.',
  audits: 'accept invitation',
  tag: 'Users',
  auth: 'none',
  body: z.object({
    token: linkToken,
    password: text({ max: PASSWORD_CHARS }).describe(
      'Current password of an existing account; for a new account, at least 8 characters',
    ),
    first_name: name.optional().describe('For a new account'),
    last_name: name.optional().describe('For a new account'),
  }),
  result: z.object({ email: z.string(), entity: z.object({ name: z.string() }) }),
});
