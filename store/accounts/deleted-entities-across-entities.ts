import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, write } from '../core/database.ts';

/** Tables without a foreign key to their entity: they get many rows a second, or hold millions. */
const UNTIED = [
  'attempts',
  'send_messages',
  'segment_members',
  'segment_changes',
  'event_messages',
  'ingested_batches',
  'refused_calls',
];
const BATCH = 5_000;

/** Deletes rows of deleted entities from these tables, in batches while there is time. The next call continues. */
export async function deleteRowsOfDeletedEntities(db: Database, hasTime: () => boolean): Promise<void> {
  const rows = readRows<Row<'deleted_entities', 'entityId'>>(
    await db.query('SELECT entity_id FROM deleted_entities ORDER BY deleted_at'),
  );
  for (const { entityId } of rows) {
    for (const table of UNTIED) {
      for (let deleted = 1; deleted > 0;) {
        if (!hasTime()) return;
        deleted = await write(
          db,
          async (tx) =>
            (
              await tx.query(
                `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE entity_id = $1 LIMIT ${BATCH}))`,
                [entityId],
              )
            ).rowCount!,
        );
      }
    }
    await db.query('DELETE FROM deleted_entities WHERE entity_id = $1', [entityId]);
  }
}
