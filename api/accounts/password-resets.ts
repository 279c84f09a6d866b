import { z } from 'zod';
import { email, linkToken, newPassword } from '../core/input.ts';
import { operation } from '../core/operation.ts';

/** For people who forgot their password; admins use `mailPasswordReset`. */
const SHARED = { tag: 'Users', auth: 'none' } as const;
const PATH = '/api/password_resets';

export const requestPasswordReset = operation({
  id: 'requestPasswordReset',
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Request a password reset link by mail',
  description:
    'The response does not show whether the address has an account. Millrace mails it at most three links an hour.',
  body: z.object({ email }),
});

export const resetPassword = operation({
  id: 'resetPassword',
  ...SHARED,
  method: 'POST',
  path: `${PATH}/confirm`,
  summary: 'Set a new password with a mailed link',
  description:
    'Takes the token of the link, which works once. Ends all sessions of the account and all its other links.',
  audits: 'accept password_reset',
  body: z.object({ token: linkToken, password: newPassword }),
});
