/** Merges scalar attribute values in SQL, through a staging table. */
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import type { ScalarChange } from '../../domain/attributes/attribute-change.ts';
import type { ScalarType } from '../../domain/attributes/attribute-value.ts';
import { escaped } from '../core/copy-text.ts';
import { RowsMoved, type Tx } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { CUSTOMER_TYPE_CODE } from './attribute-values.ts';

export type StagedScalars = {
  /** COPY text of `stagedLine`, in the order of the lines. */
  staged: readonly Buffer[];
  /** True if the scalars of each customer are consecutive, and all customers have mostly the same attributes. */
  isByCustomer: boolean;
};

/**
 * Temporary, so it does not outlive the session or reach the write-ahead log. One round trip: between two, Postgres
 * waits for us.
 */
const PREPARE_STAGING = `${LOOK_UP_BY_KEY};
CREATE TEMPORARY TABLE IF NOT EXISTS staged_values (
  customer_id text COLLATE "C", customer_type smallint, attribute_id integer, line bigint, value_type smallint,
  said_at timestamptz, value text COLLATE "C") ON COMMIT DELETE ROWS;
TRUNCATE staged_values`;

/** Writes the scalars into the table that `mergeScalars` reads. */
export async function stageScalars(tx: Tx, { staged, isByCustomer }: StagedScalars): Promise<void> {
  await tx.query(isByCustomer ? `${PREPARE_STAGING};SET LOCAL enable_hashjoin = on` : PREPARE_STAGING);
  await pipeline(staged, tx.query(copyFrom('COPY staged_values FROM STDIN')));
}

/** Codes of staged_values.value_type. */
const TYPE_CODE: Record<ScalarType, number> = { String: 0, Number: 1, Boolean: 2, Date: 3, Datetime: 4 };

/** Writes one line of COPY, by hand because it runs for every row; `copyLine` is slower. A removed value is NULL. */
export function stagedLine({
  customerId,
  customerType,
  attributeId,
  line,
  valueType,
  saidAt,
  value,
}: ScalarChange): string {
  const text = value === null ? '\\N' : valueType === 'String' ? escaped(value as string) : String(value);
  const key = `${escaped(customerId)}\t${CUSTOMER_TYPE_CODE[customerType]}\t${attributeId}\t${line}`;
  return `${key}\t${TYPE_CODE[valueType]}\t${saidAt === undefined ? '\\N' : saidAt.toISOString()}\t${text}\n`;
}

/**
 * When the values of a merge were said; by default now. The feed brings its requests in the order of their acceptance.
 * `runId`: the sync's run that brings them, which does not wait for its own work. `older`: collects the lines of values
 * said before the stored ones; they are searched only if it is given. `isCorrection`: a re-drive, which does not
 * replace a Set that was changed later.
 */
export type Said = { at?: Date; isFeed?: boolean; runId?: number; older?: Set<number>; isCorrection?: boolean };

/** SQL: whether SDK calls, which may come late, bring values of the SoR. */
export const TAKES_TRAITS = `EXISTS (
  SELECT FROM systems_of_records o WHERE o.entity_id = $1 AND o.id = $2 AND (o.type = 'app' OR o.type = 'global' AND EXISTS (
    SELECT FROM systems_of_records a WHERE a.entity_id = $1 AND a.type = 'app')))`;

/**
 * Looks up each staged row once, then updates rows that differ and inserts missing ones. Unchanged rows stay untouched,
 * and a plain INSERT is much cheaper than ON CONFLICT. All statements follow the order of the primary key, so that
 * merges of the same keys wait for each other without deadlock. Customers with changed values go into the change log.
 *
 * A row said before the stored value changes nothing: of two imports the one accepted last wins, whichever commits
 * last. If work accepted earlier is still to come, or SDK calls may come late, an unchanged row writes its time, and
 * the removal of a missing value writes a row, so that the earlier value loses to them, too.
 */
export async function mergeScalars(
  tx: Tx,
  entityId: number,
  sorId: number,
  { isByCustomer }: StagedScalars,
  { at, isFeed = false, runId, older }: Said,
): Promise<void> {
  const statement = isByCustomer ? MERGE_BY_CUSTOMER : MERGE_BY_KEY;
  const { rows } = await tx.query<{ differing: number; updated: number; older: number[] | null }>(statement, [
    entityId,
    sorId,
    at ?? null,
    isFeed,
    runId ?? null,
    older !== undefined,
  ]);
  // A row that another transaction changed since the look-up has moved, and was skipped.
  if (rows[0]!.updated < rows[0]!.differing) throw new RowsMoved();
  for (const line of rows[0]!.older ?? []) older?.add(line);
}

/**
 * The staged values, the last line of each key, in the order of the primary key.
 *
 * Entity and SoR are columns of this side, which the planner cannot see through. As constants on the other side it
 * would estimate their rows, guess one if the last ANALYZE is older than the SoR, and read the whole SoR for every
 * staged row.
 */
