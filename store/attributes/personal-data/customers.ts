import { inBatches } from '../../core/in-batches.ts';
import { peopleKeys } from '../../gdpr/people-keys.ts';
import { BATCH, countRows, type PersonalDataLocation } from '../../gdpr/personal-data-location.ts';

const CUSTOMERS_AMONG = `WHERE c.entity_id = $1
  AND (c.customer_id, c.customer_type) IN (SELECT * FROM unnest($2::text[], $3::smallint[]))`;

export const customers: PersonalDataLocation = {
  name: 'customers',
  after: ['attribute_change_log'],
  columns: ['customer_id', 'customer_type'],
  otherColumns: ['entity_id'],
  holds: 'the fact that a customer has values',
  foundBy: 'customer type and id',
  erasedBy: 'deleting the rows',
  count: ({ db }, entityId, people) => countRows(db, `customers c ${CUSTOMERS_AMONG}`, peopleKeys(entityId, people)),
  async* export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT c.customer_id, c.customer_type FROM customers c ${CUSTOMERS_AMONG}`, peopleKeys(entityId, people));
    yield* rows;
  },
  erase: ({ db, tally }, entityId, people) => inBatches(db,
    `DELETE FROM customers WHERE ctid = ANY (ARRAY(SELECT c.ctid FROM customers c ${CUSTOMERS_AMONG} LIMIT ${BATCH}))`,
    peopleKeys(entityId, people), tally),
};
