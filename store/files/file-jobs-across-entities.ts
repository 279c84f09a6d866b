import { FILE_DAYS } from '../../domain/files/file-format.ts';
import { readRow } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { type FileJob, toFileJob } from './file-jobs.ts';

/** By what a link holds, which nobody can guess. */
export async function findFileJobOfLink(db: Queryable, identifier: string): Promise<FileJob | null> {
  return readRow<Parameters<typeof toFileJob>[0], FileJob>(await db.query(
    'SELECT * FROM file_jobs WHERE identifier = $1', [identifier]), toFileJob);
}

export type ExpiredFile = { entityId: number; id: number; fileKey: string | null };

/** Jobs whose links have expired, the oldest first. */
export async function listExpiredFiles(db: Queryable): Promise<ExpiredFile[]> {
  const { rows } = await db.query<{ entity_id: number; id: number; file_key: string | null }>(
    `SELECT entity_id, id, file_key FROM file_jobs WHERE ended_at < now() - interval '${FILE_DAYS} days' ORDER BY ended_at LIMIT 100`);
  return rows.map(({ entity_id: entityId, id, file_key: fileKey }) => ({ entityId, id, fileKey }));
}

export async function deleteFileJob(db: Queryable, { entityId, id }: ExpiredFile): Promise<void> {
  await db.query('DELETE FROM file_jobs WHERE entity_id = $1 AND id = $2', [entityId, id]);
}

export async function isFileOfJob(db: Queryable, fileKey: string): Promise<boolean> {
  const { rowCount } = await db.query('SELECT FROM file_jobs WHERE file_key = $1 LIMIT 1', [fileKey]);
  return rowCount === 1;
}
