import { refuse } from '../../domain/core/refusal.ts';
import { type AttemptSubject, deleteAttempt, deleteFailures } from '../../store/accounts/login-attempts.ts';
import type { Database } from '../../store/core/database.ts';
import { networkOf } from '../http/network-of.ts';
import { countAttempt } from './count-attempt.ts';
import { hashPassword } from './passwords.ts';

/** Refuses an unknown, used, withdrawn or expired link, without saying which. */
export function refuseLink(): never {
  return refuse(
    404,
    'not_found',
    'This link leads to nothing, or no longer: it works once, for 24 hours. Ask for a new one.',
  );
}

/** `link` is the hash of its token, `address` the caller's network address. */
type LinkPassword = { link: Buffer; address: string; password: string };

/**
 * Hashes a password for an open link, and does `work` with it. Until the work is done it counts as a failed login, so
 * that the holder of one link cannot make the server hash without end.
 */
export async function withPasswordByLink<T>(
  db: Database,
  { link, address, password }: LinkPassword,
  work: (passwordHash: string) => Promise<T>,
): Promise<T> {
  const byAddress: AttemptSubject = { kind: 'address', name: networkOf(address) };
  const byLink: AttemptSubject = { kind: 'link', name: link.toString('hex') };
  for (const subject of [byAddress, byLink]) await countAttempt(db, subject);
  const done = await work(await hashPassword(password));
  await deleteFailures(db, byLink);
  await deleteAttempt(db, byAddress);
  return done;
}
