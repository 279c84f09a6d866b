/** Errors of rows: stores them, lists them, and notes which ones a re-drive has settled. */
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { type ImportError, isOfErased } from '../../domain/imports/import-error.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { copyLine } from '../core/copy-out.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';

export type StoredImportError = ImportError & {
  happenedAt: Date;
  redrivenBy: string | null;
};

type ErrorRow = Row<
  'import_errors',
  | 'line'
  | 'outcome'
  | 'message'
  | 'customerId'
  | 'attributeKey'
  | 'raw'
  | 'columnNumber'
  | 'originalLine'
  | 'originalColumn'
  | 'customerHash'
  | 'isErased'
  | 'happenedAt',
  { errorType: ImportError['errorType']; stage: ImportError['stage'] }
> & { redrivenBy: string | null };

/** Maximum number of errors in a page; it ends early at this total size of their records. */
const PAGE_ROWS = 1_000;
const PAGE_BYTES = 4 * 1024 * 1024;

/** Inserts the errors of one batch, in the transaction of the rows that it counts. */
export function insertImportErrors(tx: Tx, entityId: number, importId: number, errors: ImportError[]): Promise<void> {
  return insertErrorsOf(
    tx,
    entityId,
    errors.map((error) => ({ importId, error })),
  );
}

/** Inserts errors of several imports, requests of a feed or runs of syncs, whose ids come from one sequence. */
export async function insertErrorsOf(
  tx: Tx,
  entityId: number,
  errors: { importId: number; error: ImportError }[],
): Promise<void> {
  if (errors.length === 0) return;
  const lines = errors.map(({ importId, error }) =>
    copyLine([
      entityId,
      importId,
      error.line,
      error.errorType,
      error.outcome,
      error.stage,
      error.message,
      error.customerId,
      error.attributeKey,
      error.raw,
      error.column ?? 0,
      error.originalLine,
      error.originalColumn ?? 0,
      error.customerHash && `\\x${Buffer.from(error.customerHash).toString('hex')}`,
      isOfErased(error),
    ]),
  );
  await pipeline(
    [Buffer.from(lines.join(''))],
    tx.query(
      copyFrom(
        `COPY import_errors (entity_id, import_id, line, error_type, outcome, stage, message, customer_id, attribute_key,
       raw, column_number, original_line, original_column, customer_hash, is_erased) FROM STDIN`,
      ),
    ),
  );
}

/**
 * Marks errors of these lines of the import or run `rootId` as settled by another one, there and in each re-drive that
 * refused them. In a table a line has an error for each cell, by column; errors of whole lines stay open.
 */
export async function updateErrorsRedriven(
  tx: Tx,
  entityId: number,
  rootId: number,
  corrected: readonly { line: number; column: number }[],
  redrivenBy: number,
): Promise<void> {
  const places = [corrected.map(({ line }) => line), corrected.map(({ column }) => column)];
  // A single value does not settle a whole line of a table. The import is a column of this side, which the planner
  // cannot see through: with older statistics it would read all of the import's errors for each position.
  const settled = `(SELECT DISTINCT $1::integer AS entity_id, $2::bigint AS import_id, line, place
    FROM unnest($3::bigint[], $5::integer[]) AS corrected (line, place)
    WHERE place <> 0 OR NOT EXISTS (SELECT FROM imports WHERE entity_id = $1 AND id = $2 AND column_mapping IS NOT NULL) OFFSET 0) c`;
  await tx.query(LOOK_UP_BY_KEY);
  await tx.query(
    `UPDATE import_errors e SET redriven_by = $4 FROM ${settled}
     WHERE e.entity_id = c.entity_id AND e.import_id = c.import_id AND e.line = c.line AND e.column_number = c.place
       AND e.redriven_by IS NULL`,
    [entityId, rootId, places[0], redrivenBy, places[1]],
  );
  // Uses the index import_errors_by_original_line.
  await tx.query(
    `UPDATE import_errors e SET redriven_by = $4 FROM ${settled}
     WHERE e.entity_id = c.entity_id AND e.original_line = c.line AND e.original_column = c.place AND e.redriven_by IS NULL
       AND (EXISTS (SELECT FROM imports r WHERE r.entity_id = $1 AND r.root_id = $2 AND r.id <> $4 AND r.id = e.import_id)
         OR EXISTS (SELECT FROM sync_runs r WHERE r.entity_id = $1 AND r.root_id = $2 AND r.id <> $4 AND r.id = e.import_id))`,
    [entityId, rootId, places[0], redrivenBy, places[1]],
  );
}

