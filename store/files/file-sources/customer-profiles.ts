/** The values of customers as a file: rows, and the CSV that Postgres writes. */

import type { Cell } from '../../../domain/files/cell.ts';
import { CUSTOMER_TYPE_CODE } from '../../attributes/attribute-values.ts';
import { readRows, type Row } from '../../core/camel-row.ts';
import type { Database } from '../../core/database.ts';
import { isoUtc } from '../../core/iso-time.ts';
import type { FileSource } from '../file-source.ts';

/** `since`: an ISO time from which values changed (reference: Customer profiles, 2). */
export type CustomerProfilesQuery = {
  sors: readonly {
    id: number;
    identifier: string;
    attributes: readonly { id: number; identifier: string; key: string }[];
  }[];
  customerType: keyof typeof CUSTOMER_TYPE_CODE | null;
  customerIds: readonly string[] | null;
  since: string | null;
};

type ValueRow = Row<'attribute_values', 'customerId' | 'attributeId'> & { customerType: number; value: string };

const PORTION = 1_000;
const TYPES = Object.fromEntries(Object.entries(CUSTOMER_TYPE_CODE).map(([type, code]) => [code, type]));

/** The form that an import reads (docs/imports.md, "Values"), with a Set's elements joined. */
const VALUE = `coalesce(r.string_value, r.number_value::text, r.boolean_value::text, r.date_value::text, ${isoUtc('r.datetime_value')},
  array_to_string(r.set_elements, ';'))`;

/** Ordered by System of Records, then customer; without removed values. */
export const customerProfiles: FileSource<CustomerProfilesQuery> = {
  columns: [
    'system_of_record_identifier',
    'customer_attribute_identifier',
    'customer_attribute_key',
    'customer_attribute_value',
    'customer_id_type',
    'customer_id',
  ],
  numbers: [],
  delimiter: ';',
  async *rows(db, entityId, query) {
    for (const sor of query.sors) {
      const names = new Map(sor.attributes.map((attribute) => [attribute.id, attribute]));
      for await (const values of listPortions(db, entityId, sor, query)) {
        yield values.map(({ customerId: id, customerType: type, attributeId: attribute, value }): Cell[] => {
          const { identifier, key } = names.get(attribute)!;
          return [sor.identifier, identifier, key, value, TYPES[type]!, id];
        });
      }
    }
  },
};

/** Reads along the primary key of attribute_values; no transaction is open between portions. */
async function* listPortions(
  db: Database,
  entityId: number,
  { id: sorId, attributes }: CustomerProfilesQuery['sors'][number],
  { customerType, customerIds, since }: CustomerProfilesQuery,
): AsyncGenerator<ValueRow[]> {
  const type = customerType && CUSTOMER_TYPE_CODE[customerType];
  const ids = attributes.map(({ id }) => id);
  for (let after: [string, number, number] = ['', -1, 0]; ;) {
    const rows = readRows<ValueRow>(
      await db.query(
        `SELECT r.customer_id, r.customer_type, r.attribute_id, ${VALUE} AS value FROM attribute_values r
       WHERE r.entity_id = $1 AND r.sor_id = $2 AND (r.customer_id, r.customer_type, r.attribute_id) > ($3, $4, $5)
         AND r.attribute_id = ANY ($6) AND r.removed_at IS NULL AND ($7::smallint IS NULL OR r.customer_type = $7)
         AND ($8::text[] IS NULL OR r.customer_id = ANY ($8)) AND ($9::timestamptz IS NULL OR r.changed_at >= $9)
       ORDER BY r.customer_id, r.customer_type, r.attribute_id LIMIT ${PORTION}`,
        [entityId, sorId, ...after, ids, type, customerIds, since],
      ),
    );
    yield rows;
    const last = rows.at(-1);
    if (!last || rows.length < PORTION) return;
    after = [last.customerId, last.customerType, last.attributeId];
  }
}
