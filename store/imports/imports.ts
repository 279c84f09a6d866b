/** Imports: inserts, claims, lists and ends them, and keeps the addresses of their files sealed. */
import { redactedUrl } from '../../domain/core/source-url.ts';
import type { DateRule, Decimal, TableFormat, TableSettings } from '../../domain/csv/table-format.ts';
import type { ColumnMapping, ImportFormat, TableLayout } from '../../domain/imports/import-file.ts';
import type { JobKey } from '../../domain/jobs/job.ts';
import type { SimilarLine } from '../attributes/similar-ids.ts';
import { type MailColumns, mailOf, readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { noteFileDeletions } from '../core/file-deletions.ts';
import { idPieces } from '../core/id-pieces.ts';
import { newIdentifier } from '../core/identifiers.ts';
import type { MailState } from '../core/mails.ts';
import type { Secrets } from '../core/secrets.ts';
import { claimJob, endJob, type JobEnd, lockJob, lockJobToCancel } from '../jobs/jobs.ts';
import { settledRows } from './import-errors.ts';
import { type ErrorCounts, type RowCounts, sumErrors } from './import-lanes.ts';
import type { PinnedFile, StoredFile } from './pin-file.ts';

type ImportState = 'accepted' | 'running' | 'finished' | 'failed' | 'canceled';

export type ImportFileSettings = TableSettings & {
  decimal?: Decimal | undefined;
  nullMarker?: string | undefined;
  dates?: DateRule | undefined;
};
export type ImportFileFormat = TableFormat & { decimal: Decimal };

export type Import = RowCounts &
  Row<
    'imports',
    | 'entityId'
    | 'id'
    | 'identifier'
    | 'jid'
    | 'sorId'
    | 'version'
    | 'skipEmail'
    | 'parentId'
    | 'rootId'
    | 'state'
    | 'stage'
    | 'generation'
    | 'receivedAt'
    | 'saidAt'
    | 'startedAt'
    | 'endedAt'
    | 'columns'
    | 'hasErrorColumns'
    | 'similarIds'
    | 'shownUrl'
    | 'fetchedBytes'
    | 'fetchTries'
    | 'fetchFault',
    {
      /** A dry run rolls its merges back: it reports, and changes nothing. */
      dryRun: boolean;
      fileSettings: ImportFileSettings;
      /** Null until the file's beginning is read: it is stored decompressed as it came, then as CSV in UTF-8. */
      fileFormat: ImportFileFormat | null;
      columnMapping: ColumnMapping | null;
      /** Positions of these columns in the header; null until it is read. */
      tableLayout: TableLayout | null;
      similarIdLines: SimilarLine[] | null;
    }
  > & {
    file: PinnedFile | null;
    /** Cells without a value among the ignored rows. */
    cellsEmpty: number;
    /** Filled cells of a table in columns without a name; they count in no number of rows. */
    cellsUnnamed: number;
    mail: { state: MailState; tries: number; reason: string | null } | null;
    /** All rows that begin before this offset are done. */
    nextOffset: number;
    nextLine: number;
  };

export type PinnedImport = Import & { file: PinnedFile };

export type ReadableImport = PinnedImport & { fileFormat: ImportFileFormat };

export type ImportSource = PinnedFile | { url: string; headers: Record<string, string> };

export type NewImport = Pick<Import, 'sorId' | 'version' | 'skipEmail'> &
  Partial<Pick<Import, 'dryRun' | 'parentId' | 'rootId' | 'saidAt' | 'fileSettings' | 'columnMapping'>> & {
    source: ImportSource;
  };

type ImportColumns = Omit<Import, 'file' | 'mail' | 'errorsByType'> &
  MailColumns<MailState> &
  Omit<PinnedFile, 'fileKey'> &
  Row<'imports', 'fileKey'> & { laneErrors: ErrorCounts[] };

const IMPORTS = `SELECT j.*, l.* FROM imports j CROSS JOIN LATERAL (
  SELECT min(next_offset) AS next_offset, min(next_line) AS next_line, sum(rows_in)::bigint AS rows_in,
    sum(rows_ok)::bigint AS rows_ok, sum(cells_empty)::bigint AS cells_empty,
    sum(cells_unnamed)::bigint AS cells_unnamed,
    sum(rows_ignored)::bigint AS rows_ignored, sum(rows_failed)::bigint AS rows_failed,
    sum(suspicious_ids)::bigint AS suspicious_ids, jsonb_agg(errors_by_type) AS lane_errors
  FROM import_lanes WHERE entity_id = j.entity_id AND import_id = j.id) l`;

function toImport(columns: ImportColumns): Import {
  const {
    fileKey,
    fileBytes,
    fileSha256,
    sourceBytes,
    sourceSha256,
    sourceGzip,
    sourceDefect,
    mailState,
    mailTries,
    mailReason,
    laneErrors,
    ...job
  } = columns;
  return {
    ...job,
    file:
      fileKey === null ? null : { fileKey, fileBytes, fileSha256, sourceBytes, sourceSha256, sourceGzip, sourceDefect },
    mail: mailOf({ mailState, mailTries, mailReason }),
    errorsByType: sumErrors(laneErrors),
  };
}

/** Number of lanes of a new import, chosen by measuring (docs/benchmarks.md). */
const LANES = 2;

/** Generation of an ended import's lanes, which no step has. */
const SHUT = -1;

export async function insertImport(tx: Queryable, secrets: Secrets, entityId: number, job: NewImport): Promise<Import> {
  const identifier = newIdentifier('imp');
  const file = 'url' in job.source ? null : job.source;
  const sealed = 'url' in job.source ? sealSource(secrets, entityId, identifier, job.source) : null;
  const { rows } = await tx.query<Row<'imports', 'id'>>(
    `INSERT INTO imports (entity_id, identifier, jid, sor_id, version, skip_email, dry_run, parent_id, root_id, file_key,
       file_bytes, file_sha256, source_bytes, source_sha256, source_gzip, source_defect, shown_url, file_url, request_headers,
       file_settings, column_mapping, said_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22) RETURNING id`,
    [
      entityId,
      identifier,
      newIdentifier('job'),
      job.sorId,
      job.version,
      job.skipEmail,
      job.dryRun ?? false,
      job.parentId ?? null,
      job.rootId ?? null,
      file?.fileKey,
      file?.fileBytes,
      file?.fileSha256,
      file?.sourceBytes,
      file?.sourceSha256,
      file?.sourceGzip,
      file?.sourceDefect,
      sealed?.shownUrl,
      sealed?.url,
      sealed?.headers,
      job.fileSettings ?? {},
      job.columnMapping ?? null,
      job.saidAt ?? null,
    ],
  );
  await tx.query(
    `INSERT INTO import_lanes (entity_id, import_id, lane, generation)
     SELECT $1, $2, lane, 0 FROM generate_series(0, $3::integer - 1) AS lane`,
    [entityId, rows[0]!.id, LANES],
  );
  return (await findImport(tx, entityId, identifier))!;
}

export async function findImport(db: Queryable, entityId: number, identifier: string): Promise<Import | null> {
  return readRow(
    await db.query(`${IMPORTS} WHERE j.entity_id = $1 AND j.identifier = $2`, [entityId, identifier]),
    toImport,
  );
}

export async function findImportById(db: Queryable, entityId: number, id: number): Promise<Import | null> {
  return readRow(await db.query(`${IMPORTS} WHERE j.entity_id = $1 AND j.id = $2`, [entityId, id]), toImport);
}

/** Finds an import by import id or job id (reference: Batch CSV import of attribute values). */
export async function findImportByJob(db: Queryable, entityId: number, jobId: string): Promise<Import | null> {
  // Reads a range of the key: the entity's imports of a week.
  return readRow(
    await db.query(`${IMPORTS} WHERE j.entity_id = $1 AND (j.identifier = $2 OR j.jid = $2)`, [entityId, jobId]),
    toImport,
  );
}

export async function* streamImports(
  db: Queryable,
  entityId: number,
): AsyncGenerator<{ identifier: string; receivedAt: Date }[]> {
  const { rows } = await db.query<Row<'imports', 'id'>>(
    'SELECT id FROM imports WHERE entity_id = $1 ORDER BY received_at DESC, id DESC',
    [entityId],
  );
  for await (const ids of idPieces(
    db,
    entityId,
    'imports',
    rows.map(({ id }) => id),
    'octet_length(identifier)',
  )) {
    yield readRows(
      await db.query(
        `SELECT identifier, received_at FROM imports WHERE entity_id = $1 AND id = ANY ($2) ORDER BY received_at DESC, id DESC`,
        [entityId, ids],
      ),
    );
  }
}

export type ImportFilter = { sorId?: number | undefined; state?: ImportState | undefined; isOpen?: boolean };

/** Lists imports, newest first, before the one with this id; with the number of rows that a re-drive has settled. */
export async function listImports(
  db: Queryable,
  entityId: number,
  { sorId, state, isOpen = false }: ImportFilter,
  before: number | null,
  limit: number,
): Promise<(Import & { settled: number })[]> {
  const rows = readRows<ImportColumns & { settled: number }>(
    await db.query(
      `SELECT i.*, s.settled FROM (${IMPORTS} WHERE j.entity_id = $1) i
     CROSS JOIN LATERAL (SELECT ${settledRows('i.entity_id', 'i.id')}::bigint AS settled) s
     WHERE ($2::integer IS NULL OR i.sor_id = $2) AND ($3::text IS NULL OR i.state = $3)
       AND ($4::bigint IS NULL OR i.id < $4)
       AND (NOT $5 OR NOT i.dry_run AND i.rows_ignored + i.rows_failed - i.cells_empty > s.settled)
     ORDER BY i.id DESC LIMIT $6`,
      [entityId, sorId ?? null, state ?? null, before, isOpen, limit],
    ),
  );
  return rows.map(({ settled, ...columns }) => ({ ...toImport(columns), settled }));
}

export type ImportDay = { day: string; imports: number } & Omit<RowCounts, 'suspiciousIds'>;

const RECEIVED_ON = `(received_at AT TIME ZONE 'UTC')::date::text AS day`;

/** Counts the kept imports by the day in UTC on which they were received, without dry runs. */
export async function countImportDays(db: Queryable, entityId: number, sorId: number | null): Promise<ImportDay[]> {
  const kept = 'NOT j.dry_run AND ($2::integer IS NULL OR j.sor_id = $2)';
  const days = readRows<Omit<ImportDay, 'errorsByType'>>(
    await db.query(
      `SELECT ${RECEIVED_ON}, count(*)::integer AS imports, sum(rows_in)::bigint AS rows_in, sum(rows_ok)::bigint AS rows_ok,
         sum(rows_ignored)::bigint AS rows_ignored, sum(rows_failed)::bigint AS rows_failed
       FROM (${IMPORTS} WHERE j.entity_id = $1 AND ${kept}) i GROUP BY day`,
      [entityId, sorId],
    ),
  );
  const errors = readRows<{ day: string; type: keyof ErrorCounts; count: number }>(
    await db.query(
      `SELECT ${RECEIVED_ON}, type, sum(count::bigint)::bigint AS count
       FROM imports j JOIN import_lanes l ON l.entity_id = j.entity_id AND l.import_id = j.id
       CROSS JOIN LATERAL jsonb_each_text(l.errors_by_type) AS e (type, count)
       WHERE j.entity_id = $1 AND ${kept} GROUP BY day, type ORDER BY type`,
      [entityId, sorId],
    ),
  );
  const errorsOf = Map.groupBy(errors, ({ day }) => day);
  return days.map((day) => ({
    ...day,
    errorsByType: Object.fromEntries((errorsOf.get(day.day) ?? []).map(({ type, count }) => [type, count])),
  }));
}

/** Lists the imports that re-drive this one's errors, oldest first, without dry runs. */
export async function listRedrives(db: Queryable, entityId: number, id: number): Promise<Import[]> {
  return readRows(
    await db.query(`${IMPORTS} WHERE j.entity_id = $1 AND j.parent_id = $2 AND NOT j.dry_run ORDER BY j.id`, [
      entityId,
      id,
    ]),
    toImport,
  );
}

export async function claimImport(
  db: Queryable,
  entityId: number,
  id: number,
  workflowRunId: string,
): Promise<{ generation: number; isPinned: boolean } | null> {
  const row = await claimJob<{ generation: number; fileKey: string | null }>(
    db,
    'import',
    { entityId, jobId: id },
    workflowRunId,
  );
  return row && { generation: row.generation, isPinned: row.fileKey !== null };
}

export async function lockImport(tx: Tx, entityId: number, id: number, generation: number): Promise<Import | null> {
  const row = await lockJob<ImportColumns>(tx, 'import', { entityId, jobId: id, generation }, { select: IMPORTS });
  return row && toImport(row);
}

export async function updateImportFormat(
  db: Queryable,
  { entityId, id, fileFormat }: ReadableImport,
  rows: Pick<ImportFormat, 'columns' | 'hasErrorColumns' | 'layout'> | null,
): Promise<void> {
  await db.query(
    `UPDATE imports SET columns = $3, has_error_columns = $4, file_format = $5, table_layout = $6
     WHERE entity_id = $1 AND id = $2 AND (columns IS NULL OR file_format IS NULL)`,
    [entityId, id, rows?.columns ?? null, rows?.hasErrorColumns ?? false, fileFormat, rows?.layout ?? null],
  );
}

/** Stores the similar ids that a dry run found; null: it took too long. */
export async function updateSimilarIds(
  db: Queryable,
  { entityId, id, generation }: Import,
  found: { count: number; lines: SimilarLine[] } | null,
): Promise<void> {
  await db.query(
    `UPDATE imports SET similar_ids = $4, similar_id_lines = $5
     WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running'`,
    [entityId, id, generation, found?.count ?? null, found === null ? null : JSON.stringify(found.lines)],
  );
}

/** Stores the converted file. False: it has ended, has such a file, or belongs to another generation. */
export async function updateImportConverted(
  tx: Tx,
  { entityId, id, generation, file }: PinnedImport,
  { fileKey, fileBytes, fileSha256 }: StoredFile,
  format: ImportFileFormat,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE imports SET file_key = $4, file_bytes = $5, file_sha256 = $6, file_format = $7
     WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running' AND file_format IS NULL`,
    [entityId, id, generation, fileKey, fileBytes, fileSha256, format],
  );
  if (rowCount === 1) await noteFileDeletions(tx, entityId, [file.fileKey]);
  return rowCount === 1;
}

