import { refuse } from '../domain/refusal.ts';
import type { Queryable } from '../store/database.ts';
import { type AttemptSubject, deleteAttempt, deleteFailures, insertAttempt } from '../store/login-attempts.ts';
import { findUserByEmail, type User } from '../store/users.ts';
import { verifyPassword } from './passwords.ts';

/** Failures within 15 minutes before an account, or an address, has to wait. */
const MOST_FAILURES = { account: 10, address: 50 };

/**
 * The user whom e-mail address and password belong to. An attempt is counted before the password is looked at, so
 * that none of many at once slips through; known and unknown accounts take the same time. Refuses with 401 and the
 * words of `wrong`, or with 429 after too many failures.
 */
export async function checkPassword(
  db: Queryable, email: string, password: string, address: string, wrong = 'Invalid email or password',
): Promise<User> {
  const byAccount: AttemptSubject = { kind: 'account', name: email };
  const byAddress: AttemptSubject = { kind: 'address', name: address };
  await countAttempt(db, byAddress);
  await countAttempt(db, byAccount);
  const user = await findUserByEmail(db, email);
  const isRight = await verifyPassword(user?.passwordHash ?? null, password);
  if (!user || !isRight) return refuse(401, 'unauthorized', wrong);
  await deleteFailures(db, byAccount);
  await deleteAttempt(db, byAddress);       // this one was none; those before it stay
  return user;
}

async function countAttempt(db: Queryable, subject: AttemptSubject): Promise<void> {
  const { attempts, waitSeconds } = await insertAttempt(db, subject);
  if (attempts <= MOST_FAILURES[subject.kind]) return;
  const message = `Too many failed logins: try again in ${waitSeconds} s`;
  refuse(429, 'too_many_requests', message, { retry_after: waitSeconds });
}
