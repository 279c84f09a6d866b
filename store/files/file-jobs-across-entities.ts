/** File jobs across entities: those of a link, and expired ones. */
import { FILE_DAYS } from '../../domain/files/file-format.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { noteFileDeletions } from '../core/file-deletions.ts';
import { type FileJob, toFileJob } from './file-jobs.ts';

type Columns = Parameters<typeof toFileJob>[0];

/** Finds the job of a link, which cannot be guessed. A job that follows another has that job's state and file. */
export async function findFileJobOfLink(db: Queryable, identifier: string): Promise<FileJob | null> {
  const asked = readRow<Columns, FileJob>(
    await db.query('SELECT * FROM file_jobs WHERE identifier = $1', [identifier]),
    toFileJob,
  );
  if (!asked?.follows || asked.state === 'failed') return asked;
  const followed = readRow<Columns, FileJob>(
    await db.query('SELECT * FROM file_jobs WHERE entity_id = $1 AND id = $2', [asked.entityId, asked.follows]),
    toFileJob,
  );
  return followed && { ...followed, identifier, firstEndedAt: asked.firstEndedAt };
}

export type ExpiredFile = { entityId: number; id: number };

/** Lists jobs whose links have expired, oldest first. A job that others follow stays as long as their links work. */
export async function listExpiredFiles(db: Queryable): Promise<ExpiredFile[]> {
  return readRows<Row<'file_jobs', 'entityId' | 'id'>>(
    await db.query(
      `SELECT entity_id, id FROM file_jobs j WHERE first_ended_at < now() - interval '${FILE_DAYS} days'
       AND NOT EXISTS (SELECT FROM file_jobs f WHERE f.entity_id = j.entity_id AND f.follows = j.id)
     ORDER BY first_ended_at LIMIT 100`,
    ),
  );
}

export async function deleteFileJob(tx: Tx, { entityId, id }: ExpiredFile): Promise<void> {
  const rows = readRows<Row<'file_jobs', 'fileKey'>>(
    await tx.query('DELETE FROM file_jobs WHERE entity_id = $1 AND id = $2 RETURNING file_key', [entityId, id]),
  );
  await noteFileDeletions(
    tx,
    entityId,
    rows.flatMap(({ fileKey: key }) => key ?? []),
  );
}

export async function isFileOfJob(db: Queryable, fileKey: string): Promise<boolean> {
  const { rowCount } = await db.query('SELECT FROM file_jobs WHERE file_key = $1 LIMIT 1', [fileKey]);
  return rowCount === 1;
}
