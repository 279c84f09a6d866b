import { refuse } from '../../domain/core/refusal.ts';
import { type AttemptSubject, deleteAttempt, deleteFailures } from '../../store/accounts/login-attempts.ts';
import { findUserByEmail, type User } from '../../store/accounts/users.ts';
import type { Queryable } from '../../store/core/database.ts';
import { networkOf } from '../http/network-of.ts';
import { countAttempt } from './count-attempt.ts';
import { verifyPassword } from './passwords.ts';

/**
 * Returns the user with this e-mail address and password. Each attempt is counted before the password is checked, so
 * that concurrent attempts cannot exceed the limit; known and unknown accounts take the same time. Refuses with 401 and
 * the words of `wrong`, or with 429 after too many failures.
 */
export async function checkPassword(
  db: Queryable,
  email: string,
  password: string,
  address: string,
  wrong = 'Invalid email or password',
): Promise<User> {
  const network = networkOf(address);
  const user = await findUserByEmail(db, email);
  // Counts by the account found, so that all spellings that Postgres takes for one address count together.
  const account = user?.uid ?? email.toLowerCase();
  const byAddress: AttemptSubject = { kind: 'address', name: network };
  const byAccount: AttemptSubject = { kind: 'account', name: account };
  const byBoth: AttemptSubject = { kind: 'account and address', name: `${account} ${network}` };
  for (const subject of [byAddress, byBoth, byAccount]) await countAttempt(db, subject);
  const isRight = await verifyPassword(user?.passwordHash ?? null, password);
  if (!user || !isRight) return refuse(401, 'unauthorized', wrong);
  await deleteFailures(db, byBoth);
  await deleteFailures(db, byAccount);
  await deleteAttempt(db, byAddress); // this was no failure; earlier ones stay
  return user;
}