/** Maximum number of errors that one transaction marks. */
const SETTLED_AT_ONCE = 10_000;

/**
 * Marks errors of whole lines and files in the table `parentId` as settled by `redrivenBy`, and those in tables that it
 * repeats and in their error files. Marks at most SETTLED_AT_ONCE; returns whether there may be more.
 */
export async function updateTableRedriven(
  tx: Tx,
  entityId: number,
  parentId: number,
  redrivenBy: number,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `WITH RECURSIVE i AS (
       SELECT id, parent_id FROM imports WHERE entity_id = $1 AND id = $2 AND column_mapping IS NOT NULL
       UNION ALL
       SELECT p.id, p.parent_id FROM imports p JOIN i ON p.entity_id = $1 AND p.id = i.parent_id
       WHERE p.column_mapping IS NOT NULL)
     UPDATE import_errors SET redriven_by = $3
     WHERE entity_id = $1 AND (import_id, line, column_number) IN (
       SELECT e.import_id, e.line, e.column_number FROM i JOIN import_errors e ON e.entity_id = $1 AND e.import_id = i.id
       WHERE e.redriven_by IS NULL AND e.column_number = 0
       UNION ALL
       SELECT e.import_id, e.line, e.column_number
       FROM i JOIN imports f ON f.entity_id = $1 AND f.root_id = i.id AND f.has_error_columns
         JOIN import_errors e ON e.entity_id = $1 AND e.import_id = f.id
       WHERE e.redriven_by IS NULL AND e.original_line IS NOT NULL AND e.original_column = 0
       LIMIT ${SETTLED_AT_ONCE})`,
    [entityId, parentId, redrivenBy],
  );
  return rowCount === SETTLED_AT_ONCE;
}

/** Lists the errors of these customers in an import, and whether a re-drive has settled each. */
export async function listErrorsOf(
  db: Queryable,
  entityId: number,
  importId: number,
  customerIds: readonly string[],
): Promise<{ line: number; customerId: string; attributeKey: string; isRedriven: boolean }[]> {
  // Uses the primary key of import_errors.
  return readRows(
    await db.query(
      `SELECT line, customer_id, attribute_key, redriven_by IS NOT NULL AS is_redriven FROM import_errors
     WHERE entity_id = $1 AND import_id = $2 AND customer_id = ANY ($3) AND attribute_key IS NOT NULL`,
      [entityId, importId, customerIds],
    ),
  );
}

/** Returns why the whole file could not be imported, or its end not be read; null if nothing was wrong. */
export async function findFileError(db: Queryable, entityId: number, importId: number): Promise<string | null> {
  const { rows } = await db.query<Row<'import_errors', 'message'>>(
    'SELECT message FROM import_errors WHERE entity_id = $1 AND import_id = $2 AND line = 0',
    [entityId, importId],
  );
  return rows[0]?.message ?? null;
}

/** With `line > 0` the key would serve as well, and Postgres, without statistics, would read all errors. */
const IS_SETTLED = '(redriven_by IS NOT NULL OR is_erased)';

