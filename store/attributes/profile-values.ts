/** Reads the values of many customers, in bounded memory. */
import type { ValueType } from '../../domain/attributes/attribute-value.ts';
import { type Database, read, type Tx } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import type { Person } from '../gdpr/tombstones.ts';
import { CUSTOMER_TYPE_CODE } from './attribute-values.ts';

/** A value of type Set may be a thousand times as long as others. */
export type ValueSelection = readonly { id: number; sorId: number; valueType: ValueType }[];

/** `since`: reads only values that changed from then on, also removed ones. */
export type AskedCustomer = Person & { since?: string };

/** `value`: a scalar's text; a datetime's milliseconds since the epoch; null for a Set. */
export type ProfileValue = {
  attributeId: number;
  value: string | number | null;
  elements: string[] | null;
  isRemoved: boolean;
};

/** Maximum number of texts in memory, each of at most 256 characters. */
const TEXTS_AT_ONCE = 50_000;

/** Yields the values of each customer in bounded portions, without a transaction between them. */
export async function* streamProfileValues(
  db: Database,
  entityId: number,
  customers: readonly AskedCustomer[],
  selection: ValueSelection,
): AsyncGenerator<{ customer: AskedCustomer; values: ProfileValue[] }> {
  const most = Math.max(1, Math.floor(TEXTS_AT_ONCE / Math.max(1, selection.length)));
  for (let start = 0; start < customers.length; start += most) {
    const some = customers.slice(start, start + most);
    const sizes = await read(db, (tx) => countElements(tx, entityId, some, selection));
    for (const portion of portions(some, sizes)) {
      const values = await read(db, (tx) => listValues(tx, entityId, portion, selection));
      for (const [index, customer] of portion.entries()) yield { customer, values: values[index]! };
    }
  }
}

async function countElements(tx: Tx, entityId: number, customers: readonly Person[], selection: ValueSelection) {
  const sets = selection.filter(({ valueType }) => valueType === 'Set');
  if (sets.length === 0) return [];
  await tx.query(LOOK_UP_BY_KEY);
  const { rows } = await tx.query<{ ordinal: number; size: number }>(
    `${SELECTED} SELECT k.ordinal, sum(cardinality(v.set_elements))::integer AS size FROM ${VALUES}
     WHERE v.set_elements IS NOT NULL GROUP BY k.ordinal`,
    parameters(entityId, customers, sets),
  );
  const sizes: number[] = [];
  for (const { ordinal, size } of rows) sizes[ordinal] = size;
  return sizes;
}

function* portions(customers: readonly AskedCustomer[], sizes: number[]): Generator<readonly AskedCustomer[]> {
  let start = 0;
  let elements = 0;
  for (let at = 0; at < customers.length; at += 1) {
    const size = sizes[at] ?? 0;
    if (at > start && elements + size > TEXTS_AT_ONCE) {
      yield customers.slice(start, at);
      start = at;
      elements = 0;
    }
    elements += size;
  }
  yield customers.slice(start);
}

type ValueRow = {
  ordinal: number;
  attribute_id: number;
  removed: boolean;
  value: string | null;
  datetime: number | null;
  elements: string[] | null;
};

async function listValues(
  tx: Tx,
  entityId: number,
  customers: readonly AskedCustomer[],
  selection: ValueSelection,
): Promise<ProfileValue[][]> {
  await tx.query(LOOK_UP_BY_KEY);
  const { rows } = await tx.query<ValueRow>(
    `${SELECTED} SELECT k.ordinal, v.attribute_id, v.removed_at IS NOT NULL AS removed, v.set_elements AS elements,
       coalesce(v.string_value, v.number_value::text, v.boolean_value::text, v.date_value::text) AS value,
       (extract(epoch FROM v.datetime_value) * 1000)::bigint AS datetime
     FROM ${VALUES} WHERE k.since IS NULL OR v.changed_at >= k.since`,
    parameters(entityId, customers, selection),
  );
  const found: ProfileValue[][] = customers.map(() => []);
  for (const { ordinal, attribute_id: attributeId, removed: isRemoved, value, datetime, elements } of rows) {
    found[ordinal]!.push({ attributeId, value: value ?? datetime, elements, isRemoved });
  }
  return found;
}

export async function findChanged(
  tx: Tx,
  entityId: number,
  customers: readonly AskedCustomer[],
  selection: ValueSelection,
  limit: number,
): Promise<number[]> {
  await tx.query(LOOK_UP_BY_KEY);
  const { rows } = await tx.query<{ ordinal: number }>(
    `${SELECTED} SELECT k.ordinal FROM ${KEYS} WHERE EXISTS (
       SELECT FROM ${OF_EACH_SOR} WHERE v.changed_at >= k.since OFFSET 0)
     ORDER BY k.ordinal LIMIT $7`,
    [...parameters(entityId, customers, selection), limit],
  );
  return rows.map(({ ordinal }) => ordinal);
}

/** Groups attributes by SoR: an index scan sorts the array that it searches for each customer. */
const SELECTED = `WITH selected AS MATERIALIZED (
  SELECT sor_id, array_agg(attribute_id) AS attribute_ids FROM unnest($2::integer[], $6::integer[]) AS a (sor_id, attribute_id)
  GROUP BY sor_id)`;

const KEYS = `(
  SELECT $1::integer AS entity_id, customer_id, customer_type, since, ordinal::integer - 1 AS ordinal
  FROM unnest($3::text[], $4::smallint[], $5::timestamptz[]) WITH ORDINALITY AS keys (customer_id, customer_type, since, ordinal)
  OFFSET 0) k`;

/** Reads a key range for each customer and SoR: without OFFSET 0 a planner without statistics compares all values. */
const OF_EACH_SOR = `selected s CROSS JOIN LATERAL (
  SELECT * FROM attribute_values
  WHERE entity_id = k.entity_id AND sor_id = s.sor_id AND customer_id = k.customer_id AND customer_type = k.customer_type
    AND attribute_id = ANY (s.attribute_ids)
  OFFSET 0) v`;

const VALUES = `${KEYS} CROSS JOIN ${OF_EACH_SOR}`;

function parameters(entityId: number, customers: readonly AskedCustomer[], selection: ValueSelection): unknown[] {
  return [
    entityId,
    selection.map(({ sorId }) => sorId),
    customers.map(({ customerId }) => customerId),
    customers.map(({ customerType }) => CUSTOMER_TYPE_CODE[customerType]),
    customers.map(({ since }) => since ?? null),
    selection.map(({ id }) => id),
  ];
}
