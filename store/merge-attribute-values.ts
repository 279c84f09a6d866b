import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { CUSTOMER_TYPE_CODE } from './attribute-values.ts';
import { escaped } from './copy-text.ts';
import { RowsMoved, type Tx } from './database.ts';
import { mergeSets, type SetRefusal } from './merge-sets.ts';
import type { Secrets } from './secrets.ts';
import { dryRunSets, storedSets } from './stored-sets.ts';
import { erasedKey, findErased, hasErased } from './tombstones.ts';
import { type AttributeChange, type FoldedChanges, foldChanges, type ScalarChange } from '../domain/attribute-change.ts';
import type { ScalarType } from '../domain/attribute-value.ts';

/** A row that only the merge could refuse: an erased person, or a Set that grew too large. */
export type MergeRefusal = { line: number; erasedHash: Buffer } | SetRefusal;

/** Changes folded in file order, and their scalars as COPY takes them. */
export type PreparedChanges = {
  staged: Buffer;
  sets: FoldedChanges['sets'];
  /** The changes themselves: looked at only where somebody was erased. */
  changes: () => Promise<readonly AttributeChange[]>;
};

/**
 * All of a merge that needs no database, so that it can be done while the merge before it runs. `again` makes the
 * changes once more for whoever does not want to keep them: a batch in waiting is little more than its COPY text then.
 */
export function prepareChanges(changes: readonly AttributeChange[], again = async () => changes): PreparedChanges {
  const { scalars, sets } = foldChanges(changes);
  return { staged: Buffer.from(scalars.map(stagedLine).join('')), sets, changes: again };
}

/**
 * The one way in for attribute values: leaves out the erased and merges the rest. A value that stays the
 * same is not written, and keeps its time.
 *
 * Runs in the caller's transaction, which runs again when a key it inserted came from elsewhere meanwhile
 * (`write` with `collide`). Keys are locked in the order of the primary key. For the import `dryRunOf` it does the
 * same and takes it back: no value changes, and what could not be done is told as ever.
 */
export async function mergeAttributeValues(
  tx: Tx, secrets: Secrets, entityId: number, sorId: number, prepared: PreparedChanges, dryRunOf: number | null = null,
): Promise<MergeRefusal[]> {
  const { living, refusals } = await leaveOutErased(tx, secrets, entityId, prepared);
  if (living.staged.length > 0) {
    await stage(tx, living.staged);
    if (dryRunOf === null) await mergeScalars(tx, entityId, sorId);
    else await takenBack(tx, () => mergeScalars(tx, entityId, sorId));
  }
  const sets = dryRunOf === null ? storedSets(tx, entityId, sorId) : dryRunSets(tx, entityId, sorId, dryRunOf);
  return [...refusals, ...await mergeSets(tx, sets, living.sets)];
}

async function takenBack(tx: Tx, work: () => Promise<void>): Promise<void> {
  await tx.query('SAVEPOINT before_dry_run');
  await work();
  await tx.query('ROLLBACK TO SAVEPOINT before_dry_run');
}

async function leaveOutErased(tx: Tx, secrets: Secrets, entityId: number, prepared: PreparedChanges) {
  const refusals: MergeRefusal[] = [];
  if (!await hasErased(tx, entityId)) return { living: prepared, refusals };
  const changes = await prepared.changes();
  const erased = await findErased(tx, secrets, entityId, changes);
  const living = changes.filter((change) => {
    const erasedHash = erased.get(erasedKey(change));
    if (erasedHash) refusals.push({ line: change.line, erasedHash });
    return !erasedHash;
  });
  return { living: refusals.length > 0 ? prepareChanges(living) : prepared, refusals };
}

/**
 * Temporary, so nothing of it outlives the session or reaches the write-ahead log. One round trip for all:
 * between two of them Postgres waits for us. Without hash and merge joins each staged row is looked up in
 * the index of the primary key, in its order.
 */
const PREPARE_STAGING = `SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;
CREATE TEMPORARY TABLE IF NOT EXISTS staged_values (
  customer_id text COLLATE "C", customer_type smallint, attribute_id integer, removed boolean, string_value text COLLATE "C",
  number_value numeric, boolean_value boolean, date_value date, datetime_value timestamptz) ON COMMIT DELETE ROWS;
TRUNCATE staged_values`;

