/** Locations of personal data in attributes: values, the log of their changes, customers. */
import type { Database } from '../core/database.ts';
import type { Tally } from '../core/in-batches.ts';
import { idsOfType, peopleKeys } from '../gdpr/people-keys.ts';
import { type KnownBy, type PersonalDataLocation, withColumns } from '../gdpr/personal-data-location.ts';
import { OF_CUSTOMERS, rowsOfCustomers } from '../gdpr/rows-of-people.ts';
import { changeRange, entryRanges, IN_RANGE } from './attribute-change-log.ts';

const customersAndDevices = (entityId: number, people: readonly KnownBy[]) => [
  ...peopleKeys(entityId, people),
  idsOfType(people, 'whole_device'),
];

const attributeValues = rowsOfCustomers({
  name: 'attribute_values',
  columns: `customer_id, customer_type, string_value, number_value, boolean_value, date_value, datetime_value,
    set_elements, set_times, changed_at, removed_at`,
  otherColumns: 'entity_id, sor_id, attribute_id, said_at',
  holds: 'the values, and when they changed',
  foundBy:
    'customer type and id, in each System of Records; if [the device itself](gdpr.md#from-a-device) makes the ' +
    'request, in those of apps and the global one',
  erasedBy: 'deleting the rows',
  keptFor: 'until the value is removed or replaced, or its attribute or System of Records is deleted',
  // Reads a key range for each SoR and person. A device's own request ($4) has no values in custom SoRs.
  where: `r.sor_id IN (SELECT id FROM systems_of_records WHERE entity_id = $1) AND ${OF_CUSTOMERS}
    AND (r.customer_type = 0 OR r.customer_id <> ALL ($4::text[])
      OR r.sor_id IN (SELECT id FROM systems_of_records WHERE entity_id = $1 AND type <> 'custom'))`,
  parameters: customersAndDevices,
  shown: `s.identifier AS system_of_record, s.name AS system_of_record_name, a.key, a.value_type, customer_id,
    string_value, number_value, boolean_value, date_value, datetime_value, set_elements, set_times, changed_at,
    removed_at`,
  joins: `JOIN systems_of_records s ON s.entity_id = r.entity_id AND s.id = r.sor_id
    JOIN customer_attributes a ON a.entity_id = r.entity_id AND a.id = r.attribute_id`,
});

type PeopleByType = [users: string[], devices: string[], wholeDevices: string[]];

const idsByType = (people: KnownBy[]): PeopleByType => [
  idsOfType(people, 'user_id'),
  idsOfType(people, 'device_id'),
  idsOfType(people, 'whole_device'),
];

/** Tests a row for people; $8: a device's own request, which has no values in custom Systems of Records. */
const IS_ONE_OF_THEM = `CASE customer_type WHEN 0 THEN u.customer_id = ANY ($6::text[])
  ELSE u.customer_id = ANY ($7::text[]) AND (u.customer_id <> ALL ($8::text[]) OR sor_id IN (
    SELECT s.id FROM systems_of_records s WHERE s.entity_id = $1 AND s.type <> 'custom')) END`;
const TELLS_OF_THEM = `EXISTS (SELECT FROM unnest(customer_ids) AS u (customer_id) WHERE ${IS_ONE_OF_THEM})`;

async function countLogged(db: Database, entityId: number, people: PeopleByType): Promise<number> {
  let total = 0;
  for await (const range of entryRanges(db, entityId)) {
    const { rows } = await db.query<{ count: number }>(
      `SELECT count(*) FROM attribute_change_log WHERE ${IN_RANGE} AND ${TELLS_OF_THEM}`,
      [...range, ...people],
    );
    total += rows[0]!.count;
  }
  return total;
}

/** Yields the times of changes of these people, one an entry and person, oldest first. */
async function* listLogged(
  db: Database,
  entityId: number,
  people: PeopleByType,
): AsyncGenerator<Record<string, unknown>> {
  for await (const range of entryRanges(db, entityId)) {
    const { rows } = await db.query(
      `SELECT l.received_at, t.customer_id FROM attribute_change_log l CROSS JOIN LATERAL (
         SELECT DISTINCT u.customer_id FROM unnest(customer_ids) AS u (customer_id) WHERE ${IS_ONE_OF_THEM}) AS t
       WHERE ${IN_RANGE} ORDER BY l.received_at, l.id`,
      [...range, ...people],
    );
    yield* rows;
  }
}

/** Removes people from all entries in short transactions; NULL stays, since a running scan counts ordinals. */
async function eraseFromChangeLog(
  db: Database,
  entityId: number,
  people: PeopleByType,
  tally?: Tally,
): Promise<number> {
  let total = 0;
  for await (const range of entryRanges(db, entityId)) {
    total += await changeRange(
      db,
      `UPDATE attribute_change_log SET customer_ids = ARRAY(
         SELECT CASE WHEN ${IS_ONE_OF_THEM} THEN NULL ELSE u.customer_id END
         FROM unnest(customer_ids) WITH ORDINALITY AS u (customer_id, ordinal) ORDER BY u.ordinal)
       WHERE ${IN_RANGE} AND ${TELLS_OF_THEM}`,
      [...range, ...people],
      tally,
    );
  }
  return total;
}

const attributeChangeLog: PersonalDataLocation = {
  ...withColumns({
    name: 'attribute_change_log',
    columns: 'customer_type, customer_ids, received_at, committed_at',
    otherColumns: 'entity_id, id, sor_id, pending',
    holds: 'whose values changed and when',
    foundBy: 'customer type and id, through all entries of the entity',
    erasedBy: 'replacing the ids with NULL',
    keptFor: '40 days',
  }),
  count: ({ db }, entityId, people) => countLogged(db, entityId, idsByType(people)),
  export: ({ db }, entityId, people) => listLogged(db, entityId, idsByType(people)),
  erase: ({ db, tally }, entityId, people) => eraseFromChangeLog(db, entityId, idsByType(people), tally),
};

const customers = rowsOfCustomers({
  name: 'customers',
  columns: 'customer_id, customer_type',
  otherColumns: 'entity_id',
  holds: 'the fact that a customer has values',
  foundBy: 'customer type and id',
  erasedBy: 'deleting the rows',
  keptFor: 'as long as the customer has values',
  // A device that makes its own request ($4) stays a customer while a custom SoR has values of it.
  where: `${OF_CUSTOMERS} AND (r.customer_type = 0 OR r.customer_id <> ALL ($4::text[]) OR NOT EXISTS (
    SELECT FROM systems_of_records s JOIN attribute_values v
      ON v.entity_id = $1 AND v.sor_id = s.id AND v.customer_id = r.customer_id AND v.customer_type = 1
    WHERE s.entity_id = $1 AND s.type = 'custom'))`,
  parameters: customersAndDevices,
  shown: 'customer_id, customer_type',
});

export const attributesData: PersonalDataLocation[] = [attributeValues, attributeChangeLog, customers];
