import { refuse } from '../../domain/core/refusal.ts';
import { type AttemptSubject, deleteAttempt, deleteFailures } from '../../store/accounts/login-attempts.ts';
import type { Database } from '../../store/core/database.ts';
import { networkOf } from '../http/network-of.ts';
import { countAttempt } from './count-attempt.ts';
import { hashPassword } from './passwords.ts';

/** One refusal for a link that is unknown, used, withdrawn or expired: the caller can't learn which. */
export function refuseLink(): never {
  return refuse(
    404,
    'not_found',
    'This link leads to nothing, or no longer: it works once, for 24 hours. Ask for a new one.',
  );
}

/** `link` is the hash of its token, `address` the caller's of the network. */
type LinkPassword = { link: Buffer; address: string; password: string };

/**
 * Hashes a password that an open link sets, and does `work` with it. It is counted before, as a failed login is, until
 * the work is done: the holder of one link can't have the server hash without end.
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
