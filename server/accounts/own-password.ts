import * as api from '../../api/accounts/users.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { deletePasswordResetsOf } from '../../store/accounts/password-resets.ts';
import { deleteTokensOf } from '../../store/accounts/tokens.ts';
import { findUser, updateUser } from '../../store/accounts/users.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { checkPassword } from './check-password.ts';
import { hashPassword } from './passwords.ts';

const changeOwnPassword = route(api.changeOwnPassword, async ({ body, ...who }, { db }) => {
  const { userId, token } = who.caller;
  const user = await findUser(db, userId) ?? refuse(401, 'unauthorized', 'Invalid or missing token');
  await checkPassword(db, user.email, body.password, who.address, 'password: is not the one in force');
  const passwordHash = await hashPassword(body.new_password);
  await write(db, async (tx) => {
    await updateUser(tx, userId, { passwordHash });
    await deleteTokensOf(tx, userId, token);
    await deletePasswordResetsOf(tx, userId);
    await audit(tx, who, { action: 'update', subjectKind: 'user', subject: user.uid, details: { changed: 'password' } });
  });
  return noResult();
});

export const ownPasswordRoutes: Route[] = [changeOwnPassword];
