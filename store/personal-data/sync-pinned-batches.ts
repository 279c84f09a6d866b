import { itemsNaming } from './items-naming.ts';
import { namedIn, namesOf } from './named-in.ts';
import { BATCH, countRows, type PersonalDataPlace } from './place.ts';
import { inBatches } from '../in-batches.ts';

const BATCHES_NAMING = `sync_pinned_batches b WHERE b.entity_id = $1 AND (${namedIn('b.items')} OR ${namedIn("coalesce(b.position, '')")})`;

export const syncPinnedBatches: PersonalDataPlace = {
  name: 'sync_pinned_batches',
  columns: ['position', 'items'],
  otherColumns: ['entity_id', 'run_id', 'number', 'records_before'],
  foundBy: 'the id in the records of a batch that is being merged, three for each run at most',
  count: ({ db }, entityId, people) => countRows(db, BATCHES_NAMING, namesOf(entityId, people)),
  async* export({ db }, entityId, people) {
    const names = namesOf(entityId, people);
    const { rows } = await db.query<{ items: string }>(`SELECT items FROM ${BATCHES_NAMING}`, names);
    for (const { items } of rows) {
      for (const item of await itemsNaming(db, JSON.parse(items) as unknown[], names)) yield { item };
    }
  },
  /**
   * A batch of a run under way stays until its records are merged, which leaves out the erased: it counts for the run, and goes
   * within seconds, or minutes where our own database is down. Whoever erases looks again.
   */
  erase: ({ db }, entityId, people) => inBatches(db,
    `DELETE FROM sync_pinned_batches WHERE ctid = ANY (ARRAY(
       SELECT b.ctid FROM ${BATCHES_NAMING} AND NOT EXISTS (
         SELECT FROM sync_runs r WHERE r.entity_id = $1 AND r.id = b.run_id AND r.ended_at IS NULL)
       LIMIT ${BATCH}))`, namesOf(entityId, people)),
};
