/** The errors of a crash. */

import { readRow, type Row } from '../core/camel-row.ts';
import type { Database, Queryable } from '../core/database.ts';

export type Crash = Row<'crashes', 'id' | 'appId' | 'identifier'>;

export async function findCrash(db: Queryable, entityId: number, identifier: string): Promise<Crash | null> {
  return readRow<Crash>(
    await db.query('SELECT id, app_id, identifier FROM crashes WHERE entity_id = $1 AND identifier = $2', [
      entityId,
      identifier,
    ]),
  );
}

const PORTION = 1_000;

type CrashOccurrence = { id: string; at: Date };

/** Yields a crash's errors by date, then id, in portions; no transaction is open between them. */
export async function* listCrashOccurrences(
  db: Database,
  entityId: number,
  { id, appId }: Crash,
  { from, until }: { from: Date | null; until: Date | null },
): AsyncGenerator<CrashOccurrence> {
  for (let after: [at: string, id: string] = [from?.toISOString() ?? '-infinity', '0']; ;) {
    // Uses the index events_by_crash; few rows have the same time.
    const { rows } = await db.query<{ id: string; at: Date; exact: string }>(
      `SELECT id::text, happened_at AS at, happened_at::text AS exact FROM events
       WHERE entity_id = $1 AND app_id = $2 AND crash_id = $3 AND happened_at >= $4::timestamptz
         AND (happened_at, id) > ($4::timestamptz, $5::bigint) AND happened_at < coalesce($6::timestamptz, 'infinity')
       ORDER BY happened_at, id LIMIT ${PORTION}`,
      [entityId, appId, id, ...after, until],
    );
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < PORTION) return;
    after = [last.exact, last.id];
  }
}
