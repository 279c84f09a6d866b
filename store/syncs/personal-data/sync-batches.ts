import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { namedIn } from '../../gdpr/personal-data/named-in.ts';
import { textsOfPeople } from '../../gdpr/personal-data/texts-of-people.ts';

export const syncBatches: PersonalDataLocation = {
  name: 'sync_batches',
  columns: ['batch', 'outcomes'],
  otherColumns: ['entity_id', 'run_id', 'identifier', 'sent'],
  holds: 'the records on their way to another destination',
  foundBy: 'the id within them',
  erasedBy: 'deleting the batch, once its run has ended',
  ...textsOfPeople({
    table: 'sync_batches',
    keys: { run_id: 'bigint' },
    rowsAtOnce: 10,
    text: `concat_ws(E'\\n', batch, outcomes)`,
    within: 'identifier',
    naming: `${namedIn('batch')} OR ${namedIn("coalesce(outcomes, '')")}`,
    /**
     * The batch of a run under way stays until its outcomes are noted down: it may have been sent, so that after a
     * crash the very same has to be sent again, or nobody could tell what arrived. That is a matter of one step, or of
     * minutes while the destination is down; whoever erases looks again. Of a run that has ended the batch is never
     * sent, and goes as a whole.
     */
    change: 'DELETE FROM sync_batches',
    changeable: `NOT EXISTS (
      SELECT FROM sync_runs r WHERE r.entity_id = $1 AND r.id = sync_batches.run_id AND r.ended_at IS NULL)`,
  }),
};
