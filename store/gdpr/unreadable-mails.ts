import type { KeptValue } from '../../domain/gdpr/gdpr-receipt.ts';
import type { Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import type { Files } from '../core/files.ts';

/**
 * Files of the outbox that are no mails: they lie in `outbox/unreadable/`, and are listed for staff. They may belong to
 * any entity.
 */

export const UNREADABLE = 'unreadable/';

/** Maximum number of these files that a receipt lists. */
const MAX_LISTED = 20;

/** Stores such a file, by its key in the outbox. */
export async function insertUnreadableMail(db: Queryable, key: string): Promise<void> {
  await db.query('INSERT INTO unreadable_mails (file) VALUES ($1) ON CONFLICT DO NOTHING', [`outbox/${key}`]);
}

/** Deletes the rows of files that staff, or an erasure, deleted. */
export async function deleteGoneUnreadableMails(db: Queryable, files: Pick<Files, 'size'>): Promise<void> {
  const { rows } = await db.query<Row<'unreadable_mails', 'file'>>('SELECT file FROM unreadable_mails');
  for (const { file } of rows) {
    if ((await files.size(file)) === null) await db.query('DELETE FROM unreadable_mails WHERE file = $1', [file]);
  }
}

/** Lists, for a deletion's request and receipt, the files that stay, since no id stands in them as text. */
export async function listUnreadableMails(db: Queryable): Promise<KeptValue[]> {
  const { rows } = await db.query<Row<'unreadable_mails', 'file'>>(
    'SELECT file FROM unreadable_mails ORDER BY found_at, file LIMIT $1',
    [MAX_LISTED],
  );
  return rows.map(({ file }) => ({ place: 'outbox/', object: file, on: 'file', key: null, values: 0 }));
}
