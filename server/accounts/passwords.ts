/** Passwords: hashes and checks them, counts attempts, and takes new ones by a mailed link. */
import { hash, verify } from '@node-rs/argon2';
import { refuse } from '../../domain/core/refusal.ts';
import {
  type AttemptSubject,
  deleteAttempt,
  deleteFailures,
  insertAttempt,
} from '../../store/accounts/login-attempts.ts';
import type { Database, Queryable } from '../../store/core/database.ts';
import { findUserByEmail, type User } from '../../store/accounts/users.ts';
import { networkOf } from '../http/upload-budget.ts';

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane. */
const ARGON2ID = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Hash of an unknown password, made with ARGON2ID: unknown accounts take as long as known ones. */
const NO_ACCOUNT = '$argon2id$v=19$m=19456,t=2,p=1$mtolDWJg7K5iWd6FcuWnGw$pyyUe1fTTe9GGOIo9EgAHdx2Ny/3Z2FoCj0zRTb1iCU';

export function hashPassword(password: string): Promise<string> {
  return hash(password, ARGON2ID);
}

/** Returns whether the password is right. `null`, a missing account, takes the same time. */
export async function verifyPassword(passwordHash: string | null, password: string): Promise<boolean> {
  const isRight = await verify(passwordHash ?? NO_ACCOUNT, password);
  return isRight && passwordHash !== null;
}

type Limit = { max: number; words: string };

const LOGINS = 'Too many failed logins';
const RESETS = 'Too many new passwords were asked for';

/** Limits by kind and window. An account's failures also count by address: one address can't lock an owner out. */
const LIMITS: Record<AttemptSubject['kind'], Limit> = {
  'account and address': { max: 10, words: LOGINS },
  address: { max: 50, words: LOGINS },
  account: { max: 100, words: LOGINS },
  link: { max: 10, words: 'Too many passwords were sent for this link' },
  'resets asked from an address': { max: 10, words: RESETS },
  'resets of an address of mail': { max: 3, words: RESETS },
  'resets by admins': { max: 3, words: `${RESETS} for this user` },
  'invitations of an entity': { max: 100, words: 'The entity has mailed as many invitations as it may in a day' },
};

/** Counts an attempt. Refuses with 429 if it exceeds the limit of its kind. */
export async function countAttempt(db: Queryable, subject: AttemptSubject): Promise<void> {
  const { attempts, waitSeconds } = await insertAttempt(db, subject);
  const { max, words } = LIMITS[subject.kind];
  if (attempts > max)
    refuse(429, 'too_many_requests', `${words}: try again in ${waitSeconds} s`, { retry_after: waitSeconds });
}

export async function isWithinLimit(db: Queryable, subject: AttemptSubject): Promise<boolean> {
  const { attempts } = await insertAttempt(db, subject);
  return attempts <= LIMITS[subject.kind].max;
}

/** Counts an attempt before the check, against concurrent ones. Refuses with 401 and `wrong`, or with 429. */
export async function checkPassword(
  db: Queryable,
  email: string,
  password: string,
  address: string,
  wrong = 'Invalid email or password',
): Promise<User> {
  const network = networkOf(address);
  const user = await findUserByEmail(db, email);
  // Counts by account, so that all spellings of an address count together.
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

/** Refuses an unknown, used, withdrawn or expired link, without saying which. */
export function refuseLink(): never {
  return refuse(
    404,
    'not_found',
    'This link leads to nothing, or no longer: it works once, for 24 hours. Ask for a new one.',
  );
}

type LinkPassword = { link: Buffer; address: string; password: string };

/** Hashes a password for an open link. Counts as a failed login until `work` is done, so that hashing has an end. */
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
