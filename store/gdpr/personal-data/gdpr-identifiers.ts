import { inBatches } from '../../core/in-batches.ts';
import { idsOfType } from '../people-keys.ts';
import { BATCH, countRows, type KnownBy, type PersonalDataLocation } from '../personal-data-location.ts';

/**
 * Rows that are theirs to erase: of access requests, and of people whose deletion has not begun. The people of a deletion that has begun
 * are found by their rows until it ends.
 */
const ERASABLE = `(r.request_type = 'access' OR i.origin <> 'asked' AND EXISTS (
    SELECT FROM gdpr_request_people p
    WHERE p.entity_id = $1 AND p.request_id = i.request_id AND p.ordinal = i.ordinal AND p.round IS NULL))`;

/** What requests under way have gathered. By the primary key. */
const GATHERED = `gdpr_requests r CROSS JOIN LATERAL (
    SELECT i.ctid, i.kind, i.value, i.origin FROM gdpr_identifiers i
    WHERE i.entity_id = $1 AND i.request_id = r.id AND (i.kind, i.value) IN (SELECT * FROM unnest($2::text[], $3::text[]))
      AND ${ERASABLE}) AS g
  WHERE r.entity_id = $1`;

/** Others' ids to which theirs led: a user's to users and devices, a device's to push tokens. By gdpr_identifiers_by_via. */
const LED_TO = `gdpr_identifiers i JOIN gdpr_requests r ON r.entity_id = $1 AND r.id = i.request_id
  WHERE i.entity_id = $1 AND (i.via, CASE i.kind WHEN 'push_token' THEN 'device_id' ELSE 'user_id' END)
    IN (SELECT * FROM unnest($3::text[], $2::text[])) AND ${ERASABLE}`;

/** A device that somebody has alone may have asked for itself, too. */
function kindsAndValues(entityId: number, people: KnownBy[]): unknown[] {
  const devices = idsOfType(people, 'device_id');
  return [entityId, [...people.map(({ customerType }) => customerType), ...devices.map(() => 'whole_device')],
    [...people.map(({ customerId }) => customerId), ...devices]];
}

export const gdprIdentifiers: PersonalDataLocation = {
  name: 'gdpr_identifiers',
  columns: ['kind', 'value', 'origin', 'via'],
  otherColumns: ['entity_id', 'request_id', 'ordinal', 'raised'],
  holds: 'the ids of the people of a running request, and the id that led to each',
  foundBy: 'kind and value; the id that led there',
  erasedBy: 'deleting the rows, and emptying the id that led to another person\'s; a deletion that has begun keeps '
    + 'its rows until its end',
  async count({ db }, entityId, people) {
    const ids = kindsAndValues(entityId, people);
    return await countRows(db, GATHERED, ids) + await countRows(db, LED_TO, ids);
  },
  async* export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT r.identifier, g.kind, g.value, g.origin FROM ${GATHERED} ORDER BY r.id, g.kind, g.value`, kindsAndValues(entityId, people));
    yield* rows;
  },
  async erase({ db, tally }, entityId, people) {
    const ids = kindsAndValues(entityId, people);
    const deleted = await inBatches(db,
      `DELETE FROM gdpr_identifiers WHERE ctid = ANY (ARRAY(SELECT g.ctid FROM ${GATHERED} LIMIT ${BATCH}))`, ids, tally);
    return deleted + await inBatches(db,
      `UPDATE gdpr_identifiers SET via = NULL WHERE ctid = ANY (ARRAY(SELECT i.ctid FROM ${LED_TO} LIMIT ${BATCH}))`, ids, tally);
  },
};
