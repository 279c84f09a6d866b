import { refuse } from '../../domain/core/refusal.ts';
import { type AttemptSubject, insertAttempt } from '../../store/accounts/login-attempts.ts';
import type { Queryable } from '../../store/core/database.ts';

type Limit = { max: number; words: string };

const LOGINS = 'Too many failed logins';
const RESETS = 'Too many new passwords were asked for';

/**
 * Limits for each kind and window. Failed logins count for an account from one address, for an address, and for an
 * account from all addresses, so one address cannot lock an owner out everywhere.
 */
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

/** Counts an attempt, and refuses it with 429 beyond the limit of its kind. */
export async function countAttempt(db: Queryable, subject: AttemptSubject): Promise<void> {
  const { attempts, waitSeconds } = await insertAttempt(db, subject);
  const { max, words } = LIMITS[subject.kind];
  if (attempts > max)
    refuse(429, 'too_many_requests', `${words}: try again in ${waitSeconds} s`, { retry_after: waitSeconds });
}

/** Counts an attempt, and returns whether it is within the limit. */
export async function isWithinLimit(db: Queryable, subject: AttemptSubject): Promise<boolean> {
  const { attempts } = await insertAttempt(db, subject);
  return attempts <= LIMITS[subject.kind].max;
}