/** Ends a locked import. The file of a failed one is noted for deletion, because nothing reads it again. */
export async function updateImportEnded(
  tx: Tx,
  { entityId, id, file }: Import,
  state: 'finished' | 'failed',
): Promise<void> {
  await end(tx, entityId, id, state);
  if (state === 'failed' && file) await noteFileDeletions(tx, entityId, [file.fileKey]);
}

/** Cancels an import: merged rows stay. Returns null for an unknown import, false for an ended one. */
export async function cancelImport(tx: Tx, entityId: number, identifier: string): Promise<boolean | null> {
  const row = await lockJobToCancel<{ id: number; state: ImportState; fileKey: string | null }>(
    tx,
    'import',
    entityId,
    identifier,
  );
  if (!row) return row;
  await end(tx, entityId, row.id, 'canceled');
  if (row.fileKey !== null) await noteFileDeletions(tx, entityId, [row.fileKey]);
  return true;
}

/** Ends the import and shuts its lanes, so that a running step commits nothing more. Deletes the source's secrets. */
async function end(tx: Tx, entityId: number, id: number, state: JobEnd['state']): Promise<void> {
  await endJob(tx, 'import', { entityId, id }, state, 'file_url = NULL, request_headers = NULL');
  await tx.query(`UPDATE import_lanes SET generation = ${SHUT} WHERE entity_id = $1 AND import_id = $2`, [
    entityId,
    id,
  ]);
}

