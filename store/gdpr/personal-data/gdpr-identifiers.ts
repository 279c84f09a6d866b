import { inBatches } from '../../core/in-batches.ts';
import { idsOfType } from '../people-keys.ts';
import { BATCH, countRows, type KnownBy, type PersonalDataLocation } from '../personal-data-location.ts';

/** What was gathered for requests for access; that of a request for deletion goes with its end. */
const GATHERED = `gdpr_requests r CROSS JOIN LATERAL (
    SELECT i.ctid, i.kind, i.value, i.origin FROM gdpr_identifiers i
    WHERE i.entity_id = $1 AND i.request_id = r.id AND (i.kind, i.value) IN (SELECT * FROM unnest($2::text[], $3::text[]))) AS g
  WHERE r.entity_id = $1 AND r.request_type = 'access'`;

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
  foundBy: 'kind and value, in requests for access under way',
  count: ({ db }, entityId, people) => countRows(db, GATHERED, kindsAndValues(entityId, people)),
  async* export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT r.identifier, g.kind, g.value, g.origin FROM ${GATHERED} ORDER BY r.id, g.kind, g.value`, kindsAndValues(entityId, people));
    yield* rows;
  },
  erase: ({ db, tally }, entityId, people) => inBatches(db,
    `DELETE FROM gdpr_identifiers WHERE ctid = ANY (ARRAY(SELECT g.ctid FROM ${GATHERED} LIMIT ${BATCH}))`,
    kindsAndValues(entityId, people), tally),
};
