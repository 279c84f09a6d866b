/** Stored Sets as a merge reads and writes them, also those of a dry run. */
import type { FoldedSet } from '../../domain/attributes/attribute-change.ts';
import type { StoredElement } from '../../domain/attributes/set-actions.ts';
import type { Tx } from '../core/database.ts';
import type { Person } from '../gdpr/tombstones.ts';
import { CUSTOMER_TYPE_CODE } from './attribute-values.ts';

export type FoundSet = { elements: StoredElement[]; saidAt: Date | null; isRemoved: boolean };

/** A Set after the merge; `isSame`: only its time changed; `isStored`: it has a row, perhaps removed. */
export type ChangedSet = {
  set: FoldedSet;
  elements: StoredElement[];
  saidAt: Date | null;
  isSame: boolean;
  isStored: boolean;
  isNew: boolean;
};

/** Reads and writes the Sets of a merge. Maps use a set's index in the given list. */
export type StoredSets = {
  /** Locks the stored Sets in the order of the primary key, and returns their numbers of elements. */
  lock(sets: readonly FoldedSet[]): Promise<Map<number, number>>;
  find(sets: readonly FoldedSet[]): Promise<Map<number, FoundSet>>;
  save(changed: ChangedSet[]): Promise<void>;
};

type SetRow = {
  ordinal: number;
  set_elements: string[] | null;
  set_times: string[] | null;
  said_at: Date | null;
  is_removed: boolean;
};

/** A time in the future comes from a database clock that was ahead, and is ignored. */
const SAID_AT = `CASE WHEN v.said_at <= clock_timestamp() THEN v.said_at END AS said_at`;

/** Returns the Sets of a SoR; of the import `dryRunOf` as it has left them, beside the real values. */
export function storedSets(tx: Tx, entityId: number, sorId: number, dryRunOf: number | null): StoredSets {
  if (dryRunOf !== null) return dryRunSets(tx, entityId, sorId, dryRunOf);
  return {
    async lock(sets) {
      const { rows } = await tx.query<{ ordinal: number; size: number }>(
        `SELECT k.ordinal, coalesce(cardinality(v.set_elements), 0) AS size
         FROM ${KEYS} JOIN attribute_values v ON ${SAME_KEY}
         ORDER BY v.customer_id, v.customer_type, v.attribute_id FOR UPDATE OF v`,
        [entityId, sorId, ...keyArrays(sets)],
      );
      return new Map(rows.map(({ ordinal, size }) => [ordinal, size]));
    },
    async find(sets) {
      const { rows } = await tx.query<SetRow>(
        `SELECT k.ordinal, CASE WHEN v.removed_at IS NULL THEN v.set_elements END AS set_elements, v.set_times::text[] AS set_times,
           ${SAID_AT}, v.removed_at IS NOT NULL AS is_removed
         FROM ${KEYS} JOIN attribute_values v ON ${SAME_KEY}`,
        [entityId, sorId, ...keyArrays(sets)],
      );
      return setsByOrdinal(rows);
    },
    async save(changed) {
      await updateSets(
        tx,
        entityId,
        sorId,
        changed.filter(({ isStored }) => isStored),
      );
      await insertSets(
        tx,
        entityId,
        sorId,
        changed.filter(({ isStored }) => !isStored),
      );
      await insertChanges(
        tx,
        entityId,
        sorId,
        changed.filter(({ isSame }) => !isSame).map(({ set, isNew }) => ({ ...set, isNew })),
      );
    },
  };
}

function dryRunSets(tx: Tx, entityId: number, sorId: number, importId: number): StoredSets {
  return {
    async lock(sets) {
      const { rows } = await tx.query<{ ordinal: number; size: number }>(
        `SELECT k.ordinal, coalesce(cardinality(coalesce(d.set_elements, v.set_elements)), 0) AS size
         FROM ${KEYS} ${DRY_RUN_JOINS}`,
        [entityId, sorId, ...keyArrays(sets), importId],
      );
      return new Map(rows.map(({ ordinal, size }) => [ordinal, size]));
    },
    async find(sets) {
      const { rows } = await tx.query<SetRow>(
        `SELECT k.ordinal, coalesce(d.set_elements, CASE WHEN v.removed_at IS NULL THEN v.set_elements END) AS set_elements,
           coalesce(d.set_times, v.set_times)::text[] AS set_times, NULL::timestamptz AS said_at,
           d.import_id IS NULL AND v.removed_at IS NOT NULL AS is_removed
         FROM ${KEYS} ${DRY_RUN_JOINS}`,
        [entityId, sorId, ...keyArrays(sets), importId],
      );
      return setsByOrdinal(rows);
    },
    async save(all) {
      const changed = all.filter(({ isSame }) => !isSame);
      if (changed.length === 0) return;
      await tx.query(
        `INSERT INTO dry_run_sets (entity_id, import_id, customer_id, customer_type, attribute_id, set_elements, set_times)
         SELECT entity_id, $4, customer_id, customer_type, attribute_id, elements, times FROM ${CHANGED}
         ON CONFLICT (entity_id, import_id, customer_id, customer_type, attribute_id)
           DO UPDATE SET set_elements = excluded.set_elements, set_times = excluded.set_times`,
        [entityId, sorId, toJson(changed), importId],
      );
    },
  };
}

