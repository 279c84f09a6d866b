/** Jobs that build files for users. */
import { DAY_MS } from '../../domain/time/durations.ts';
import type { FileFormat } from '../../domain/files/file-format.ts';
import { FILE_DAYS } from '../../domain/files/file-format.ts';
import { JobGone, type JobRef } from '../../domain/jobs/job.ts';
import { type FailureColumns, failureOf, readRow, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { noteFileDeletions } from '../core/file-deletions.ts';
import { newIdentifier } from '../core/identifiers.ts';
import type { Secrets } from '../core/secrets.ts';
import { endJob, lockJob, updateJob } from '../jobs/jobs.ts';
import type { FileKind } from './file-sources.ts';

export type FileJob = Row<
  'file_jobs',
  | 'entityId'
  | 'id'
  | 'identifier'
  | 'format'
  | 'email'
  | 'generation'
  | 'state'
  | 'rowsWritten'
  | 'endedAt'
  | 'mailState'
  | 'stage'
  | 'firstEndedAt'
  | 'follows',
  {
    kind: FileKind;
    /** Null if it named an erased person. */
    query: unknown;
  }
> & {
  file: { key: string; bytes: number } | null;
  failure: { status: string; message: string } | null;
};

type Columns = Omit<FileJob, 'file' | 'failure'> & FailureColumns & Row<'file_jobs', 'fileKey' | 'fileBytes'>;

export function toFileJob({ fileKey: key, fileBytes: bytes, failureStatus, failure, ...job }: Columns): FileJob {
  const isFinished = job.state === 'finished' && key !== null;
  return { ...job, file: isFinished ? { key, bytes: bytes! } : null, failure: failureOf({ failureStatus, failure }) };
}

export type NewFileJob = { kind: FileKind; format: FileFormat; query: object; email: string | null; createdBy: number };

/** Returns the running job of the same request, or a new one. */
export async function findOrInsertFileJob(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  job: NewFileJob,
): Promise<JobRef> {
  const { kind, format, query, email, createdBy } = job;
  const asked = secrets.lookup(JSON.stringify(['file', entityId, kind, format, query, email, createdBy]));
  const { rows } = await tx.query<Row<'file_jobs', 'id' | 'identifier'>>(
    `SELECT id, identifier FROM file_jobs WHERE entity_id = $1 AND asked_hash = $2 AND state IN ('accepted', 'running')`,
    [entityId, asked],
  );
  const [standing] = rows;
  if (standing) return { entityId, jobId: standing.id, identifier: standing.identifier };
  return insertFileJob(tx, entityId, asked, job);
}

export type SharedFile = Pick<NewFileJob, 'kind' | 'format' | 'query'>;

/** Finds the latest job of a shared file, unless its link expired or an erasure ended it. */
export async function findSharedFileJob(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  file: SharedFile,
): Promise<FileJob | null> {
  return readRow<Columns, FileJob>(
    await db.query(
      `SELECT * FROM file_jobs WHERE entity_id = $1 AND asked_hash = $2 AND failure_status IS DISTINCT FROM 'erased'
       AND follows IS NULL
       AND (state IN ('accepted', 'running') OR first_ended_at > now() - interval '${FILE_DAYS} days')
     ORDER BY id DESC LIMIT 1`,
      [entityId, sharedHash(secrets, entityId, file)],
    ),
    toFileJob,
  );
}

export async function insertSharedFileJob(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  file: SharedFile,
  createdBy: number,
): Promise<JobRef> {
  return insertFileJob(tx, entityId, sharedHash(secrets, entityId, file), { ...file, email: null, createdBy });
}

function sharedHash(secrets: Secrets, entityId: number, { kind, format, query }: SharedFile): Buffer {
  return secrets.lookup(JSON.stringify(['shared file', entityId, kind, format, query]));
}

async function insertFileJob(
  tx: Tx,
  entityId: number,
  asked: Buffer,
  { kind, format, query, email, createdBy }: NewFileJob,
): Promise<JobRef> {
  const identifier = newIdentifier('fil');
  const { rows } = await tx.query<Row<'file_jobs', 'id'>>(
    `INSERT INTO file_jobs (entity_id, identifier, kind, format, query, asked_hash, email, created_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`,
    [entityId, identifier, kind, format, JSON.stringify(query), asked, email, createdBy],
  );
  return { entityId, jobId: rows[0]!.id, identifier };
}

export async function findFileJob(db: Queryable, entityId: number, identifier: string): Promise<FileJob | null> {
  return readRow<Columns, FileJob>(
    await db.query('SELECT * FROM file_jobs WHERE entity_id = $1 AND identifier = $2', [entityId, identifier]),
    toFileJob,
  );
}

type Claimed = { entityId: number; jobId: number; generation: number };

/** Records the file's next key, and the earlier file for deletion. Read content after the commit. Throws `JobGone`. */
export async function updateFileKey(tx: Tx, claim: Claimed, key: string): Promise<void> {
  const job = await lockJob<{ fileKey: string | null }>(tx, 'file', claim);
  if (!job) throw new JobGone();
  await updateJob(tx, 'file', claim, 'file_key = $4, begun_at = now(), rows_written = 0', [key]);
  if (job.fileKey !== null) await noteFileDeletions(tx, claim.entityId, [job.fileKey]);
}

/** Throws `JobGone`, also if another attempt of the same generation now writes the file under its own key. */
export async function updateRowsWritten(db: Queryable, claim: Claimed, key: string, rows: number): Promise<void> {
  const { rowCount } = await db.query(
    `UPDATE file_jobs SET rows_written = $5
     WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running' AND file_key = $4`,
    [claim.entityId, claim.jobId, claim.generation, key, rows],
  );
  if (rowCount !== 1) throw new JobGone();
}

/** Locks the job; returns false if another generation or attempt has taken over. */
export async function lockFileAttempt(tx: Tx, claim: Claimed, key: string): Promise<boolean> {
  return (await lockJob<{ fileKey: string | null }>(tx, 'file', claim))?.fileKey === key;
}

const FIRST_END = 'first_ended_at = coalesce(first_ended_at, now())';

export async function finishFile(
  tx: Queryable,
  job: { entityId: number; id: number },
  bytes: number,
  rows: number,
): Promise<void> {
  await endJob(tx, 'file', job, 'finished', `file_bytes = $4, rows_written = $5, ${FIRST_END}`, [bytes, rows]);
}

export async function failFile(
  tx: Queryable,
  job: { entityId: number; id: number },
  failure: { status: string; message: string },
): Promise<void> {
  await endJob(
    tx,
    'file',
    job,
    'failed',
    `failure_status = $4, failure = $5, file_key = NULL, begun_at = NULL, ${FIRST_END}`,
    [failure.status, failure.message],
  );
}

export function isFileKept({ firstEndedAt }: Pick<FileJob, 'firstEndedAt'>, now: Date): boolean {
  return firstEndedAt === null || now.getTime() - firstEndedAt.getTime() < FILE_DAYS * DAY_MS;
}