/**
 * Returns a SoR's addresses for mails (`notify_emails`, by default its creator), and its identifier. Finds deleted
 * SoRs, too.
 */
export async function findMailFacts(
  db: Queryable,
  entityId: number,
  sorId: number,
): Promise<{ sorIdentifier: string; to: string[] }> {
  const rows = readRows<Row<'systems_of_records', 'identifier' | 'notifyEmails'> & { creator: string | null }>(
    await db.query(
      `SELECT s.identifier, s.notify_emails, u.email AS creator FROM systems_of_records s LEFT JOIN users u ON u.id = s.created_by
     WHERE s.entity_id = $1 AND s.id = $2`,
      [entityId, sorId],
    ),
  );
  const { identifier = '', notifyEmails: to = [], creator = null } = rows[0] ?? {};
  return { sorIdentifier: identifier, to: to.length > 0 || creator === null ? to : [creator] };
}

/** A file's address. Its query may contain a signature, its headers a password, so both are stored sealed. */
export type RemoteSource = { url: string; headers: Record<string, string> };

function sealSource(
  secrets: Secrets,
  entityId: number,
  identifier: string,
  { url, headers }: RemoteSource,
): { shownUrl: string; url: string; headers: string } {
  return {
    shownUrl: redactedUrl(url),
    url: secrets.seal(url, cell(entityId, identifier, 'file_url')),
    headers: secrets.seal(JSON.stringify(headers), cell(entityId, identifier, 'request_headers')),
  };
}