const STAGED_IN_ORDER = `(
  SELECT $1::integer AS entity_id, $2::integer AS sor_id, customer_id, customer_type, attribute_id, value IS NULL AS removed,
    coalesce(said_at, $3, now()) AS said_at,
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

const DIFFERS = `(s.removed, s.string_value, s.number_value, s.boolean_value, s.date_value, s.datetime_value) IS DISTINCT FROM
  (v.removed_at IS NOT NULL, v.string_value, v.number_value, v.boolean_value, v.date_value, v.datetime_value)`;

/**
 * `is_new`: the customer may not be in `customers` yet; removing a value that never existed leaves a row without a
 * customer.
 */
const IS_SAME = `v.entity_id IS NOT NULL AND NOT (${DIFFERS}) AS is_same, v.entity_id IS NULL OR v.removed_at IS NOT NULL AS is_new`;

/**
 * Checks for work that may still bring an earlier value: SDK calls, and work accepted earlier; the feed keeps the order
 * of its own requests.
 */
const EARLIER_UNDER_WAY = `
  SELECT EXISTS (
      SELECT FROM imports WHERE state IN ('accepted', 'running') AND NOT dry_run AND received_at < coalesce($3, now())
        AND entity_id = $1 AND sor_id = $2)
    OR EXISTS (
      SELECT FROM sync_runs JOIN syncs ON syncs.entity_id = sync_runs.entity_id AND syncs.id = sync_runs.sync_id
      WHERE sync_runs.state IN ('accepted', 'running') AND NOT sync_runs.dry_run AND sync_runs.received_at < coalesce($3, now())
        AND syncs.entity_id = $1 AND syncs.sor_id = $2 AND sync_runs.id IS DISTINCT FROM $5::bigint)
    OR ${TAKES_TRAITS}
    OR NOT $4 AND EXISTS (
      SELECT FROM feed_requests WHERE entity_id = $1 AND done_at IS NULL AND received_at < coalesce($3, now()) AND sor_id = $2)
    AS is_under_way`;

/** A stored time in the future comes from a database clock that was ahead, and is ignored. */
const IS_OLDER = 'v.said_at > s.said_at AND v.said_at <= statement_timestamp()';

const IS_NEWS = `CASE
  WHEN v.entity_id IS NULL THEN NOT s.removed OR (SELECT is_under_way FROM earlier)
  WHEN ${IS_OLDER} THEN false
  ELSE ${DIFFERS} OR (v.said_at IS DISTINCT FROM s.said_at AND (SELECT is_under_way FROM earlier)) END`;

/** Looks up each staged row by its key, in the order of the keys. */
const FOUND_BY_KEY = `SELECT s.*, v.ctid AS tid, ${IS_SAME} FROM ${STAGED_IN_ORDER} s LEFT JOIN attribute_values v ON ${SAME_KEY}
  WHERE ${IS_NEWS}`;

/**
 * Reads the values of all staged customers, which are adjacent in the index, in one scan. The full join forces a hash
 * join, whatever sizes the planner assumes.
 */
const FOUND_BY_CUSTOMER = `SELECT s.*, v.tid, ${IS_SAME} FROM ${STAGED_IN_ORDER} s FULL JOIN (
    SELECT ctid AS tid, * FROM attribute_values
    WHERE entity_id = $1 AND sor_id = $2 AND customer_id = ANY (ARRAY(SELECT DISTINCT customer_id FROM staged_values))
      AND customer_type = ANY (ARRAY(SELECT DISTINCT customer_type FROM staged_values))
      AND attribute_id = ANY (ARRAY(SELECT DISTINCT attribute_id FROM staged_values))
    OFFSET 0) v
  ON v.customer_id = s.customer_id AND v.customer_type = s.customer_type AND v.attribute_id = s.attribute_id
  WHERE CASE WHEN s.entity_id IS NULL THEN false ELSE ${IS_NEWS} END`;

/** Each staged row, also earlier ones of a key. Runs only if $6 asks for it. */
const OLDER = `CASE WHEN $6 THEN (
    SELECT array_agg(s.line)::bigint[] FROM (SELECT $1::integer AS entity_id, $2::integer AS sor_id, * FROM staged_values OFFSET 0) s
    CROSS JOIN LATERAL (SELECT said_at FROM attribute_values v WHERE ${SAME_KEY} OFFSET 0) v WHERE ${IS_OLDER}) END`;

const merge = (found: string, sorted: string) => `
  WITH earlier AS MATERIALIZED (${EARLIER_UNDER_WAY}),
  found AS MATERIALIZED (${found}),
  updated AS (
    UPDATE attribute_values v SET
      string_value = f.string_value, number_value = f.number_value, boolean_value = f.boolean_value,
      date_value = f.date_value, datetime_value = f.datetime_value,
      changed_at = CASE WHEN f.is_same THEN v.changed_at ELSE now() END,
      removed_at = CASE WHEN f.is_same THEN v.removed_at WHEN f.removed THEN now() END, said_at = f.said_at
    FROM ${sorted} f WHERE v.ctid = f.tid
    RETURNING 1
  ), inserted AS (
    INSERT INTO attribute_values (entity_id, sor_id, customer_type, attribute_id, customer_id, changed_at, removed_at, said_at,
      string_value, number_value, boolean_value, date_value, datetime_value)
    SELECT entity_id, sor_id, customer_type, attribute_id, customer_id, now(), CASE WHEN removed THEN now() END, said_at,
      string_value, number_value, boolean_value, date_value, datetime_value
    FROM ${sorted} f WHERE tid IS NULL
  ), logged AS (
    INSERT INTO attribute_change_log (entity_id, sor_id, customer_type, customer_ids, pending)
    SELECT $1, $2, customer_type, array_agg(customer_id), is_new FROM found
    WHERE NOT is_same AND NOT (removed AND tid IS NULL) GROUP BY customer_type, is_new
  )
  SELECT (SELECT count(*) FROM found WHERE tid IS NOT NULL) AS differing, (SELECT count(*) FROM updated) AS updated,
    ${OLDER} AS older`;

const MERGE_BY_KEY = merge(FOUND_BY_KEY, 'found');

const MERGE_BY_CUSTOMER = merge(
  FOUND_BY_CUSTOMER,
  '(SELECT * FROM found ORDER BY customer_id, customer_type, attribute_id OFFSET 0)',
);
