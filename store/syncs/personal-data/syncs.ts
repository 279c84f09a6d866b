import { ERASED } from '../../../domain/core/erased.ts';
import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { namedIn } from '../../gdpr/personal-data/named-in.ts';
import { textsOfPeople } from '../../gdpr/personal-data/texts-of-people.ts';

export const syncs: PersonalDataLocation = {
  name: 'syncs',
  columns: ['cursor', 'paused_reason'],
  otherColumns: [
    'entity_id',
    'id',
    'identifier',
    'name',
    'connection_id',
    'stream',
    'sor_id',
    'destination_id',
    'destination_stream',
    'destination_key',
    'mapping',
    'mode',
    'cursor_field',
    'removes',
    'removal_limit',
    'schedule',
    'schema_rule',
    'alerts',
    'revision',
    'known_fields',
    'read_fields',
    'failures',
    'paused_at',
    'has_copies',
    'scheduled_until',
    'created_by',
    'created_at',
    'updated_at',
    'deleted_at',
  ],
  holds: 'the cursor of the next run, the reason for a pause',
  foundBy: 'the id within them',
  erasedBy: 'replacing these with NULL and `erased`',
  ...textsOfPeople({
    table: 'syncs',
    keys: { id: 'integer' },
    text: `concat_ws(E'\\n', cursor, paused_reason)`,
    naming: `${namedIn('cursor')} OR ${namedIn('paused_reason')}`,
    within: 'identifier',
    // Without a cursor the next reading begins at the beginning: what is known and unchanged is not written again.
    change: `UPDATE syncs SET cursor = CASE WHEN ${namedIn('cursor')} THEN NULL ELSE cursor END,
      paused_reason = CASE WHEN ${namedIn('paused_reason')} THEN '${ERASED}' ELSE paused_reason END`,
  }),
};
