import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { namedIn } from '../../gdpr/personal-data/named-in.ts';
import { textsOfPeople } from '../../gdpr/personal-data/texts-of-people.ts';

export const syncPinnedBatches: PersonalDataLocation = {
  name: 'sync_pinned_batches',
  columns: ['position', 'items'],
  otherColumns: ['entity_id', 'run_id', 'number', 'records_before'],
  holds: 'the records of a batch during its merge, for seconds',
  foundBy: 'the id within them',
  erasedBy: 'deleting the batch, once its run has ended; the merge itself leaves out erased people',
  ...textsOfPeople({
    table: 'sync_pinned_batches',
    keys: { run_id: 'bigint', number: 'integer' },
    rowsAtOnce: 10,
    text: `concat_ws(E'\\n', items, position)`,
    naming: `${namedIn('items')} OR ${namedIn('coalesce("position", \'\')')}`,
    within: '(SELECT r.identifier FROM sync_runs r WHERE r.entity_id = $1 AND r.id = sync_pinned_batches.run_id)',
    /**
     * A batch of a run under way stays until its records are merged, which leaves out the erased: it counts for the
     * run, and goes within seconds, or minutes where our own database is down. Whoever erases looks again.
     */
    change: 'DELETE FROM sync_pinned_batches',
    changeable: `NOT EXISTS (
      SELECT FROM sync_runs r WHERE r.entity_id = $1 AND r.id = sync_pinned_batches.run_id AND r.ended_at IS NULL)`,
  }),
};