export async function findImportSource(
  db: Queryable,
  secrets: Secrets,
  { entityId, jobId, generation }: JobKey,
): Promise<(RemoteSource & { sorId: number }) | null> {
  const rows = readRows<Row<'imports', 'identifier' | 'sorId', { fileUrl: string; requestHeaders: string }>>(
    await db.query(
      `SELECT identifier, sor_id, file_url, request_headers FROM imports
     WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running' AND file_key IS NULL`,
      [entityId, jobId, generation],
    ),
  );
  if (!rows[0]) return null;
  const { identifier, sorId, fileUrl: url, requestHeaders: headers } = rows[0];
  return {
    sorId,
    url: secrets.open(url, cell(entityId, identifier, 'file_url')),
    headers: JSON.parse(secrets.open(headers, cell(entityId, identifier, 'request_headers'))) as Record<string, string>,
  };
}

/** Returns false if the import has ended or belongs to another generation. */
export async function updateFetchedBytes(
  db: Queryable,
  { entityId, jobId, generation }: JobKey,
  bytes: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `UPDATE imports SET fetched_bytes = $4 WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running'`,
    [entityId, jobId, generation, bytes],
  );
  return rowCount === 1;
}

/** Notes why an attempt failed. Null if the import has ended or belongs to another generation. */
export async function updateFetchError(
  db: Queryable,
  { entityId, jobId, generation }: JobKey,
  fault: string,
): Promise<{ tries: number; failingForMs: number } | null> {
  return readRow(
    await db.query<{ tries: number; failing_for_ms: number }>(
      `UPDATE imports SET fetch_tries = fetch_tries + 1, fetch_fault = $4, fetched_bytes = NULL,
       fetch_failing_since = coalesce(fetch_failing_since, now())
     WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running'
     RETURNING fetch_tries AS tries, 1000 * extract(epoch FROM now() - fetch_failing_since)::float8 AS failing_for_ms`,
      [entityId, jobId, generation, fault],
    ),
  );
}

/** Stores the file, and deletes its address. False: it has ended, has a file, or belongs to another generation. */
export async function updateImportFile(
  tx: Tx,
  { entityId, jobId, generation }: JobKey,
  file: PinnedFile,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE imports SET file_key = $4, file_bytes = $5, file_sha256 = $6, source_bytes = $7, source_sha256 = $8,
       source_gzip = $9, source_defect = $10, fetched_bytes = $7, fetch_tries = fetch_tries + 1, fetch_fault = NULL,
       fetch_failing_since = NULL, file_url = NULL, request_headers = NULL
     WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running' AND file_key IS NULL`,
    [
      entityId,
      jobId,
      generation,
      file.fileKey,
      file.fileBytes,
      file.fileSha256,
      file.sourceBytes,
      file.sourceSha256,
      file.sourceGzip,
      file.sourceDefect,
    ],
  );
  return rowCount === 1;
}

function cell(entityId: number, identifier: string, column: 'file_url' | 'request_headers') {
  return { table: 'imports', column, entityId, row: identifier };
}
