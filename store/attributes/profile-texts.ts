/** Values of people's profiles as the texts of messages show them. */

import type { ValueType } from '../../domain/attributes/attribute-value.ts';
import { MAX_MESSAGE_BYTES, readProfileName } from '../../domain/campaigns/placeholders.ts';
import type { NameableSor } from '../../domain/campaigns/profile-values.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { isoUtc } from '../core/iso-time.ts';
import type { Secrets } from '../core/secrets.ts';
import { findErased, type Person, personKey } from '../gdpr/tombstones.ts';
import { CUSTOMER_TYPE_CODE } from './attribute-values.ts';
import { listCustomerAttributesOf } from './customer-attributes.ts';
import { listSors } from './systems-of-records.ts';

export type NamedAttribute = Row<'customer_attributes', 'id' | 'sorId' | 'key' | 'isSensitive'> & {
  /** The placeholder, such as `sor:sor_x.first_name`. */
  name: string;
  sor: string;
  valueType: ValueType;
};

/** Finds the attributes of placeholders. A name whose SoR or attribute is gone or disabled has none, and no value. */
export async function findNamedAttributes(
  db: Queryable,
  entityId: number,
  names: readonly string[],
): Promise<NamedAttribute[]> {
  const read = names.flatMap((name) => {
    const named = readProfileName(name);
    return named === null ? [] : [{ name, ...named }];
  });
  return readRows<NamedAttribute>(
    await db.query(
      `SELECT n.name, s.identifier AS sor, a.id, a.sor_id, a.key, a.is_sensitive, a.value_type
     FROM unnest($2::text[], $3::text[], $4::text[]) AS n (name, sor, key)
     JOIN systems_of_records s ON s.entity_id = $1 AND s.identifier = n.sor AND s.deleted_at IS NULL AND NOT s.disabled
     JOIN customer_attributes a ON a.entity_id = $1 AND a.sor_id = s.id AND a.key = n.key AND a.deleted_at IS NULL
       AND NOT a.disabled
     ORDER BY n.name`,
      [entityId, read.map(({ name }) => name), read.map(({ sor }) => sor), read.map(({ key }) => key)],
    ),
  );
}

/** Lists the entity's SoRs with the attributes that drafts may name. */
export async function listNameableSors(db: Queryable, entityId: number): Promise<NameableSor[]> {
  const sors = await listSors(db, entityId, ['app', 'custom', 'global']);
  const attributes = await listCustomerAttributesOf(
    db,
    entityId,
    sors.map(({ id }) => id),
  );
  const bySor = Map.groupBy(attributes, ({ sorId }) => sorId);
  return sors.map(({ id, identifier, name, disabled }) => ({
    identifier,
    name,
    disabled,
    attributes: bySor.get(id) ?? [],
  }));
}

/** Returns the person whose profile fills a message to a device: its user, or the device without one. */
export const profileOwner = (userId: string | null, deviceId: string): Person =>
  userId === null
    ? { customerType: 'device_id', customerId: deviceId }
    : { customerType: 'user_id', customerId: userId };

/** Number of characters of values that are in memory at once. */
const MAX_CHARS = 16 * 1024 ** 2;
const SCALAR_CHARS = 256;

/** Returns for how many people these values may be read at once: a Set may be a hundred times as long as others. */
export function peopleAtOnce(attributes: readonly NamedAttribute[]): number {
  const chars = attributes.reduce(
    (sum, { valueType }) => sum + (valueType === 'Set' ? MAX_MESSAGE_BYTES : SCALAR_CHARS),
    0,
  );
  return Math.max(1, Math.floor(MAX_CHARS / Math.max(chars, 1)));
}

/**
 * Returns people's values as texts, by `personKey` and the name of the placeholder: a number with its digits, `true` or
 * `false`, a day as YYYY-MM-DD, a moment as ISO 8601 in UTC, a Set's elements with commas between. An erased person has
 * none. One query reads a range of the primary key of attribute_values for each person and SoR.
 */
export async function listProfileTexts(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  people: readonly Person[],
  attributes: readonly NamedAttribute[],
): Promise<Map<string, Map<string, string>>> {
  const texts = new Map<string, Map<string, string>>();
  if (people.length === 0 || attributes.length === 0) return texts;
  const erased = await findErased(tx, secrets, entityId, () => people);
  const living = erased.size === 0 ? people : people.filter((person) => !erased.has(personKey(person)));
  const namesOf = Map.groupBy(attributes, ({ id }) => id);
  const { rows } = await tx.query<{ ordinal: number; attributeId: number; text: string }>({
    name: 'list-profile-texts',
    text: PROFILE_TEXTS,
    values: [
      entityId,
      attributes.map(({ sorId }) => sorId),
      living.map(({ customerId }) => customerId),
      living.map(({ customerType }) => CUSTOMER_TYPE_CODE[customerType]),
      attributes.map(({ id }) => id),
    ],
  });
  for (const { ordinal, attributeId, text } of rows) {
    const key = personKey(living[ordinal - 1]!);
    const known = texts.get(key) ?? texts.set(key, new Map()).get(key)!;
    for (const { name } of namesOf.get(attributeId)!) known.set(name, text);
  }
  return texts;
}

/** OFFSET 0 keeps the look-up of a key range for each person and SoR, whatever statistics say. */
const PROFILE_TEXTS = `WITH selected AS MATERIALIZED (
    SELECT sor_id, array_agg(attribute_id) AS attribute_ids FROM unnest($2::integer[], $5::integer[]) AS a (sor_id, attribute_id)
    GROUP BY sor_id)
  SELECT k.ordinal::integer AS ordinal, v.attribute_id AS "attributeId", v.text
  FROM (SELECT * FROM unnest($3::text[], $4::smallint[]) WITH ORDINALITY AS g (customer_id, customer_type, ordinal) OFFSET 0) k
  CROSS JOIN selected s CROSS JOIN LATERAL (
    SELECT attribute_id, coalesce(string_value, number_value::text, boolean_value::text, date_value::text,
      ${isoUtc('datetime_value')}, left(array_to_string(set_elements, ', '), ${MAX_MESSAGE_BYTES + 1})) AS text
    FROM attribute_values
    WHERE entity_id = $1 AND sor_id = s.sor_id AND customer_id = k.customer_id AND customer_type = k.customer_type
      AND attribute_id = ANY (s.attribute_ids) AND removed_at IS NULL
    OFFSET 0) v
  WHERE v.text <> ''`;
