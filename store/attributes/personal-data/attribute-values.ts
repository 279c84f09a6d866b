import { inBatches } from '../../core/in-batches.ts';
import { peopleAndDeviceKeys } from '../../gdpr/people-keys.ts';
import { BATCH, countRows, type PersonalDataLocation } from '../../gdpr/personal-data-location.ts';

/**
 * Each SoR of the entity and each person: one range of the primary key a pair. A device that asks for itself ($4) has
 * sent nothing to a custom SoR.
 */
const VALUES_OF_PEOPLE = `WHERE v.entity_id = $1
  AND v.sor_id IN (SELECT id FROM systems_of_records WHERE entity_id = $1)
  AND (v.customer_id, v.customer_type) IN (SELECT * FROM unnest($2::text[], $3::smallint[]))
  AND (v.customer_type = 0 OR v.customer_id <> ALL ($4::text[])
    OR v.sor_id IN (SELECT id FROM systems_of_records WHERE entity_id = $1 AND type <> 'custom'))`;

export const attributeValues: PersonalDataLocation = {
  name: 'attribute_values',
  columns: [
    'customer_id',
    'customer_type',
    'string_value',
    'number_value',
    'boolean_value',
    'date_value',
    'datetime_value',
    'set_elements',
    'set_times',
    'changed_at',
    'removed_at',
  ],
  otherColumns: ['entity_id', 'sor_id', 'attribute_id', 'said_at'],
  holds: 'the values, and when they changed',
  foundBy:
    'customer type and id, in each System of Records; if [the device itself](gdpr.md#from-a-device) makes the ' +
    'request, in those of apps and the global one',
  erasedBy: 'deleting the rows',
  count: ({ db }, entityId, people) =>
    countRows(db, `attribute_values v ${VALUES_OF_PEOPLE}`, peopleAndDeviceKeys(entityId, people)),
  async *export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT s.identifier AS system_of_record, s.name AS system_of_record_name, a.key, a.value_type, v.customer_id, v.string_value,
              v.number_value, v.boolean_value, v.date_value, v.datetime_value, v.set_elements, v.set_times, v.changed_at, v.removed_at
       FROM attribute_values v
       JOIN systems_of_records s ON s.entity_id = v.entity_id AND s.id = v.sor_id
       JOIN customer_attributes a ON a.entity_id = v.entity_id AND a.id = v.attribute_id
       ${VALUES_OF_PEOPLE}`,
      peopleAndDeviceKeys(entityId, people),
    );
    yield* rows;
  },
  erase: ({ db, tally }, entityId, people) =>
    inBatches(
      db,
      `DELETE FROM attribute_values WHERE ctid = ANY (ARRAY(
       SELECT v.ctid FROM attribute_values v ${VALUES_OF_PEOPLE} LIMIT ${BATCH}))`,
      peopleAndDeviceKeys(entityId, people),
      tally,
    ),
};
