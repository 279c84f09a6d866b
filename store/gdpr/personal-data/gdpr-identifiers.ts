import { idsOfType } from '../people-keys.ts';
import type { KnownBy, PersonalDataLocation } from '../personal-data-location.ts';
import { countIds, eraseIds } from './ids-that-led-on.ts';

/**
 * Rows that are theirs to erase: of access requests, and of people whose deletion has not begun. The people of a
 * deletion that has begun are found by their rows until it ends.
 */
const ERASABLE = `(r.request_type = 'access' OR i.origin <> 'asked' AND EXISTS (
    SELECT FROM gdpr_request_people p
    WHERE p.entity_id = $1 AND p.request_id = i.request_id AND p.ordinal = i.ordinal AND p.round IS NULL))`;

/** What requests under way have gathered. By the primary key. */
const GATHERED = `gdpr_requests r CROSS JOIN LATERAL (
    SELECT i.ctid, i.kind, i.value, i.origin FROM gdpr_identifiers i
    WHERE i.entity_id = $1 AND i.request_id = r.id AND (i.kind, i.value) IN (SELECT * FROM unnest($2::text[], $3::text[]))
      AND ${ERASABLE}) AS i
  WHERE r.entity_id = $1`;

/**
 * Others' ids to which theirs led: a user's to users and devices, a device's to push tokens. By
 * gdpr_identifiers_by_via.
 */
const LED_TO = `gdpr_identifiers i JOIN gdpr_requests r ON r.entity_id = $1 AND r.id = i.request_id
  WHERE i.entity_id = $1 AND (i.via, CASE i.kind WHEN 'push_token' THEN 'device_id' ELSE 'user_id' END)
    IN (SELECT * FROM unnest($3::text[], $2::text[])) AND ${ERASABLE}`;

const IDS = { table: 'gdpr_identifiers', own: GATHERED, ledTo: LED_TO };

/** A device that somebody has alone may have asked for itself, too. */
function kindsAndValues(entityId: number, people: KnownBy[]): unknown[] {
  const devices = idsOfType(people, 'device_id');
  return [
    entityId,
    [...people.map(({ customerType }) => customerType), ...devices.map(() => 'whole_device')],
    [...people.map(({ customerId }) => customerId), ...devices],
  ];
}

export const gdprIdentifiers: PersonalDataLocation = {
  name: 'gdpr_identifiers',
  columns: ['kind', 'value', 'origin', 'via'],
  otherColumns: ['entity_id', 'request_id', 'ordinal', 'raised'],
  holds: 'the ids of the people of a running request, and the id that led to each',
  foundBy: 'kind and value; the id that led there',
  erasedBy:
    "deleting the rows, and emptying the id that led to another person's; a deletion that has begun keeps " +
    'its rows until its end',
  count: ({ db }, entityId, people) => countIds(db, IDS, kindsAndValues(entityId, people)),
  async *export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT r.identifier, i.kind, i.value, i.origin FROM ${GATHERED} ORDER BY r.id, i.kind, i.value`,
      kindsAndValues(entityId, people),
    );
    yield* rows;
  },
  erase: (deps, entityId, people) => eraseIds(deps, IDS, kindsAndValues(entityId, people)),
};
