import { itemsNaming } from './items-naming.ts';
import { namedIn, namesOf } from './named-in.ts';
import { BATCH, countRows, type PersonalDataPlace } from './place.ts';
import { inBatches } from '../in-batches.ts';

const BATCHES_NAMING = `sync_batches b WHERE b.entity_id = $1 AND ${namedIn('b.batch')}`;

export const syncBatches: PersonalDataPlace = {
  name: 'sync_batches',
  columns: ['batch'],
  otherColumns: ['entity_id', 'run_id', 'identifier'],
  foundBy: 'the id in the records of a batch on its way, one for each run at most',
  count: ({ db }, entityId, people) => countRows(db, BATCHES_NAMING, namesOf(entityId, people)),
  async* export({ db }, entityId, people) {
    const names = namesOf(entityId, people);
    const { rows } = await db.query<{ identifier: string; batch: string }>(`SELECT identifier, batch FROM ${BATCHES_NAMING}`, names);
    for (const { identifier, batch } of rows) {
      for (const { source, record } of await itemsNaming(db, itemsOf(batch), names)) yield { batch: identifier, source, record };
    }
  },
  /**
   * The batch of a run under way stays until its outcomes are noted down: it may have been sent, so that after a crash the
   * very same has to be sent again, or nobody could tell what arrived. That is a matter of one step, or of minutes while the
   * destination is down; whoever erases looks again. Of a run that has ended the batch is never sent, and goes as a whole.
   */
  erase: ({ db }, entityId, people) => inBatches(db,
    `DELETE FROM sync_batches WHERE ctid = ANY (ARRAY(
       SELECT b.ctid FROM ${BATCHES_NAMING} AND NOT EXISTS (
         SELECT FROM sync_runs r WHERE r.entity_id = $1 AND r.id = b.run_id AND r.ended_at IS NULL)
       LIMIT ${BATCH}))`, namesOf(entityId, people)),
};

type Item = { source: unknown; record: unknown };
type StoredItem = { source: unknown; sent: number | null };

function itemsOf(batch: string): Item[] {
  const { items, records } = JSON.parse(batch) as { items: StoredItem[]; records: unknown[] };
  return items.map((item) => ({ ...item, record: item.sent === null ? null : records[item.sent] }));
}