/** The requested keys, with entity and SoR on this side, as in mergeScalars. */
const KEYS = `(
    SELECT $1::integer AS entity_id, $2::integer AS sor_id, customer_id, customer_type, attribute_id, ordinal::integer - 1 AS ordinal
    FROM unnest($3::text[], $4::smallint[], $5::integer[]) WITH ORDINALITY AS keys (customer_id, customer_type, attribute_id, ordinal)
    OFFSET 0) k`;

const SAME_CUSTOMER_AND_ATTRIBUTE = (table: string, keys: string) =>
  ['customer_id', 'customer_type', 'attribute_id']
    .map((column) => `${table}.${column} = ${keys}.${column}`)
    .join(' AND ');

const SAME_KEY = `v.entity_id = k.entity_id AND v.sor_id = k.sor_id AND ${SAME_CUSTOMER_AND_ATTRIBUTE('v', 'k')}`;

const DRY_RUN_JOINS = `LEFT JOIN attribute_values v ON ${SAME_KEY}
  LEFT JOIN dry_run_sets d ON d.entity_id = k.entity_id AND d.import_id = $6 AND ${SAME_CUSTOMER_AND_ATTRIBUTE('d', 'k')}`;

function setsByOrdinal(rows: SetRow[]): Map<number, FoundSet> {
  return new Map(
    rows.map(({ ordinal, set_elements: elements, set_times: times, said_at: saidAt, is_removed: isRemoved }) => [
      ordinal,
      { elements: (elements ?? []).map((element, index) => ({ element, since: times![index]! })), saidAt, isRemoved },
    ]),
  );
}

/** Sets travel as JSON, since Postgres has no arrays of arrays of different lengths. */
const CHANGED = `(
    SELECT $1::integer AS entity_id, $2::integer AS sor_id, * FROM jsonb_to_recordset($3::jsonb)
      AS sets (customer_id text, customer_type smallint, attribute_id integer, elements text[], times timestamptz[],
        said_at timestamptz, is_same boolean)
    ORDER BY customer_id COLLATE "C", customer_type, attribute_id) s`;

function toJson(changed: ChangedSet[]): string {
  return JSON.stringify(
    changed.map(({ set, elements, saidAt, isSame }) => ({
      customer_id: set.customerId,
      customer_type: CUSTOMER_TYPE_CODE[set.customerType],
      attribute_id: set.attributeId,
      elements: elements.map(({ element }) => element),
      times: elements.map(({ since }) => since),
      said_at: saidAt,
      is_same: isSame,
    })),
  );
}

async function updateSets(tx: Tx, entityId: number, sorId: number, changed: ChangedSet[]): Promise<void> {
  if (changed.length === 0) return;
  await tx.query(
    `UPDATE attribute_values v
     SET set_elements = s.elements, set_times = s.times, said_at = s.said_at,
       changed_at = CASE WHEN s.is_same THEN v.changed_at ELSE now() END, removed_at = CASE WHEN s.is_same THEN v.removed_at END
     FROM ${CHANGED}
     WHERE v.entity_id = s.entity_id AND v.sor_id = s.sor_id AND ${SAME_CUSTOMER_AND_ATTRIBUTE('v', 's')}`,
    [entityId, sorId, toJson(changed)],
  );
}

async function insertSets(tx: Tx, entityId: number, sorId: number, changed: ChangedSet[]): Promise<void> {
  if (changed.length === 0) return;
  await tx.query(
    `INSERT INTO attribute_values (
       entity_id, sor_id, customer_type, attribute_id, customer_id, changed_at, removed_at, said_at, set_elements, set_times)
     SELECT entity_id, sor_id, customer_type, attribute_id, customer_id, now(), CASE WHEN is_same THEN now() END, said_at, elements, times
     FROM ${CHANGED}`,
    [entityId, sorId, toJson(changed)],
  );
}

function keyArrays(sets: readonly FoldedSet[]): [string[], number[], number[]] {
  return [
    sets.map(({ customerId }) => customerId),
    sets.map(({ customerType }) => CUSTOMER_TYPE_CODE[customerType]),
    sets.map(({ attributeId }) => attributeId),
  ];
}

/** Inserts an entry for each customer type, and another one for new values (`isNew`). */
async function insertChanges(
  tx: Tx,
  entityId: number,
  sorId: number,
  customers: readonly (Person & { isNew: boolean })[],
): Promise<void> {
  if (customers.length === 0) return;
  await tx.query(
    `INSERT INTO attribute_change_log (entity_id, sor_id, customer_type, customer_ids, pending)
     SELECT $1, $2, customer_type, array_agg(customer_id), is_new
     FROM unnest($3::text[] COLLATE "C", $4::smallint[], $5::boolean[]) AS changed (customer_id, customer_type, is_new)
     GROUP BY customer_type, is_new`,
    [
      entityId,
      sorId,
      customers.map(({ customerId }) => customerId),
      customers.map(({ customerType }) => CUSTOMER_TYPE_CODE[customerType]),
      customers.map(({ isNew }) => isNew),
    ],
  );
}
