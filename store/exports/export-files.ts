/** Records and files of exporters' runs: how far each type of data is written, and what lies in the bucket. */
import type { ExportDataType } from '../../domain/exports/export-data-type.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';

export type ExportCheckpoint = Record<string, string | number>;

export type ExportRecord = Row<
  'export_records',
  | 'runId'
  | 'identifier'
  | 'expected'
  | 'ambiguousSets'
  | 'rows'
  | 'files'
  | 'isDone'
  | 'snapshot'
  | 'lateRows'
  | 'lateCheckedAt',
  { dataType: ExportDataType }
> & {
  /** Start of the next file; null: with the first row. */
  checkpoint: ExportCheckpoint | null;
};

/** Its hashes are hexadecimal. */
export type ExportFile = Row<
  'export_files',
  'runId' | 'part' | 'key' | 'rows' | 'bytes' | 'contentBytes' | 'bucketChecksum' | 'writtenAt' | 'removedAt',
  { dataType: ExportDataType }
> & { sha256: string; contentSha256: string };

export type WrittenFile = Omit<ExportFile, 'runId' | 'writtenAt' | 'removedAt'>;

/** Inserts a record for each type, in the order of writing; existing ones stay. */
export async function insertExportRecords(
  tx: Tx,
  entityId: number,
  runId: number,
  types: readonly ExportDataType[],
): Promise<void> {
  await tx.query(
    `INSERT INTO export_records (entity_id, run_id, data_type, identifier, ordinal)
     SELECT $1, $2, data_type, identifier, ordinal
     FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS type (data_type, identifier, ordinal)
     ON CONFLICT (entity_id, run_id, data_type) DO NOTHING`,
    [entityId, runId, types, types.map(() => newIdentifier('rec'))],
  );
}

export async function listExportRecords(
  db: Queryable,
  entityId: number,
  runIds: readonly number[],
): Promise<ExportRecord[]> {
  return readRows(
    await db.query('SELECT * FROM export_records WHERE entity_id = $1 AND run_id = ANY ($2) ORDER BY run_id, ordinal', [
      entityId,
      runIds,
    ]),
    toRecord,
  );
}

export async function findExportRecord(
  db: Queryable,
  entityId: number,
  identifier: string,
): Promise<ExportRecord | null> {
  return readRow(
    await db.query('SELECT * FROM export_records WHERE entity_id = $1 AND identifier = $2', [entityId, identifier]),
    toRecord,
  );
}

export async function updateRecordBegun(
  tx: Tx,
  entityId: number,
  { runId, dataType }: ExportRecord,
  { expected, ambiguousSets, snapshot }: Pick<ExportRecord, 'expected' | 'ambiguousSets' | 'snapshot'>,
): Promise<void> {
  await tx.query(
    `UPDATE export_records SET expected = $4, snapshot = $5, ambiguous_sets = $6
     WHERE entity_id = $1 AND run_id = $2 AND data_type = $3`,
    [entityId, runId, dataType, expected, snapshot, ambiguousSets],
  );
}

/** Restarts a type, whose earlier files no longer count. Returns its record. */
export async function updateRecordRestarted(
  tx: Tx,
  entityId: number,
  { runId, dataType }: ExportRecord,
): Promise<ExportRecord> {
  await tx.query('DELETE FROM export_files WHERE entity_id = $1 AND run_id = $2 AND data_type = $3', [
    entityId,
    runId,
    dataType,
  ]);
  const record = readRow(
    await tx.query(
      `UPDATE export_records SET expected = NULL, ambiguous_sets = NULL, snapshot = NULL, rows = 0, files = 0, place = NULL
     WHERE entity_id = $1 AND run_id = $2 AND data_type = $3 RETURNING *`,
      [entityId, runId, dataType],
    ),
    toRecord,
  );
  return record!;
}

export async function updateRecordDone(tx: Tx, entityId: number, { runId, dataType }: ExportRecord): Promise<void> {
  await tx.query('UPDATE export_records SET is_done = true WHERE entity_id = $1 AND run_id = $2 AND data_type = $3', [
    entityId,
    runId,
    dataType,
  ]);
}

/** Records a file in the bucket, and the next one's start; null: that was all of its type. */
export async function insertExportFile(
  tx: Tx,
  entityId: number,
  runId: number,
  file: WrittenFile,
  next: ExportCheckpoint | null,
): Promise<void> {
  await tx.query(
    `WITH written AS (
       INSERT INTO export_files (
         entity_id, run_id, data_type, part, key, rows, bytes, sha256, content_bytes, content_sha256, bucket_checksum)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11))
     UPDATE export_records SET rows = rows + $6, files = files + 1, place = coalesce($12::jsonb, place), is_done = $12 IS NULL
     WHERE entity_id = $1 AND run_id = $2 AND data_type = $3`,
    [
      entityId,
      runId,
      file.dataType,
      file.part,
      file.key,
      file.rows,
      file.bytes,
      Buffer.from(file.sha256, 'hex'),
      file.contentBytes,
      Buffer.from(file.contentSha256, 'hex'),
      file.bucketChecksum,
      next && JSON.stringify(next),
    ],
  );
}

export async function listExportFiles(
  db: Queryable,
  entityId: number,
  runIds: readonly number[],
): Promise<ExportFile[]> {
  return readRows(
    await db.query(
      `SELECT f.* FROM export_files f JOIN export_records r USING (entity_id, run_id, data_type)
     WHERE f.entity_id = $1 AND f.run_id = ANY ($2) ORDER BY f.run_id, r.ordinal, f.part`,
      [entityId, runIds],
    ),
    toFile,
  );
}

/** Sets how many rows came late; returns how many more they are than at the last look. */
export async function updateLateRows(
  tx: Tx,
  entityId: number,
  { runId, dataType }: ExportRecord,
  lateRows: number | null,
): Promise<number> {
  const { rows } = await tx.query<{ more: number }>(
    `WITH before AS (SELECT late_rows FROM export_records WHERE entity_id = $1 AND run_id = $2 AND data_type = $3)
     UPDATE export_records r SET late_rows = coalesce($4, r.late_rows), late_checked_at = now() FROM before
     WHERE entity_id = $1 AND run_id = $2 AND data_type = $3
     RETURNING coalesce(r.late_rows, 0) - coalesce(before.late_rows, 0) AS more`,
    [entityId, runId, dataType, lateRows],
  );
  return Math.max(0, rows[0]?.more ?? 0);
}

function toRecord({
  place: checkpoint,
  ...record
}: Omit<ExportRecord, 'checkpoint'> & { place: ExportCheckpoint | null }): ExportRecord {
  return { ...record, checkpoint };
}

type FileColumns = Omit<ExportFile, 'sha256' | 'contentSha256'> & Row<'export_files', 'sha256' | 'contentSha256'>;

function toFile({ sha256, contentSha256, ...file }: FileColumns): ExportFile {
  return { ...file, sha256: sha256.toString('hex'), contentSha256: contentSha256.toString('hex') };
}
