import { z } from 'zod';
import { email, linkToken, newPassword } from '../http/input.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { askForReset, confirmReset } from './reset-password.ts';

/** For people who forgot their password: what an admin asks for is with the users. */
const SHARED = { tag: 'Users', auth: 'none' } as const;
const PATH = '/api/password_resets';

const ask = route({
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Request a password reset link by mail',
  description: 'The answer is the same whether there is an account with the address, and no more than three links an hour go there.',
  body: z.object({ email }),
  async handle({ body, address }, { db }) {
    await askForReset(db, { email: body.email, address });
    return noResult();
  },
});

const confirm = route({
  ...SHARED,
  method: 'POST',
  path: `${PATH}/confirm`,
  summary: 'Set a new password',
  description: 'By the token of a mailed link, which works once. Ends all sessions of the account, and all its other links.',
  body: z.object({ token: linkToken, password: newPassword }),
  async handle({ body, address }, { db }) {
    await confirmReset(db, { ...body, address });
    return noResult();
  },
});

export const passwordResetRoutes: Route[] = [ask, confirm];
