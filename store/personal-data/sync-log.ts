import { ERASED, namedIn } from './named-in.ts';
import type { PersonalDataPlace } from './place.ts';
import { textsOfPeople } from './texts-of-people.ts';

export const syncLog: PersonalDataPlace = {
  name: 'sync_log',
  columns: ['line'],
  otherColumns: ['entity_id', 'run_id', 'id', 'logged_at'],
  foundBy: 'the id in a line',
  ...textsOfPeople({
    table: 'sync_log', keys: { run_id: 'bigint', id: 'bigint' }, text: 'line', naming: namedIn('line'),
    within: '(SELECT r.identifier FROM sync_runs r WHERE r.entity_id = $1 AND r.id = sync_log.run_id)',
    change: `UPDATE sync_log SET line = '${ERASED}'`,
  }),
};
