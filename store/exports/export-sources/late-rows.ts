import type { Queryable } from '../../core/database.ts';
import { literal } from './export-scope.ts';

/**
 * What a reading that begins now sees of what was ever written, as text. Transactions have their numbers in one
 * database of one cluster only: rows that were restored from a dump have those of the restoring.
 */
export async function findSnapshot(session: Queryable): Promise<string> {
  const { rows } = await session.query<{ database: string; snapshot: string }>(
    `SELECT ${DATABASE} AS database, pg_current_snapshot()::text AS snapshot`,
  );
  return `${rows[0]!.database}/${rows[0]!.snapshot}`;
}

const DATABASE = `(SELECT system_identifier FROM pg_control_system()) || '.' ||
  (SELECT oid FROM pg_database WHERE datname = current_database())`;

/**
 * Returns the condition that a row `r` was written by a transaction that the snapshot doesn't show; null if that is
 * unknown.
 */
export async function isLaterThan(session: Queryable, kept: string): Promise<string | null> {
  const [database, snapshot] = kept.split('/') as [string, string];
  const { rows } = await session.query<{ database: string }>(`SELECT ${DATABASE} AS database`);
  if (rows[0]!.database !== database) return null;
  // All before its first number had ended. A row has the lower half of its transaction's; age() compares halves.
  const first = snapshot.slice(0, snapshot.indexOf(':'));
  const ageOfFirst = `age(${literal(String(BigInt(first) % 2n ** 32n))}::xid)`;
  const number = `(${literal(first)}::bigint + ${ageOfFirst} - age(r.xmin))::text::xid8`;
  return `CASE WHEN age(r.xmin) > ${ageOfFirst} THEN false
    ELSE NOT pg_visible_in_snapshot(${number}, ${literal(snapshot)}::pg_snapshot) END`;
}
