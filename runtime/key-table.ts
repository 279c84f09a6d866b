import { table } from '../cli/core/table.ts';
import type { Database } from '../store/core/database.ts';
import type { Files } from '../store/core/files.ts';
import { countSealed } from '../store/core/sealed-columns.ts';
import { keyFile, listWrappedKeys } from '../store/core/server-keys.ts';

/** The server's keys in lines: what each is, since when, and by which secret key it is wrapped. None of them itself. */
export async function keyTable(db: Database, files: Files): Promise<string> {
  const sealed = await countSealed(db);
  const rows = await Promise.all(
    (await listWrappedKeys(db)).map(async ({ name, id, created_at: createdAt, ...row }) => {
      const copy = (await files.readAll(keyFile(name, id)))?.toString();
      const inFiles = copy === undefined ? 'missing' : copy === row.wrapped ? 'the same' : 'another';
      return [
        name,
        String(id),
        createdAt.toISOString().slice(0, 10),
        row.wrapped_by ?? 'unknown until the next start',
        inFiles,
        name === 'data' ? String(sealed.get(id) ?? 0) : '',
      ];
    }),
  );
  return table(['key', 'id', 'drawn', 'wrapped by', 'file store', 'values sealed'], rows);
}
