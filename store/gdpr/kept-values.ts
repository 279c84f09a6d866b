/** Values that an erasure leaves in reasons of holds and in unreadable mails: lists them for staff. */
import type { KeptValue } from '../../domain/gdpr/gdpr-receipt.ts';
import type { Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import type { Files } from '../core/files.ts';
import { namedIn, namesOf } from './named-in.ts';
import type { KnownBy } from './personal-data-location.ts';

const MAX_HOLDS = 200;

/** Lists holds on others whose reason names one of these people: a deletion leaves these. */
export async function listHoldsNaming(
  db: Queryable,
  entityId: number,
  people: readonly KnownBy[],
): Promise<KeptValue[]> {
  const { rows } = await db.query<Row<'gdpr_holds', 'identifier'>>(
    `SELECT identifier FROM gdpr_holds WHERE entity_id = $1 AND ${namedIn('reason')} ORDER BY id LIMIT ${MAX_HOLDS}`,
    namesOf(entityId, people),
  );
  return rows.map(({ identifier: object }) => ({ place: 'gdpr_holds', object, on: 'reason', key: null, values: 1 }));
}

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
