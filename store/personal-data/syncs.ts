import { ERASED, namedIn, namesOf } from './named-in.ts';
import { BATCH, countRows, type PersonalDataPlace } from './place.ts';
import { inBatches } from '../in-batches.ts';

const SYNCS_NAMING = `syncs WHERE entity_id = $1 AND (${namedIn('cursor')} OR ${namedIn('paused_reason')})`;

export const syncs: PersonalDataPlace = {
  name: 'syncs',
  columns: ['cursor', 'paused_reason'],
  otherColumns: ['entity_id', 'id', 'identifier', 'name', 'connection_id', 'stream', 'sor_id', 'destination_id', 'destination_stream',
    'destination_key', 'mapping', 'mode', 'cursor_field', 'removes', 'removal_limit', 'schedule', 'schema_rule', 'alerts', 'revision',
    'known_fields', 'read_fields', 'failures', 'paused_at', 'scheduled_until', 'created_by', 'created_at', 'updated_at', 'deleted_at'],
  foundBy: 'the id in the cursor, or in what the sync was paused for',
  count: ({ db }, entityId, people) => countRows(db, SYNCS_NAMING, namesOf(entityId, people)),
  async* export({ db }, entityId, people) {
    const { rows } = await db.query(`SELECT identifier AS sync, cursor, paused_reason FROM ${SYNCS_NAMING}`, namesOf(entityId, people));
    yield* rows;
  },
  // Without a cursor the next reading begins at the beginning: what is known and unchanged is not written again.
  erase: ({ db }, entityId, people) => inBatches(db,
    `UPDATE syncs SET cursor = CASE WHEN ${namedIn('cursor')} THEN NULL ELSE cursor END,
       paused_reason = CASE WHEN ${namedIn('paused_reason')} THEN '${ERASED}' ELSE paused_reason END
     WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${SYNCS_NAMING} LIMIT ${BATCH}))`, namesOf(entityId, people)),
};