/** SQL for the number of settled rows of a job, without line 0 (the file). Uses the index import_errors_settled. */
export const settledRows = (entityId: string, jobId: string) => `(
  SELECT count(*) FROM import_errors WHERE entity_id = ${entityId} AND import_id = ${jobId} AND line <> 0 AND ${IS_SETTLED})`;

export async function countErrorsSettled(db: Queryable, entityId: number, jobId: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(`SELECT ${settledRows('$1', '$2')} AS count`, [entityId, jobId]);
  return rows[0]!.count;
}

/** Returns the number of settled rows for each type of error that has some. Uses the index import_errors_settled. */
export async function countSettledByType(
  db: Queryable,
  entityId: number,
  importId: number,
): Promise<Record<string, number>> {
  const { rows } = await db.query<{ type: string; count: number }>(
    `SELECT error_type AS type, count(*) AS count FROM import_errors
     WHERE entity_id = $1 AND import_id = $2 AND line <> 0 AND ${IS_SETTLED} GROUP BY error_type`,
    [entityId, importId],
  );
  return Object.fromEntries(rows.map(({ type, count }) => [type, count]));
}

export type ImportErrorFilter = {
  errorType?: string | undefined;
  customerId?: string | undefined;
  isOpen?: boolean | undefined;
};

/** Yields `limit` errors behind the line `after`, and the last line's other cells, page by page to bound memory. */
export async function* streamImportErrors(
  db: Queryable,
  entityId: number,
  importId: number,
  filter: ImportErrorFilter = {},
  { after = -1, limit = Infinity }: { after?: number | undefined; limit?: number | undefined } = {},
): AsyncGenerator<StoredImportError> {
  let [line, column, left] = [after, LAST_COLUMN, limit];
  for (;;) {
    const page = await listErrorsAfter(db, entityId, importId, filter, line, column);
    if (page.length === 0) return;
    for (const error of page) {
      if (left <= 0 && error.line !== line) return;
      yield error;
      ({ line } = error);
      left -= 1;
    }
    column = page.at(-1)!.column!;
  }
}

/** Larger than any column: an .xlsx file has 16,384, and a record 1,048,576 at most. */
const LAST_COLUMN = 2 ** 31 - 1;

export async function listErrorsAfter(
  db: Queryable,
  entityId: number,
  importId: number,
  filter: ImportErrorFilter,
  after: number,
  afterColumn = LAST_COLUMN,
): Promise<StoredImportError[]> {
  // octet_length reads only the size of a long record.
  const rows = readRows<ErrorRow>(
    await db.query(
      `SELECT line, error_type, outcome, stage, message, customer_id, attribute_key, raw, column_number, original_line, original_column,
       customer_hash, is_erased, happened_at,
       coalesce(
         (SELECT identifier FROM imports i WHERE i.entity_id = $1 AND i.id = measured.redriven_by),
         (SELECT identifier FROM sync_runs r WHERE r.entity_id = $1 AND r.id = measured.redriven_by)) AS redriven_by
     FROM (
       SELECT *, sum(bytes) OVER (ORDER BY line, column_number) - bytes AS bytes_before
       FROM (
         SELECT *, coalesce(octet_length(raw), 0) AS bytes FROM import_errors
         WHERE entity_id = $1 AND import_id = $2 AND (line, column_number) > ($3, $7)
           AND ($4::text IS NULL OR error_type = $4) AND ($5::text IS NULL OR customer_id = $5)
           AND NOT ($6 AND ${IS_SETTLED})
         ORDER BY line, column_number LIMIT ${PAGE_ROWS}) AS page) AS measured
     WHERE bytes_before < ${PAGE_BYTES} ORDER BY line, column_number`,
      [
        entityId,
        importId,
        after,
        filter.errorType ?? null,
        filter.customerId ?? null,
        filter.isOpen ?? false,
        afterColumn,
      ],
    ),
  );
  return rows.map(({ columnNumber: column, isErased, ...error }) => ({
    ...error,
    column,
    ...(isErased && { isErased: true }),
  }));
}
