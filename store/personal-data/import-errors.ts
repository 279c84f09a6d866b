import { ERASED, namedIn, namesOf } from './named-in.ts';
import { BATCH, countRows, type PersonalDataPlace } from './place.ts';
import { inBatches } from '../in-batches.ts';
import type { Person } from '../tombstones.ts';

/** By customer_id; where nobody could read that out of the record, by the id's standing in it, or in what is told of it. */
const ERRORS_NAMING = `entity_id = $1 AND (customer_id = ANY ($4::text[])
  OR customer_id IS NULL AND (${namedIn('raw')} OR ${namedIn('message')}))`;

function errorKeys(entityId: number, people: Person[]): unknown[] {
  return [...namesOf(entityId, people), people.map(({ customerId }) => customerId)];
}

export const importErrors: PersonalDataPlace = {
  name: 'import_errors',
  columns: ['customer_id', 'attribute_key', 'message', 'raw', 'customer_hash'],
  otherColumns: ['entity_id', 'import_id', 'line', 'error_type', 'outcome', 'happened_at', 'stage', 'redriven_by', 'original_line'],
  foundBy: 'customer_id, and the record and message of any error of which nobody could tell it',
  count: ({ db }, entityId, people) => countRows(db, `import_errors WHERE ${ERRORS_NAMING}`, errorKeys(entityId, people)),
  async* export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT line, error_type, happened_at, message, customer_id, attribute_key, raw FROM import_errors
       WHERE ${ERRORS_NAMING}`, errorKeys(entityId, people));
    yield* rows;
  },
  // The rows stay, since the import's counts rest on them; what they tell of the person goes.
  async erase({ db, secrets }, entityId, people) {
    let erased = 0;
    for (const person of people) {
      erased += await inBatches(db,
        `UPDATE import_errors SET customer_id = NULL, raw = NULL, attribute_key = NULL, message = '${ERASED}', customer_hash = $5
         WHERE ctid = ANY (ARRAY(SELECT ctid FROM import_errors WHERE ${ERRORS_NAMING} LIMIT ${BATCH}))`,
        [...errorKeys(entityId, [person]), secrets.customerHash(entityId, person.customerType, person.customerId)]);
    }
    return erased;
  },
};