async function stage(tx: Tx, lines: Buffer): Promise<void> {
  await tx.query(PREPARE_STAGING);
  await pipeline([lines], tx.query(copyFrom('COPY staged_values FROM STDIN')));
}

/** The value columns of staged_values, in its order. */
const VALUE_COLUMNS = ['String', 'Number', 'Boolean', 'Date', 'Datetime'] as const;

/** What stands before and after the value of each type in a line of staged_values. */
const AROUND_VALUE = Object.fromEntries(VALUE_COLUMNS.map((type, at) =>
  [type, [`\t${'\\N\t'.repeat(at)}`, `${'\t\\N'.repeat(VALUE_COLUMNS.length - at - 1)}\n`] as const],
)) as Record<ScalarType, readonly [before: string, after: string]>;

/** By hand and not by `copyLine`, since it is made for every row. */
function stagedLine({ customerId, customerType, attributeId, valueType, value }: ScalarChange): string {
  const [before, after] = AROUND_VALUE[valueType];
  const key = `${escaped(customerId)}\t${CUSTOMER_TYPE_CODE[customerType]}\t${attributeId}\t`;
  if (value === null) return `${key}t${before}\\N${after}`;
  return `${key}f${before}${valueType === 'String' ? escaped(value as string) : String(value)}${after}`;
}

/**
 * Looks each staged row up once; then updates in place, by their place in the table, those that differ,
 * and inserts those that are missing. Unchanged rows stay untouched, and a plain INSERT is much cheaper
 * than ON CONFLICT. All goes in the order of the primary key, so that merges of the same keys wait for
 * each other and never in a circle.
 */
async function mergeScalars(tx: Tx, entityId: number, sorId: number): Promise<void> {
  const { rows } = await tx.query<{ differing: number; updated: number }>(
    `WITH found AS MATERIALIZED (
       SELECT s.*, v.ctid AS place
       FROM ${STAGED_IN_ORDER} s LEFT JOIN attribute_values v ON ${SAME_KEY}
       WHERE CASE WHEN v.entity_id IS NULL THEN NOT s.removed
         ELSE (s.removed, s.string_value, s.number_value, s.boolean_value, s.date_value, s.datetime_value)
           IS DISTINCT FROM
             (v.removed_at IS NOT NULL, v.string_value, v.number_value, v.boolean_value, v.date_value, v.datetime_value) END
     ), updated AS (
       UPDATE attribute_values v SET
         string_value = f.string_value, number_value = f.number_value, boolean_value = f.boolean_value,
         date_value = f.date_value, datetime_value = f.datetime_value,
         changed_at = now(), removed_at = CASE WHEN f.removed THEN now() END
       FROM found f WHERE v.ctid = f.place
       RETURNING 1
     ), inserted AS (
       INSERT INTO attribute_values (entity_id, sor_id, customer_type, attribute_id, customer_id, changed_at,
         string_value, number_value, boolean_value, date_value, datetime_value)
       SELECT entity_id, sor_id, customer_type, attribute_id, customer_id, now(),
         string_value, number_value, boolean_value, date_value, datetime_value
       FROM found WHERE place IS NULL
     )
     SELECT (SELECT count(*) FROM found WHERE place IS NOT NULL) AS differing, (SELECT count(*) FROM updated) AS updated`,
    [entityId, sorId]);
  // A row that another transaction changed since it was looked up lies elsewhere now, and was passed over.
  if (rows[0]!.updated < rows[0]!.differing) throw new RowsMoved();
}

/**
 * The entity and the SoR come from this side, as columns that the planner can't see through. As constants
 * on the other side it would guess how many rows they have, guess one where the last ANALYZE is older than
 * the SoR, and read all of the SoR for every staged row.
 */
const STAGED_IN_ORDER = `(SELECT $1::integer AS entity_id, $2::integer AS sor_id, * FROM staged_values
  ORDER BY customer_id, customer_type, attribute_id)`;

const SAME_KEY = `v.entity_id = s.entity_id AND v.sor_id = s.sor_id AND v.customer_id = s.customer_id
  AND v.customer_type = s.customer_type AND v.attribute_id = s.attribute_id`;
