import { z } from 'zod';
import { email, linkToken, newPassword } from '../core/input.ts';
import { operation } from '../core/operation.ts';

/** For people who forgot their password: what an admin asks for is with the users. */
const SHARED = { tag: 'Users', auth: 'none' } as const;
const PATH = '/api/password_resets';

export const requestPasswordReset = operation({
  id: 'requestPasswordReset',
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Request a password reset link by mail',
  description: 'The answer is the same whether there is an account with the address, and no more than three links an hour go there.',
  body: z.object({ email }),
});

export const resetPassword = operation({
  id: 'resetPassword',
  ...SHARED,
  method: 'POST',
  path: `${PATH}/confirm`,
  summary: 'Set a new password',
  description: 'By the token of a mailed link, which works once. Ends all sessions of the account, and all its other links.',
  audits: 'accept password_reset',
  body: z.object({ token: linkToken, password: newPassword }),
});
