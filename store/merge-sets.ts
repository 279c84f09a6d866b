import { CUSTOMER_TYPE_CODE } from './attribute-values.ts';
import type { Tx } from './database.ts';
import type { FoldedChanges } from '../domain/attribute-change.ts';
import { applySetOperations, type SetOutcome, type StoredElement } from '../domain/set-actions.ts';

/** An ADD for which the stored Set has no room. */
export type SetRefusal = SetOutcome['failures'][number];

type FoldedSet = FoldedChanges['sets'][number];
type StoredSet = { ordinal: number; set_elements: string[] | null; set_times: Date[] | null; removed: boolean };

/** Most stored elements held in memory at once: 50 MB where each of them is as long as allowed. */
const ELEMENTS_AT_ONCE = 50_000;

/**
 * Reads each Set, applies its operations in file order, and writes it back where it changed. The stored
 * rows are locked in the order of the primary key and read by portions of ELEMENTS_AT_ONCE.
 */
export async function mergeSets(tx: Tx, entityId: number, sorId: number, sets: FoldedSet[]): Promise<SetRefusal[]> {
  if (sets.length === 0) return [];
  await tx.query('SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off');
  const { rows } = await tx.query<{ now: Date }>('SELECT now()');
  const refusals: SetRefusal[] = [];
  for await (const portion of lockedPortions(tx, entityId, sorId, sets)) {
    refusals.push(...await mergePortion(tx, entityId, sorId, portion, rows[0]!.now));
  }
  return refusals;
}

/** The stored rows of the given keys. Entity and SoR stand on the side of the keys, as in mergeScalars. */
const STORED_SETS = `(
    SELECT $1::integer AS entity_id, $2::integer AS sor_id, *
    FROM unnest($3::text[], $4::smallint[], $5::integer[]) WITH ORDINALITY AS keys (customer_id, customer_type, attribute_id, ordinal)
    OFFSET 0) k
  JOIN attribute_values v ON v.entity_id = k.entity_id AND v.sor_id = k.sor_id AND v.customer_id = k.customer_id
    AND v.customer_type = k.customer_type AND v.attribute_id = k.attribute_id`;

/** Locks every stored row first, then yields portions of sets whose stored elements together are few enough. */
async function* lockedPortions(tx: Tx, entityId: number, sorId: number, sets: FoldedSet[]): AsyncGenerator<FoldedSet[]> {
  const { rows } = await tx.query<{ ordinal: number; size: number }>(
    `SELECT k.ordinal::int - 1 AS ordinal, coalesce(cardinality(v.set_elements), 0) AS size
     FROM ${STORED_SETS}
     ORDER BY v.customer_id, v.customer_type, v.attribute_id FOR UPDATE OF v`,
    [entityId, sorId, ...keyArrays(sets)]);
  const sizes = new Map(rows.map(({ ordinal, size }) => [ordinal, size]));
  let portion: FoldedSet[] = [];
  let elements = 0;
  for (const [ordinal, set] of sets.entries()) {
    const size = sizes.get(ordinal) ?? 0;
    if (portion.length > 0 && elements + size > ELEMENTS_AT_ONCE) {
      yield portion;
      portion = [];
      elements = 0;
    }
    portion.push(set);
    elements += size;
  }
  yield portion;
}

async function mergePortion(
  tx: Tx, entityId: number, sorId: number, sets: FoldedSet[], now: Date,
): Promise<SetRefusal[]> {
  const stored = await findStored(tx, entityId, sorId, sets);
  const refusals: SetRefusal[] = [];
  const changed: { set: FoldedSet; elements: StoredElement[]; isNew: boolean }[] = [];
  for (const [ordinal, set] of sets.entries()) {
    const row = stored.get(ordinal);
    const result = applySetOperations(row ? toElements(row) : [], set.operations, now.toISOString());
    refusals.push(...result.failures);
    if (result.changed) changed.push({ set, elements: result.elements, isNew: !row });
  }
  await updateSets(tx, entityId, sorId, changed.filter(({ isNew }) => !isNew));
  await insertSets(tx, entityId, sorId, changed.filter(({ isNew }) => isNew));
  return refusals;
}

async function findStored(tx: Tx, entityId: number, sorId: number, sets: FoldedSet[]): Promise<Map<number, StoredSet>> {
  const { rows } = await tx.query<StoredSet>(
    `SELECT k.ordinal::int - 1 AS ordinal, v.set_elements, v.set_times, v.removed_at IS NOT NULL AS removed
     FROM ${STORED_SETS}`,
    [entityId, sorId, ...keyArrays(sets)]);
  return new Map(rows.map((row) => [row.ordinal, row]));
}

function toElements({ set_elements: elements, set_times: times, removed }: StoredSet): StoredElement[] {
  if (removed || !elements) return [];
  return elements.map((element, index) => ({ element, since: times![index]!.toISOString() }));
}

type ChangedSet = { set: FoldedSet; elements: StoredElement[] };

/** Sets travel as JSON, since Postgres has no arrays of arrays of different lengths. */
const CHANGED = `(
    SELECT $1::integer AS entity_id, $2::integer AS sor_id, * FROM jsonb_to_recordset($3::jsonb)
      AS sets (customer_id text, customer_type smallint, attribute_id integer, elements text[], times timestamptz[])
    ORDER BY customer_id COLLATE "C", customer_type, attribute_id) s`;

function toJson(changed: ChangedSet[]): string {
  return JSON.stringify(changed.map(({ set, elements }) => ({
    customer_id: set.customerId,
    customer_type: CUSTOMER_TYPE_CODE[set.customerType],
    attribute_id: set.attributeId,
    elements: elements.map(({ element }) => element),
    times: elements.map(({ since }) => since),
  })));
}

async function updateSets(tx: Tx, entityId: number, sorId: number, changed: ChangedSet[]): Promise<void> {
  if (changed.length === 0) return;
  await tx.query(
    `UPDATE attribute_values v
     SET set_elements = s.elements, set_times = s.times, changed_at = now(), removed_at = NULL
     FROM ${CHANGED}
     WHERE v.entity_id = s.entity_id AND v.sor_id = s.sor_id AND v.customer_id = s.customer_id
       AND v.customer_type = s.customer_type AND v.attribute_id = s.attribute_id`,
    [entityId, sorId, toJson(changed)]);
}

async function insertSets(tx: Tx, entityId: number, sorId: number, changed: ChangedSet[]): Promise<void> {
  if (changed.length === 0) return;
  await tx.query(
    `INSERT INTO attribute_values (entity_id, sor_id, customer_type, attribute_id, customer_id, changed_at, set_elements, set_times)
     SELECT entity_id, sor_id, customer_type, attribute_id, customer_id, now(), elements, times FROM ${CHANGED}`,
    [entityId, sorId, toJson(changed)]);
}

function keyArrays(sets: FoldedSet[]): [string[], number[], number[]] {
  return [
    sets.map(({ customerId }) => customerId),
    sets.map(({ customerType }) => CUSTOMER_TYPE_CODE[customerType]),
    sets.map(({ attributeId }) => attributeId),
  ];
}
