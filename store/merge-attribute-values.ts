import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { CUSTOMER_TYPE_CODE } from './attribute-values.ts';
import { LOOK_UP_BY_KEY } from './look-up-by-key.ts';
import { escaped } from './copy-text.ts';
import { RowsMoved, type Tx } from './database.ts';
import { mergeSets, type SetRefusal } from './merge-sets.ts';
import type { Secrets } from './secrets.ts';
import { dryRunSets, storedSets } from './stored-sets.ts';
import { erasedKey, findErased, hasErased } from './tombstones.ts';
import { type AttributeChange, type FoldedSet, FoldedSets, type ScalarChange } from '../domain/attribute-change.ts';
import type { ScalarType } from '../domain/attribute-value.ts';

/** A row that only the merge could refuse: an erased person, or a Set that grew too large. */
export type MergeRefusal = { line: number; erasedHash: Buffer } | SetRefusal;

/** What a merge takes: scalars as COPY text in the order of their lines, Sets folded. */
export type PreparedChanges = {
  staged: readonly Buffer[];
  sets: readonly FoldedSet[];
  /** The changes themselves: looked at only where somebody was erased. */
  changes: () => Promise<readonly AttributeChange[]>;
};

/**
 * All of a merge that needs no database, so that it can be done while the merge before it runs. Takes the changes bit
 * by bit: a few thousand of them that are let go at once cost the garbage collector next to nothing, while a batch
 * that is kept until its end costs as much as all other work on its rows.
 */
export class ChangesPreparation {
  readonly #staged: Buffer[] = [];
  readonly #sets = new FoldedSets();

  add(changes: readonly AttributeChange[]): void {
    let lines = '';
    for (const change of changes) {
      if (change.kind === 'value') lines += stagedLine(change);
      else this.#sets.add(change);
    }
    if (lines !== '') this.#staged.push(Buffer.from(lines));
  }

  /** How many different Sets are to be changed so far. */
  get sets(): number {
    return this.#sets.size;
  }

  /** `changes` makes them once more. */
  prepared(changes: () => Promise<readonly AttributeChange[]>): PreparedChanges {
    return { staged: this.#staged, sets: this.#sets.all(), changes };
  }
}

/** The same for changes that are all at hand. */
export function prepareChanges(changes: readonly AttributeChange[]): PreparedChanges {
  const preparation = new ChangesPreparation();
  preparation.add(changes);
  return preparation.prepared(async () => changes);
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
 * between two of them Postgres waits for us.
 */
const PREPARE_STAGING = `${LOOK_UP_BY_KEY};
CREATE TEMPORARY TABLE IF NOT EXISTS staged_values (
  customer_id text COLLATE "C", customer_type smallint, attribute_id integer, line bigint, value_type smallint,
  value text COLLATE "C") ON COMMIT DELETE ROWS;
TRUNCATE staged_values`;

async function stage(tx: Tx, lines: readonly Buffer[]): Promise<void> {
  await tx.query(PREPARE_STAGING);
  await pipeline(lines, tx.query(copyFrom('COPY staged_values FROM STDIN')));
}

/** staged_values.value_type. */
const TYPE_CODE: Record<ScalarType, number> = { String: 0, Number: 1, Boolean: 2, Date: 3, Datetime: 4 };

/** By hand and not by `copyLine`, since it is made for every row. A value that is removed is NULL. */
function stagedLine({ customerId, customerType, attributeId, line, valueType, value }: ScalarChange): string {
  const text = value === null ? '\\N' : valueType === 'String' ? escaped(value as string) : String(value);
  return `${escaped(customerId)}\t${CUSTOMER_TYPE_CODE[customerType]}\t${attributeId}\t${line}\t${TYPE_CODE[valueType]}\t${text}\n`;
}

/**
 * Looks each staged row up once; then updates in place, by their place in the table, those that differ,
 * and inserts those that are missing. Unchanged rows stay untouched, and a plain INSERT is much cheaper
 * than ON CONFLICT. All goes in the order of the primary key, so that merges of the same keys wait for
 * each other and never in a circle. Those whose values changed go into the change log.
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
     ), logged AS (
       INSERT INTO attribute_change_log (entity_id, sor_id, customer_type, customer_ids, pending)
       SELECT $1, $2, customer_type, array_agg(customer_id), place IS NULL FROM found GROUP BY customer_type, place IS NULL
     )
     SELECT (SELECT count(*) FROM found WHERE place IS NOT NULL) AS differing, (SELECT count(*) FROM updated) AS updated`,
    [entityId, sorId]);
  // A row that another transaction changed since it was looked up lies elsewhere now, and was passed over.
  if (rows[0]!.updated < rows[0]!.differing) throw new RowsMoved();
}

/**
 * The staged values, of each key the one of the last line, in the order of the primary key.
 *
 * The entity and the SoR come from this side, as columns that the planner can't see through. As constants
 * on the other side it would guess how many rows they have, guess one where the last ANALYZE is older than
 * the SoR, and read all of the SoR for every staged row.
 */
const STAGED_IN_ORDER = `(
  SELECT $1::integer AS entity_id, $2::integer AS sor_id, customer_id, customer_type, attribute_id, value IS NULL AS removed,
    CASE value_type WHEN ${TYPE_CODE.String} THEN value END AS string_value,
    CASE value_type WHEN ${TYPE_CODE.Number} THEN value::numeric END AS number_value,
    CASE value_type WHEN ${TYPE_CODE.Boolean} THEN value::boolean END AS boolean_value,
    CASE value_type WHEN ${TYPE_CODE.Date} THEN value::date END AS date_value,
    CASE value_type WHEN ${TYPE_CODE.Datetime} THEN value::timestamptz END AS datetime_value
  FROM (
    SELECT DISTINCT ON (customer_id, customer_type, attribute_id) * FROM staged_values
    ORDER BY customer_id, customer_type, attribute_id, line DESC) last_lines
  OFFSET 0)`;

const SAME_KEY = `v.entity_id = s.entity_id AND v.sor_id = s.sor_id AND v.customer_id = s.customer_id
  AND v.customer_type = s.customer_type AND v.attribute_id = s.attribute_id`;
