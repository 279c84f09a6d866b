import type { Queryable } from '../core/database.ts';
import type { Files, StoredFile } from '../core/files.ts';

async function isFileOfImport(db: Queryable, fileKey: string): Promise<boolean> {
  const { rowCount } = await db.query('SELECT FROM imports WHERE file_key = $1 LIMIT 1', [fileKey]);
  return rowCount === 1;
}

/** Lists the pinned files that no import names: a process died, or Postgres was away, between the file and the row of its import. */
export async function* listUnnamedFiles({ db, files }: { db: Queryable; files: Files }): AsyncGenerator<StoredFile> {
  for await (const file of files.list('imports/')) if (!await isFileOfImport(db, file.key)) yield file;
}
