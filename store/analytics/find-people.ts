/** Finds people by a text: an id, a similar id, or the value of an attribute. */

import type { PersonMatch } from '../../domain/analytics/person.ts';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import { CUSTOMER_TYPE_CODE } from '../attributes/attribute-values.ts';
import { addPendingCustomers } from '../attributes/customers.ts';
import { listSimilarIds } from '../attributes/similar-ids.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, type Queryable, read } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { type Person, personKey } from '../gdpr/tombstones.ts';

export type FoundBy = { by: PersonMatch; sorIdentifier: string | null; attributeKey: string | null };
export type FoundPerson = Person & { matches: FoundBy[] };

/** Every index looks one id up, also if only one table has the person. */
const IS_KNOWN: Record<Person['customerType'], string> = {
  user_id: `EXISTS (SELECT FROM customers WHERE entity_id = $1 AND customer_id = $2 AND customer_type = ${CUSTOMER_TYPE_CODE.user_id})
    OR EXISTS (SELECT FROM device_users WHERE entity_id = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM events WHERE entity_id = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM sessions WHERE entity_id = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM attempts WHERE entity_id = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM send_messages WHERE entity_id = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM segment_members WHERE entity_id = $1 AND person = 'u' || $2)
    OR EXISTS (SELECT FROM user_aliases WHERE entity_id = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM user_aliases WHERE entity_id = $1 AND previous_id = $2)
    OR EXISTS (SELECT FROM gdpr_request_people WHERE entity_id = $1 AND user_id = $2)
    OR EXISTS (SELECT FROM gdpr_holds WHERE entity_id = $1 AND customer_id = $2 AND customer_type = 'user_id')`,
  device_id: `EXISTS (SELECT FROM customers WHERE entity_id = $1 AND customer_id = $2 AND customer_type = ${CUSTOMER_TYPE_CODE.device_id})
    OR EXISTS (
      SELECT FROM (SELECT id FROM apps WHERE entity_id = $1) AS own
      CROSS JOIN LATERAL (SELECT FROM devices WHERE entity_id = $1 AND app_id = own.id AND device_id = $2 OFFSET 0) d)
    OR EXISTS (SELECT FROM events WHERE entity_id = $1 AND device_id = $2)
    OR EXISTS (SELECT FROM sessions WHERE entity_id = $1 AND subject = 'd' || $2)
    OR EXISTS (SELECT FROM attempts WHERE entity_id = $1 AND device_id = $2)
    OR EXISTS (SELECT FROM segment_members WHERE entity_id = $1 AND person = 'd' || $2)
    OR EXISTS (SELECT FROM user_aliases WHERE entity_id = $1 AND device_id = $2)
    OR EXISTS (SELECT FROM gdpr_request_people WHERE entity_id = $1 AND device_id = $2)
    OR EXISTS (SELECT FROM gdpr_holds WHERE entity_id = $1 AND customer_id = $2 AND customer_type = 'device_id')`,
};

/** Returns whether anything is known of the person. */
export async function isKnownPerson(
  db: Queryable,
  entityId: number,
  { customerType, customerId }: Person,
): Promise<boolean> {
  const { rows } = await db.query<{ known: boolean }>(`SELECT ${IS_KNOWN[customerType]} AS known`, [
    entityId,
    customerId,
  ]);
  return rows[0]!.known;
}

/** Finds people by their ids. `limit`: how many similar ids at most. */
export async function findPeopleById(
  db: Database,
  entityId: number,
  text: string,
  ways: ReadonlySet<PersonMatch>,
  limit: number,
): Promise<FoundPerson[]> {
  await addPendingCustomers(db, entityId);
  return read(
    db,
    async (tx) => {
      const found: FoundPerson[] = [];
      for (const customerType of CUSTOMER_TYPES) {
        const person = { customerType, customerId: text };
        if (ways.has(customerType) && (await isKnownPerson(tx, entityId, person)))
          found.push({ ...person, matches: [byId(customerType)] });
      }
      if (!ways.has('similar_id')) return found;
      const similar = await listSimilarIds(tx, entityId, [text], limit);
      return [
        ...found,
        ...similar.map(({ similar: customerId }): FoundPerson => ({
          customerType: 'user_id',
          customerId,
          matches: [byId('similar_id')],
        })),
      ];
    },
    { settings: LOOK_UP_BY_KEY },
  );
}

const byId = (by: PersonMatch): FoundBy => ({ by, sorIdentifier: null, attributeKey: null });

type ValueRow = Row<'attribute_values', 'customerType' | 'customerId'> & { sorIdentifier: string; key: string };

/**
 * Finds people by a value, of at most `limit` rows. Reads all values of the entity, since an index of them would end
 * their HOT updates, and fails once the time is over.
 */
export async function findPeopleByValue(
  db: Database,
  entityId: number,
  text: string,
  { limit, timeoutMs, signal }: { limit: number; timeoutMs: number; signal: AbortSignal },
): Promise<FoundPerson[]> {
  const texts = [...new Set([text, ...(text.includes('@') ? [text.toLowerCase()] : [])])];
  const number = /^-?\d{1,50}(\.\d{1,50})?$/.test(text) ? text : null;
  const rows = await read(
    db,
    async (tx) =>
      readRows<ValueRow>(
        await tx.query(
          `SELECT v.customer_type, v.customer_id, s.identifier AS sor_identifier, a.key
           FROM (
             SELECT * FROM attribute_values
             WHERE entity_id = $1 AND removed_at IS NULL
               AND (string_value = ANY ($2::text[]) OR ($3::numeric IS NOT NULL AND number_value = $3::numeric)) LIMIT $4) v
           JOIN customer_attributes a ON a.entity_id = $1 AND a.id = v.attribute_id AND a.deleted_at IS NULL
           JOIN systems_of_records s ON s.entity_id = $1 AND s.id = v.sor_id AND s.deleted_at IS NULL
           ORDER BY v.customer_id, v.customer_type, s.id, a.id`,
          [entityId, texts, number, limit],
        ),
      ),
    {
      settings: `SET LOCAL transaction_timeout = 0; SET LOCAL statement_timeout = ${timeoutMs}; SET LOCAL jit = off`,
      signal,
    },
  );
  return joinPeople(
    rows.map(({ customerType, customerId, sorIdentifier, key }) => ({
      customerType: CUSTOMER_TYPES[customerType]!,
      customerId,
      matches: [{ by: 'attribute', sorIdentifier, attributeKey: key }],
    })),
  );
}

/** Joins the matches of each person, in the order in which people were found first. */
export function joinPeople(found: readonly FoundPerson[]): FoundPerson[] {
  const people = new Map<string, FoundPerson>();
  for (const person of found) {
    const known = people.get(personKey(person));
    if (known) known.matches.push(...person.matches);
    else people.set(personKey(person), { ...person, matches: [...person.matches] });
  }
  return [...people.values()];
}
