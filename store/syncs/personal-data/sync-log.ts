import { ERASED } from '../../../domain/core/erased.ts';
import type { PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { namedIn } from '../../gdpr/personal-data/named-in.ts';
import { textsOfPeople } from '../../gdpr/personal-data/texts-of-people.ts';

export const syncLog: PersonalDataLocation = {
  name: 'sync_log',
  columns: ['line'],
  otherColumns: ['entity_id', 'run_id', 'id', 'logged_at'],
  holds: 'messages of sources and destinations',
  foundBy: 'the id within a line',
  erasedBy: 'replacing the line with `erased`',
  ...textsOfPeople({
    table: 'sync_log',
    writtenAt: 'logged_at',
    keys: { run_id: 'bigint', id: 'bigint' },
    text: 'line',
    naming: namedIn('line'),
    within: '(SELECT r.identifier FROM sync_runs r WHERE r.entity_id = $1 AND r.id = sync_log.run_id)',
    change: `UPDATE sync_log SET line = '${ERASED}'`,
  }),
};
