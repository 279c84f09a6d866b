import { inBatches } from '../../core/in-batches.ts';
import { customerKeys } from '../people-keys.ts';
import { BATCH, countRows, type PersonalDataLocation } from '../personal-data-location.ts';

/** By gdpr_left_identifiers_by_value. What led there goes with the request's own people. */
const LEFT = `gdpr_left_identifiers l JOIN gdpr_requests r ON r.entity_id = $1 AND r.id = l.request_id
  WHERE l.entity_id = $1 AND (l.value, l.kind) IN (SELECT * FROM unnest($2::text[], $3::text[]))`;

/** Ids that are linked to people of requests, and were left alone: they may be others'. */
export const gdprLeftIdentifiers: PersonalDataLocation = {
  name: 'gdpr_left_identifiers',
  columns: ['kind', 'value', 'via'],
  otherColumns: ['entity_id', 'request_id', 'ordinal', 'reason'],
  foundBy: 'kind and value, in requests whose week is not over',
  count: ({ db }, entityId, people) => countRows(db, LEFT, customerKeys(entityId, people)),
  async* export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT r.identifier, l.kind, l.value, l.reason FROM ${LEFT} ORDER BY r.id, l.kind, l.value`, customerKeys(entityId, people));
    yield* rows;
  },
  erase: ({ db, tally }, entityId, people) => inBatches(db,
    `DELETE FROM gdpr_left_identifiers WHERE ctid = ANY (ARRAY(SELECT l.ctid FROM ${LEFT} LIMIT ${BATCH}))`,
    customerKeys(entityId, people), tally),
};
