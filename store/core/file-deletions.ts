/** Deletes files after the commit that removed their row, again by the sweep after a crash. */
import { readRows, type Row } from './camel-row.ts';
import type { Database, Queryable } from './database.ts';
import type { Files } from './files.ts';

/** Files whose row is gone: deleted after the commit, by a repeat or the sweep. A noted key is never written again. */
type FileDependencies = { db: Database; files: Files; boundary?: (name: string) => void };

/** Notes files for deletion; returns how many were not noted before. */
export async function noteFileDeletions(tx: Queryable, entityId: number, keys: readonly string[]): Promise<number> {
  const { rowCount } = await tx.query(
    'INSERT INTO file_deletions (entity_id, file_key) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING',
    [entityId, keys],
  );
  return rowCount!;
}

/** Deletes an entity's noted files whose keys begin with `area`. Call it after the commit of the note. */
export async function deleteNotedFiles(
  { db, files, boundary = () => {} }: FileDependencies,
  entityId: number,
  area: string,
): Promise<void> {
  const rows = readRows<Row<'file_deletions', 'fileKey'>>(
    await db.query(
      'SELECT file_key FROM file_deletions WHERE entity_id = $1 AND starts_with(file_key, $2) ORDER BY file_key',
      [entityId, area],
    ),
  );
  if (rows.length > 0) boundary('files: deletion noted');
  for (const { fileKey: key } of rows) await deleteNotedFile({ db, files, boundary }, entityId, key);
}

export async function countNotedFiles(db: Queryable, entityId: number, area: string): Promise<number> {
  const { rows } = await db.query<{ files: number }>(
    'SELECT count(*) AS files FROM file_deletions WHERE entity_id = $1 AND starts_with(file_key, $2)',
    [entityId, area],
  );
  return rows[0]!.files;
}

export async function deleteNotedFile(
  { db, files, boundary = () => {} }: FileDependencies,
  entityId: number,
  key: string,
): Promise<void> {
  await files.delete(key);
  boundary('files: deleted');
  await db.query('DELETE FROM file_deletions WHERE entity_id = $1 AND file_key = $2', [entityId, key]);
}

/** Lists the oldest noted files of all entities, a bounded number. */
export async function listNotedFiles(db: Queryable): Promise<{ entityId: number; fileKey: string }[]> {
  return readRows(await db.query('SELECT entity_id, file_key FROM file_deletions ORDER BY noted_at LIMIT 100'));
}
