/** Log lines of a sync's runs. */
import { readRows, type Row } from '../core/camel-row.ts';
import { ERASED } from '../../domain/core/erased.ts';
import { shorten } from '../../domain/text/text-limits.ts';
import { type Database, type Queryable, write } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { findErasedTexts } from '../gdpr/erased-texts.ts';

/** Maximum number of lines that a run keeps, and of characters in each. */
export const LOG_LINES = 2_000;
const LINE_CHARS = 2_000;

export type LogLine = { loggedAt: Date; line: string };

export async function insertLogLines(
  db: Queryable,
  entityId: number,
  runId: number,
  lines: readonly string[],
): Promise<void> {
  await db.query(
    'INSERT INTO sync_log (entity_id, run_id, line) SELECT $1, $2, line FROM unnest($3::text[]) WITH ORDINALITY AS l (line, n) ORDER BY n',
    [entityId, runId, lines.map((line) => shorten(line, LINE_CHARS))],
  );
}

/** Inserts lines with names of people who are being erased replaced. */
export async function insertRedactedLogLines(
  { db, secrets }: { db: Database; secrets: Secrets },
  entityId: number,
  runId: number,
  lines: readonly string[],
): Promise<void> {
  await write(db, async (tx) => {
    const named = await findErasedTexts(tx, secrets, entityId, lines, { byWords: false });
    await insertLogLines(
      tx,
      entityId,
      runId,
      lines.map((line, index) => (named.has(index) ? ERASED : line)),
    );
  });
}

export async function countLogLines(db: Queryable, entityId: number, runId: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'SELECT count(*) FROM sync_log WHERE entity_id = $1 AND run_id = $2',
    [entityId, runId],
  );
  return rows[0]!.count;
}

export async function listLogLines(db: Queryable, entityId: number, runId: number): Promise<LogLine[]> {
  return readRows<Row<'sync_log', 'loggedAt' | 'line'>>(
    await db.query('SELECT logged_at, line FROM sync_log WHERE entity_id = $1 AND run_id = $2 ORDER BY id', [
      entityId,
      runId,
    ]),
  );
}
