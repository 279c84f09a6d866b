import { ERASED, namedIn } from './named-in.ts';
import type { PersonalDataPlace } from './place.ts';
import { textsOfPeople } from './texts-of-people.ts';

export const syncLog: PersonalDataPlace = {
  name: 'sync_log',
  columns: ['line'],
  otherColumns: ['entity_id', 'run_id', 'id', 'logged_at'],
  foundBy: 'the id in a line',
  ...textsOfPeople({
    table: 'sync_log', keys: { run_id: 'bigint', id: 'bigint' }, text: 'line', naming: namedIn('line'), shown: 'logged_at, line',
    change: `UPDATE sync_log SET line = '${ERASED}'`,
  }),
};
