/** Counts failed attempts to log in, and how long the next one must wait. */
import { createHash } from 'node:crypto';
import type { Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

const [QUARTER, HOUR, DAY] = [15 * 60, 3_600, 86_400];

const WINDOW_SECONDS = {
  account: QUARTER,
  address: QUARTER,
  'account and address': QUARTER,
  link: QUARTER,
  'resets asked from an address': HOUR,
  'resets of an address of mail': HOUR,
  'resets by admins': HOUR,
  'invitations of an entity': DAY,
} as const;

export type AttemptSubject = { kind: keyof typeof WINDOW_SECONDS; name: string };

/** Counts one attempt as a failure; `deleteAttempt` takes it back. The first one after a window begins the next. */
export async function insertAttempt(
  db: Queryable,
  subject: AttemptSubject,
): Promise<{ attempts: number; waitSeconds: number }> {
  // One statement, so that each of many concurrent attempts gets its own number.
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

export async function deleteAttempt(db: Queryable, subject: AttemptSubject): Promise<void> {
  await db.query('UPDATE login_attempts SET failures = failures - 1 WHERE subject = $1 AND failures > 0', [
    subjectHash(subject),
  ]);
}

export async function deleteFailures(db: Queryable, subject: AttemptSubject): Promise<void> {
  await db.query('DELETE FROM login_attempts WHERE subject = $1', [subjectHash(subject)]);
}

export async function deleteOldAttempts(db: Queryable): Promise<void> {
  await db.query('DELETE FROM login_attempts WHERE window_start < now() - make_interval(secs => window_seconds)');
}

function subjectHash({ kind, name }: AttemptSubject): Buffer {
  return createHash('sha256').update(`${kind}:${name}`).digest();
}
