import type { KeptValue } from '../../domain/gdpr/gdpr-receipt.ts';
import type { Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import type { Files } from '../core/files.ts';

/**
 * Files of the outbox that are no mails: they lie in `outbox/unreadable/`, and are listed for staff. They may be any
 * entity's.
 */

export const UNREADABLE = 'unreadable/';

/** How many of them a receipt lists. */
const MAX_LISTED = 20;

/** Notes such a file, by its key in the outbox. */
export async function insertUnreadableMail(db: Queryable, key: string): Promise<void> {
  await db.query('INSERT INTO unreadable_mails (file) VALUES ($1) ON CONFLICT DO NOTHING', [`outbox/${key}`]);
}

/** Drops the notes of files that are gone: staff deleted them, or an erasure did. */
export async function deleteGoneUnreadableMails(db: Queryable, files: Pick<Files, 'size'>): Promise<void> {
  const { rows } = await db.query<Row<'unreadable_mails', 'file'>>('SELECT file FROM unreadable_mails');
  for (const { file } of rows) {
    if ((await files.size(file)) === null) await db.query('DELETE FROM unreadable_mails WHERE file = $1', [file]);
  }
}

/** Returns what a deletion leaves of them, for its request and receipt: the files in which no id stands as text. */
export async function listUnreadableMails(db: Queryable): Promise<KeptValue[]> {
  const { rows } = await db.query<Row<'unreadable_mails', 'file'>>(
    'SELECT file FROM unreadable_mails ORDER BY found_at, file LIMIT $1',
    [MAX_LISTED],
  );
  return rows.map(({ file }) => ({ place: 'outbox/', object: file, on: 'file', key: null, values: 0 }));
}
