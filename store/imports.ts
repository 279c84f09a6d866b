import type { Queryable, Tx } from './database.ts';
import { newIdentifier } from './identifiers.ts';
import { type ErrorCounts, type RowCounts, sumErrors } from './import-lanes.ts';

export type ImportState = 'accepted' | 'running' | 'finished' | 'failed' | 'canceled';

/** A file as it came, and as it lies pinned: decompressed and checksummed (SHA-256). */
export type PinnedFile = {
  fileKey: string;
  fileBytes: number;
  fileSha256: Buffer;
  sourceBytes: number;
  sourceSha256: Buffer;
  sourceGzip: boolean;
  /** Why the end of the source could not be read: what came before it is imported all the same. */
  sourceDefect: string | null;
};

/** The generation of an ended import's lanes: no step has it. */
const SHUT = -1;

/** In how many lanes a new import is merged; chosen by measuring (docs/benchmarks.md). */
const LANES = 2;

export type Import = PinnedFile & RowCounts & {
  entityId: number;
  id: number;
  identifier: string;
  jid: string;
  sorId: number;
  version: 2 | 3;
  skipEmail: boolean;
  state: ImportState;
  generation: number;
  receivedAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
  /** All rows that begin before this place in the file are done. */
  nextOffset: number;
  nextLine: number;
};

export type NewImport = PinnedFile & { sorId: number; version: 2 | 3; skipEmail: boolean };

type ImportRow = {
  entity_id: number; id: number; identifier: string; jid: string; sor_id: number; version: 2 | 3; skip_email: boolean;
  state: ImportState; generation: number; received_at: Date; started_at: Date | null; ended_at: Date | null;
  file_key: string; file_bytes: number; file_sha256: Buffer; source_bytes: number; source_sha256: Buffer;
  source_gzip: boolean; source_defect: string | null; next_offset: number; next_line: number; rows_in: number;
  rows_ok: number; rows_ignored: number; rows_failed: number; lane_errors: ErrorCounts[];
};

/** An import with what its lanes come to together. */
const IMPORTS = `SELECT i.*, l.* FROM imports i CROSS JOIN LATERAL (
  SELECT min(next_offset) AS next_offset, min(next_line) AS next_line, sum(rows_in)::bigint AS rows_in,
    sum(rows_ok)::bigint AS rows_ok, sum(rows_ignored)::bigint AS rows_ignored, sum(rows_failed)::bigint AS rows_failed,
    jsonb_agg(errors_by_type) AS lane_errors
  FROM import_lanes WHERE entity_id = i.entity_id AND import_id = i.id) l`;

export async function insertImport(tx: Queryable, entityId: number, job: NewImport): Promise<Import> {
  const { rows } = await tx.query<{ id: number; identifier: string }>(
    `INSERT INTO imports (entity_id, identifier, jid, sor_id, version, skip_email, file_key, file_bytes, file_sha256,
       source_bytes, source_sha256, source_gzip, source_defect)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING id, identifier`,
    [entityId, newIdentifier('imp'), newIdentifier('job'), job.sorId, job.version, job.skipEmail, job.fileKey,
      job.fileBytes, job.fileSha256, job.sourceBytes, job.sourceSha256, job.sourceGzip, job.sourceDefect]);
  const { id, identifier } = rows[0]!;
  await tx.query(
    `INSERT INTO import_lanes (entity_id, import_id, lane, generation)
     SELECT $1, $2, lane, 0 FROM generate_series(0, $3::integer - 1) AS lane`, [entityId, id, LANES]);
  return (await findImport(tx, entityId, identifier))!;
}

export async function findImport(db: Queryable, entityId: number, identifier: string): Promise<Import | null> {
  const { rows } = await db.query<ImportRow>(`${IMPORTS} WHERE i.entity_id = $1 AND i.identifier = $2`, [entityId, identifier]);
  return rows[0] ? toImport(rows[0]) : null;
}

/** By import id or job id: the older interface takes either (reference: Batch CSV import of attribute values). */
export async function findImportByJob(db: Queryable, entityId: number, jobId: string): Promise<Import | null> {
  // The entity's own imports, of a week: a range of the key.
  const { rows } = await db.query<ImportRow>(
    `${IMPORTS} WHERE i.entity_id = $1 AND (i.identifier = $2 OR i.jid = $2)`, [entityId, jobId]);
  return rows[0] ? toImport(rows[0]) : null;
}

/** The imports into any SoR of the entity, newest first. */
export async function listImports(
  db: Queryable, entityId: number,
): Promise<{ identifier: string; receivedAt: Date }[]> {
  const { rows } = await db.query<{ identifier: string; received_at: Date }>(
    'SELECT identifier, received_at FROM imports WHERE entity_id = $1 ORDER BY received_at DESC, id DESC', [entityId]);
  return rows.map((row) => ({ identifier: row.identifier, receivedAt: row.received_at }));
}

/**
 * Makes the row this workflow run's, and tells the generation that its steps carry; a repeat by the same
 * run succeeds. Null when it belongs to another run or has ended.
 */
export async function claimImport(db: Queryable, entityId: number, id: number, runId: string): Promise<number | null> {
  const { rows } = await db.query<{ generation: number }>(
    `UPDATE imports SET state = 'running', run_id = $3, started_at = coalesce(started_at, now())
     WHERE entity_id = $1 AND id = $2 AND (state = 'accepted' OR (state = 'running' AND run_id = $3))
     RETURNING generation`, [entityId, id, runId]);
  return rows[0]?.generation ?? null;
}

/** Holds the row until the transaction ends. Null when another generation has taken over, or it has ended. */
export async function lockImport(tx: Tx, entityId: number, id: number, generation: number): Promise<Import | null> {
  const { rows } = await tx.query<ImportRow>(
    `${IMPORTS} WHERE i.entity_id = $1 AND i.id = $2 AND i.generation = $3 AND i.state = 'running' FOR UPDATE OF i`,
    [entityId, id, generation]);
  return rows[0] ? toImport(rows[0]) : null;
}

/** Ends a locked import, and shuts its lanes: a step of this generation that is still about commits nothing more. */
export async function updateImportEnded(tx: Tx, { entityId, id }: Import, state: 'finished' | 'failed'): Promise<void> {
  await tx.query(
    `WITH ended AS (
       UPDATE imports SET state = $3, ended_at = now() WHERE entity_id = $1 AND id = $2)
     UPDATE import_lanes SET generation = ${SHUT} WHERE entity_id = $1 AND import_id = $2`,
    [entityId, id, state]);
}

function toImport(row: ImportRow): Import {
  return {
    entityId: row.entity_id, id: row.id, identifier: row.identifier, jid: row.jid, sorId: row.sor_id,
    version: row.version, skipEmail: row.skip_email, state: row.state, generation: row.generation,
    receivedAt: row.received_at, startedAt: row.started_at, endedAt: row.ended_at,
    fileKey: row.file_key, fileBytes: row.file_bytes, fileSha256: row.file_sha256, sourceBytes: row.source_bytes,
    sourceSha256: row.source_sha256, sourceGzip: row.source_gzip, sourceDefect: row.source_defect,
    nextOffset: row.next_offset, nextLine: row.next_line, rowsIn: row.rows_in, rowsOk: row.rows_ok,
    rowsIgnored: row.rows_ignored, rowsFailed: row.rows_failed,
    errorsByType: sumErrors(row.lane_errors),
  };
}
