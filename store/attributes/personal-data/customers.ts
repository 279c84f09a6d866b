import { inBatches } from '../../core/in-batches.ts';
import { peopleAndDeviceKeys } from '../../gdpr/people-keys.ts';
import { BATCH, countRows, type PersonalDataLocation } from '../../gdpr/personal-data-location.ts';

/** A device that asks for itself ($4) stays a customer as long as a custom SoR has values of it. */
const CUSTOMERS_AMONG = `WHERE c.entity_id = $1
  AND (c.customer_id, c.customer_type) IN (SELECT * FROM unnest($2::text[], $3::smallint[]))
  AND (c.customer_type = 0 OR c.customer_id <> ALL ($4::text[]) OR NOT EXISTS (
    SELECT FROM systems_of_records s JOIN attribute_values v
      ON v.entity_id = $1 AND v.sor_id = s.id AND v.customer_id = c.customer_id AND v.customer_type = 1
    WHERE s.entity_id = $1 AND s.type = 'custom'))`;

export const customers: PersonalDataLocation = {
  name: 'customers',
  after: ['attribute_change_log'],
  columns: ['customer_id', 'customer_type'],
  otherColumns: ['entity_id'],
  holds: 'the fact that a customer has values',
  foundBy: 'customer type and id',
  erasedBy: 'deleting the rows',
  count: ({ db }, entityId, people) =>
    countRows(db, `customers c ${CUSTOMERS_AMONG}`, peopleAndDeviceKeys(entityId, people)),
  async *export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT c.customer_id, c.customer_type FROM customers c ${CUSTOMERS_AMONG}`,
      peopleAndDeviceKeys(entityId, people),
    );
    yield* rows;
  },
  erase: ({ db, tally }, entityId, people) =>
    inBatches(
      db,
      `DELETE FROM customers WHERE ctid = ANY (ARRAY(SELECT c.ctid FROM customers c ${CUSTOMERS_AMONG} LIMIT ${BATCH}))`,
      peopleAndDeviceKeys(entityId, people),
      tally,
    ),
};
