/** Unreadable mails, in which an erasure leaves values: lists them for staff. */
import type { KeptValue } from '../../domain/gdpr/gdpr-receipt.ts';
import type { Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import type { Files } from '../core/files.ts';

const MAX_MAILS = 20;

/** Lists, for a deletion's request and receipt, the files that stay, since no id stands in them as text. */
export async function listUnreadableMails(db: Queryable): Promise<KeptValue[]> {
  const { rows } = await db.query<Row<'unreadable_mails', 'file'>>(
    'SELECT file FROM unreadable_mails ORDER BY found_at, file LIMIT $1',
    [MAX_MAILS],
  );
  return rows.map(({ file }) => ({ place: 'outbox/', object: file, on: 'file', key: null, values: 0 }));
}

export async function deleteGoneUnreadableMails(db: Queryable, files: Pick<Files, 'size'>): Promise<void> {
  const { rows } = await db.query<Row<'unreadable_mails', 'file'>>('SELECT file FROM unreadable_mails');
  for (const { file } of rows) {
    if ((await files.size(file)) === null) await db.query('DELETE FROM unreadable_mails WHERE file = $1', [file]);
  }
}
