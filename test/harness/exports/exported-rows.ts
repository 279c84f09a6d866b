import { parse } from 'csv-parse/sync';
import { exportColumns } from '../../../domain/exports/export-columns.ts';
import type { ExportDataType } from '../../../domain/exports/export-data-type.ts';
import type { Database } from '../../../store/core/database.ts';
import { copyOut } from '../../../store/core/copy-out.ts';
import { exportSession } from '../../../store/exports/export-session.ts';
import { countExpected, type ExportScope, type Checkpoint, slicesOf } from '../../../store/exports/export-sources.ts';

export type Exported = { text: string; rows: number; expected: number; slices: { text: string; next: Checkpoint }[] };

/** All that an export of the scope writes, from a place on. */
export async function readExported(
  db: Database,
  type: ExportDataType,
  scope: ExportScope,
  from: Checkpoint | null = null,
): Promise<Exported> {
  const { session, release } = await exportSession(db);
  try {
    const expected = await countExpected(session, type, scope);
    const exported: Exported = { text: '', rows: 0, expected, slices: [] };
    for await (const { statement, next } of slicesOf(session, type, scope, from)) {
      const { bytes, rows } = copyOut(session, statement);
      const text = Buffer.concat(await Array.fromAsync(bytes)).toString();
      exported.text += text;
      exported.rows += rows();
      exported.slices.push({ text, next });
    }
    return exported;
  } finally {
    release();
  }
}

/** The rows of an export as CSV, by the names of their columns; null where nothing stands, not even an empty text. */
export async function exportedRows(
  db: Database,
  type: ExportDataType,
  scope: ExportScope,
): Promise<Record<string, string | null>[]> {
  const { text } = await readExported(db, type, scope);
  return parse(text, {
    columns: [...exportColumns(type)],
    cast: (value, { quoting }) => (value === '' && !quoting ? null : value),
  });
}
