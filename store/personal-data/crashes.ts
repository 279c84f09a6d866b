import { ERASED, namedIn, namesOf } from './named-in.ts';
import { BATCH, countRows, type PersonalDataPlace } from './place.ts';
import { inBatches } from '../in-batches.ts';

const CRASHES_NAMING = `crashes WHERE entity_id = $1 AND ${namedIn('title')}`;

/** Crashes are nobody's, but a title may quote the message of one that happened to somebody. */
export const crashes: PersonalDataPlace = {
  name: 'crashes',
  columns: ['title'],
  otherColumns: ['entity_id', 'app_id', 'id', 'identifier', 'fingerprint', 'first_seen_at', 'last_seen_at', 'occurrences'],
  foundBy: 'the id in a title',
  count: ({ db }, entityId, people) => countRows(db, CRASHES_NAMING, namesOf(entityId, people)),
  async* export({ db }, entityId, people) {
    const { rows } = await db.query(`SELECT identifier, title FROM ${CRASHES_NAMING} ORDER BY id`, namesOf(entityId, people));
    yield* rows;
  },
  erase: ({ db }, entityId, people) => inBatches(db,
    `UPDATE crashes SET title = '${ERASED}' WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${CRASHES_NAMING} LIMIT ${BATCH}))`,
    namesOf(entityId, people)),
};
