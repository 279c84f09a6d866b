import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import type { Files, StoredFile } from '../core/files.ts';

const KEYS_AT_ONCE = 1_000;

/** Yields pinned files without an import: a process died between storing the file and inserting the import. */
export async function* listUnnamedFiles({ db, files }: { db: Queryable; files: Files }): AsyncGenerator<StoredFile> {
  let listed: StoredFile[] = [];
  const failures: unknown[] = [];
  try {
    for await (const file of files.list('imports/')) {
      listed.push(file);
      if (listed.length < KEYS_AT_ONCE) continue;
      yield* await unnamedOf(db, listed);
      listed = [];
    }
  } catch (error) {
    failures.push(error);
  }
  // The list may have failed at one file after it had all others.
  yield* await unnamedOf(db, listed);
  if (failures.length > 0) throw failures[0];
}

async function unnamedOf(db: Queryable, listed: readonly StoredFile[]): Promise<StoredFile[]> {
  if (listed.length === 0) return [];
  const found = readRows<Row<'imports', 'fileKey'>>(
    await db.query('SELECT file_key FROM imports WHERE file_key = ANY ($1)', [listed.map(({ key }) => key)]),
  );
  const named = new Set(found.map(({ fileKey }) => fileKey));
  return listed.filter(({ key }) => !named.has(key));
}
