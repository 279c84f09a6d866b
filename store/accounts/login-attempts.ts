import { createHash } from 'node:crypto';
import type { Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

const [QUARTER, HOUR, DAY] = [15 * 60, 3_600, 86_400];

/** What is counted, in windows of so many seconds. */
const WINDOW_SECONDS = {
  account: QUARTER,
  address: QUARTER,
  'account and address': QUARTER,
  /** Passwords set by one mailed link. */
  link: QUARTER,
  'resets asked from an address': HOUR,
  'resets of an address of mail': HOUR,
  'resets by admins': HOUR,
  'invitations of an entity': DAY,
} as const;

export type AttemptSubject = { kind: keyof typeof WINDOW_SECONDS; name: string };

/** Counts one attempt, as a failure until it proves to be none; the first after a window begins the next. */
export async function insertAttempt(
  db: Queryable,
  subject: AttemptSubject,
): Promise<{ attempts: number; waitSeconds: number }> {
  // One statement: of many attempts at once each gets a number of its own.
  const { rows } = await db.query<Row<'login_attempts', 'failures'> & { wait: number }>(
    `INSERT INTO login_attempts AS a (subject, window_start, failures, window_seconds) VALUES ($1, now(), 1, $2)
     ON CONFLICT (subject) DO UPDATE SET
       failures = CASE WHEN a.window_start > now() - make_interval(secs => $2) THEN a.failures + 1 ELSE 1 END,
       window_start = CASE WHEN a.window_start > now() - make_interval(secs => $2) THEN a.window_start ELSE now() END
     RETURNING failures, ceil(extract(epoch FROM window_start + make_interval(secs => $2) - now()))::int AS wait`,
    [subjectHash(subject), WINDOW_SECONDS[subject.kind]],
  );
  return { attempts: rows[0]!.failures, waitSeconds: rows[0]!.wait };
}

/** Takes back one attempt that was no failure. */
export async function deleteAttempt(db: Queryable, subject: AttemptSubject): Promise<void> {
  await db.query('UPDATE login_attempts SET failures = failures - 1 WHERE subject = $1 AND failures > 0', [
    subjectHash(subject),
  ]);
}

export async function deleteFailures(db: Queryable, subject: AttemptSubject): Promise<void> {
  await db.query('DELETE FROM login_attempts WHERE subject = $1', [subjectHash(subject)]);
}

/** Windows that are over say nothing any more. */
export async function deleteOldAttempts(db: Queryable): Promise<void> {
  await db.query('DELETE FROM login_attempts WHERE window_start < now() - make_interval(secs => window_seconds)');
}

function subjectHash({ kind, name }: AttemptSubject): Buffer {
  return createHash('sha256').update(`${kind}:${name}`).digest();
}
