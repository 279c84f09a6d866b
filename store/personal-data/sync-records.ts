import { namedIn, namesOf } from './named-in.ts';
import { BATCH, countRows, type PersonalDataPlace } from './place.ts';
import { inBatches } from '../in-batches.ts';
import type { Person } from '../tombstones.ts';

/**
 * Where the destination is attributes the key is the customer's id: one look by the primary key for each sync and person.
 * Of other destinations those that name the customer are in an index; the keys, in which the id may stand under another
 * name, are gone through.
 */
const FOUND = `
  SELECT r.ctid FROM unnest($4::text[], $5::text[]) AS p (customer_id, customer_type)
  JOIN syncs s ON s.entity_id = $1 AND s.sor_id IS NOT NULL AND s.mapping -> 'customer' ->> 'type' = p.customer_type
  CROSS JOIN LATERAL (SELECT ctid FROM sync_records WHERE entity_id = $1 AND sync_id = s.id AND key = p.customer_id OFFSET 0) r
  UNION
  SELECT r.ctid FROM unnest($4::text[], $5::text[]) AS p (customer_id, customer_type)
  CROSS JOIN LATERAL (SELECT ctid, sync_id FROM sync_records WHERE entity_id = $1 AND customer_id = p.customer_id OFFSET 0) r
  JOIN syncs s ON s.entity_id = $1 AND s.id = r.sync_id
    AND coalesce(s.mapping -> 'customer' ->> 'type', p.customer_type) = p.customer_type
  UNION
  SELECT r.ctid FROM syncs s JOIN sync_records r ON r.entity_id = $1 AND r.sync_id = s.id
  WHERE s.entity_id = $1 AND s.destination_id IS NOT NULL AND ${namedIn('r.key')}`;

const RECORDS_OF_PEOPLE = `sync_records k WHERE k.ctid = ANY (ARRAY(${FOUND}))`;

function recordKeys(entityId: number, people: Person[]): unknown[] {
  return [...namesOf(entityId, people), people.map(({ customerId }) => customerId), people.map(({ customerType }) => customerType)];
}

export const syncRecords: PersonalDataPlace = {
  name: 'sync_records',
  columns: ['key', 'customer_id', 'checksum'],
  otherColumns: ['entity_id', 'sync_id', 'run_id', 'seen_by'],
  foundBy: 'key, where it is the customer\'s id; customer_id; the id in the keys of other destinations',
  count: ({ db }, entityId, people) => countRows(db, RECORDS_OF_PEOPLE, recordKeys(entityId, people)),
  async* export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT (SELECT identifier FROM syncs s WHERE s.entity_id = k.entity_id AND s.id = k.sync_id) AS sync, k.key, k.customer_id
       FROM ${RECORDS_OF_PEOPLE}`, recordKeys(entityId, people));
    yield* rows;
  },
  // Should the source still have the record, it counts as new: of an erased person it is refused then.
  erase: ({ db }, entityId, people) => inBatches(db,
    `DELETE FROM sync_records WHERE ctid = ANY (ARRAY(SELECT ctid FROM (${FOUND}) found LIMIT ${BATCH}))`, recordKeys(entityId, people)),
};
