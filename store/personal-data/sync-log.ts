import { ERASED, namedIn, namesOf } from './named-in.ts';
import { BATCH, countRows, type PersonalDataPlace } from './place.ts';
import { inBatches } from '../in-batches.ts';

const LINES_NAMING = `sync_log WHERE entity_id = $1 AND ${namedIn('line')}`;

export const syncLog: PersonalDataPlace = {
  name: 'sync_log',
  columns: ['line'],
  otherColumns: ['entity_id', 'run_id', 'id', 'logged_at'],
  foundBy: 'the id in a line',
  count: ({ db }, entityId, people) => countRows(db, LINES_NAMING, namesOf(entityId, people)),
  async* export({ db }, entityId, people) {
    const { rows } = await db.query(`SELECT logged_at, line FROM ${LINES_NAMING} ORDER BY run_id, id`, namesOf(entityId, people));
    yield* rows;
  },
  erase: ({ db }, entityId, people) => inBatches(db,
    `UPDATE sync_log SET line = '${ERASED}' WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${LINES_NAMING} LIMIT ${BATCH}))`,
    namesOf(entityId, people)),
};
