import { inBatches } from '../../core/in-batches.ts';
import { customerKeys } from '../people-keys.ts';
import { BATCH, countRows, type PersonalDataLocation } from '../personal-data-location.ts';

/** By gdpr_left_identifiers_by_value. */
const LEFT = `gdpr_left_identifiers l JOIN gdpr_requests r ON r.entity_id = $1 AND r.id = l.request_id
  WHERE l.entity_id = $1 AND (l.value, l.kind) IN (SELECT * FROM unnest($2::text[], $3::text[]))`;

/** Others' ids to which theirs led, which are always users'. By gdpr_left_identifiers_by_via. */
const LED_TO = `gdpr_left_identifiers l JOIN gdpr_requests r ON r.entity_id = $1 AND r.id = l.request_id
  WHERE l.entity_id = $1 AND (l.via, 'user_id') IN (SELECT * FROM unnest($2::text[], $3::text[]))`;

/** Ids that are linked to people of requests, and were left alone: they may be others'. */
export const gdprLeftIdentifiers: PersonalDataLocation = {
  name: 'gdpr_left_identifiers',
  columns: ['kind', 'value', 'via'],
  otherColumns: ['entity_id', 'request_id', 'ordinal', 'reason'],
  holds: 'ids [linked to a person](gdpr.md#whose-word-links-ids) of a request that Millrace left alone, and the id '
    + 'that led to each',
  foundBy: 'kind and value; the id that led there',
  erasedBy: 'deleting the rows, and emptying the id that led to another person\'s; the rows also go with the request',
  async count({ db }, entityId, people) {
    const ids = customerKeys(entityId, people);
    return await countRows(db, LEFT, ids) + await countRows(db, LED_TO, ids);
  },
  async* export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT r.identifier, l.kind, l.value, l.reason FROM ${LEFT} ORDER BY r.id, l.kind, l.value`, customerKeys(entityId, people));
    yield* rows;
  },
  async erase({ db, tally }, entityId, people) {
    const ids = customerKeys(entityId, people);
    const deleted = await inBatches(db,
      `DELETE FROM gdpr_left_identifiers WHERE ctid = ANY (ARRAY(SELECT l.ctid FROM ${LEFT} LIMIT ${BATCH}))`, ids, tally);
    return deleted + await inBatches(db,
      `UPDATE gdpr_left_identifiers SET via = NULL WHERE ctid = ANY (ARRAY(SELECT l.ctid FROM ${LED_TO} LIMIT ${BATCH}))`, ids, tally);
  },
};
