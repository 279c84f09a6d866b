import { ERASED, namedIn, namesOf } from './named-in.ts';
import { BATCH, countRows, type PersonalDataPlace } from './place.ts';
import { inBatches } from '../in-batches.ts';

const CALLS_NAMING = `refused_calls WHERE entity_id = $1 AND (${['raw', 'message', 'message_id'].map(namedIn).join(' OR ')})`;

export const refusedCalls: PersonalDataPlace = {
  name: 'refused_calls',
  columns: ['message_id', 'message_hash', 'message', 'raw', 'customer_hash'],
  otherColumns: ['entity_id', 'id', 'received_at', 'app_id', 'index', 'code'],
  foundBy: 'the id in the call, or in what is told of it, through the 30 days that these are kept',
  count: ({ db }, entityId, people) => countRows(db, CALLS_NAMING, namesOf(entityId, people)),
  async* export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT received_at, app_id, message_id, code, message, raw FROM ${CALLS_NAMING} ORDER BY received_at, id`,
      namesOf(entityId, people));
    yield* rows;
  },
  // The rows stay, since counts rest on them.
  async erase({ db, secrets }, entityId, people) {
    let erased = 0;
    for (const person of people) {
      erased += await inBatches(db,
        `UPDATE refused_calls SET raw = NULL, message = '${ERASED}', customer_hash = $4,
           message_id = CASE WHEN ${namedIn('message_id')} THEN NULL ELSE message_id END,
           message_hash = CASE WHEN ${namedIn('message_id')} THEN NULL ELSE message_hash END
         WHERE entity_id = $1 AND ctid = ANY (ARRAY(SELECT ctid FROM ${CALLS_NAMING} LIMIT ${BATCH}))`,
        [...namesOf(entityId, [person]), secrets.customerHash(entityId, person.customerType, person.customerId)]);
    }
    return erased;
  },
};
