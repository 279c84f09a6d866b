import * as api from '../../api/accounts/password-resets.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { askForReset, confirmReset } from './reset-password.ts';

const ask = route(api.requestPasswordReset, async ({ body, address }, { db }) => {
  await askForReset(db, { email: body.email, address });
  return noResult();
});

const confirm = route(api.resetPassword, async ({ body, address }, { db }) => {
  await confirmReset(db, { ...body, address });
  return noResult();
});

export const passwordResetRoutes: Route[] = [ask, confirm];
