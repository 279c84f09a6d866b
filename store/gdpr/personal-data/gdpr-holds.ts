import { inBatches } from '../../core/in-batches.ts';
import { customerKeys } from '../people-keys.ts';
import { BATCH, countRows, type PersonalDataLocation } from '../personal-data-location.ts';

const HOLDS_OF_THEM = `gdpr_holds h WHERE h.entity_id = $1
  AND (h.customer_id, h.customer_type) IN (SELECT * FROM unnest($2::text[], $3::text[]))`;

/**
 * Nobody is erased while a hold stands; one that comes when somebody is being erased comes too late, and goes with
 * them.
 */
export const gdprHolds: PersonalDataLocation = {
  name: 'gdpr_holds',
  columns: ['customer_type', 'customer_id', 'kind', 'reason', 'created_at'],
  otherColumns: ['entity_id', 'id', 'identifier', 'created_by'],
  holds: 'the fact that a person must not be erased, and why',
  foundBy: 'customer type and id',
  erasedBy:
    'deleting the row, which can only be a hold that came too late; if the reason of a hold on somebody else names the ' +
    'person, the receipt lists that hold in `kept_values`',
  count: ({ db }, entityId, people) => countRows(db, HOLDS_OF_THEM, customerKeys(entityId, people)),
  async *export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT identifier, customer_type, customer_id, kind, reason, created_at FROM ${HOLDS_OF_THEM} ORDER BY id`,
      customerKeys(entityId, people),
    );
    yield* rows;
  },
  erase: ({ db, tally }, entityId, people) =>
    inBatches(
      db,
      `DELETE FROM gdpr_holds WHERE ctid = ANY (ARRAY(SELECT h.ctid FROM ${HOLDS_OF_THEM} LIMIT ${BATCH}))`,
      customerKeys(entityId, people),
      tally,
    ),
};
