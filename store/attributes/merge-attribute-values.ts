/** Merges attribute values: the one way in for imports, feeds, syncs and SDKs. */
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import {
  type AttributeChange,
  type FoldedSet,
  FoldedSets,
  type SaidChange,
  type ScalarChange,
} from '../../domain/attributes/attribute-change.ts';
import type { ScalarType } from '../../domain/attributes/attribute-value.ts';
import { applySetOperations, type SetOperation, type SetOutcome } from '../../domain/attributes/set-actions.ts';
import { escaped } from '../core/copy-out.ts';
import { RowsMoved, type Tx } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import type { Secrets } from '../core/secrets.ts';
import { inSlices } from '../core/yield-to-event-loop.ts';
import { findErased, hasErased, personKey } from '../gdpr/tombstones.ts';
import { CUSTOMER_TYPE_CODE } from './attribute-values.ts';
import { insertDryRunIds } from './similar-ids.ts';
import { type ChangedSet, storedSets, type StoredSets } from './stored-sets.ts';

/** A row that only the merge can refuse: of an erased person, or of a Set that grew too large. */
export type MergeRefusal = { line: number; attributeId: number; erasedHash: Buffer } | SetRefusal;

/** With fewer values a customer, a scan is no faster than looking up each value. */
const ROWS_OF_A_CUSTOMER = 4;

const PORTION = 500;

export type PreparedChanges = StagedScalars & {
  sets: readonly FoldedSet[];
  changes: () => Promise<readonly AttributeChange[]>;
};

/**
 * Prepares a merge without the database, so that it can run during the merge before it. Takes small portions: a few
 * thousand short-lived changes cost the garbage collector almost nothing, a whole batch as much as all other work.
 */
export class ChangesPreparation {
  readonly #staged: Buffer[] = [];
  readonly #sets = new FoldedSets();
  readonly #attributes = new Set<number>();
  #scalars = 0;
  #runs = 0;
  #lastCustomer = '';

  add(changes: readonly AttributeChange[]): void {
    let lines = '';
    for (const change of changes) {
      if (change.kind === 'value') {
        lines += stagedLine(change);
        this.#count(change);
      } else this.#sets.add(change);
    }
    if (lines !== '') this.#staged.push(Buffer.from(lines));
  }

  #count({ customerId, attributeId }: ScalarChange): void {
    this.#scalars += 1;
    this.#attributes.add(attributeId);
    if (customerId === this.#lastCustomer) return;
    this.#runs += 1;
    this.#lastCustomer = customerId;
  }

  /** Ensures that a scan of these attributes of these customers reads at most twice as many values as are staged. */
  get #isByCustomer(): boolean {
    return this.#scalars >= ROWS_OF_A_CUSTOMER * this.#runs && 2 * this.#scalars >= this.#runs * this.#attributes.size;
  }

  get sets(): number {
    return this.#sets.size;
  }

  prepared(changes: () => Promise<readonly AttributeChange[]>): PreparedChanges {
    return { staged: this.#staged, isByCustomer: this.#isByCustomer, sets: this.#sets.all(), changes };
  }
}

export function prepareChanges(changes: readonly AttributeChange[]): PreparedChanges {
  const preparation = new ChangesPreparation();
  preparation.add(changes);
  return preparation.prepared(async () => changes);
}

/**
 * Merges attribute values and leaves out erased people. An unchanged value is not written, and keeps its time. Runs in
 * the caller's transaction (`write` with `collide`: keys may be inserted elsewhere meanwhile). Locks keys in order of
 * the primary key. For the import `dryRunOf` it rolls back and returns the same refusals. A value `said` before the
 * stored one changes nothing; changes of Sets apply in the order of their commits, except traits.
 */
export async function mergeAttributeValues(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  sorId: number,
  prepared: PreparedChanges,
  { dryRunOf = null, said = {} }: { dryRunOf?: number | null; said?: Said } = {},
): Promise<MergeRefusal[]> {
  const { living, refusals } = await leaveOutErased(tx, secrets, entityId, prepared);
  if (living.staged.length > 0) {
    await stageScalars(tx, living);
    if (dryRunOf === null) await mergeScalars(tx, entityId, sorId, living, said);
    else await takenBack(tx, () => mergeScalars(tx, entityId, sorId, living, said));
  }
  if (dryRunOf !== null) await insertDryRunIds(tx, entityId, dryRunOf, living.sets, living.staged.length > 0);
  const sets = storedSets(tx, entityId, sorId, dryRunOf);
  return [...refusals, ...(await mergeSets(tx, entityId, sorId, sets, living.sets, said))];
}

async function takenBack(tx: Tx, work: () => Promise<void>): Promise<void> {
  await tx.query('SAVEPOINT before_dry_run');
  await work();
  await tx.query('ROLLBACK TO SAVEPOINT before_dry_run');
}

async function leaveOutErased(tx: Tx, secrets: Secrets, entityId: number, prepared: PreparedChanges) {
  const refusals: MergeRefusal[] = [];
  if (!(await hasErased(tx, entityId))) return { living: prepared, refusals };
  const changes = await prepared.changes();
  const erased = await findErased(tx, secrets, entityId, () => changes);
  if (erased.size === 0) return { living: prepared, refusals };
  const living: AttributeChange[] = [];
  await inSlices(changes, (change) => {
    const erasedHash = erased.get(personKey(change));
    if (erasedHash) refusals.push({ line: change.line, attributeId: change.attributeId, erasedHash });
    else living.push(change);
  });
  const preparation = new ChangesPreparation();
  await inSlices(portionsOf(living), (portion) => preparation.add(portion));
  return { living: preparation.prepared(async () => living), refusals };
}

function* portionsOf(changes: readonly AttributeChange[]): Generator<readonly AttributeChange[]> {
  for (let at = 0; at < changes.length; at += PORTION) yield changes.slice(at, at + PORTION);
}

type SetRefusal = SetOutcome['failures'][number] & Pick<FoldedSet, 'customerId' | 'attributeId'>;

/** Maximum number of stored elements in memory: 50 MB if each has the maximum length. */
const ELEMENTS_AT_ONCE = 50_000;

/** `takesTraits`: calls may come late, so an unchanged Set writes its time, too. */
type Circumstances = {
  now: Date;
  at: Date;
  takesTraits: boolean;
  older: Set<number> | undefined;
  isCorrection: boolean;
};

/** Merges Sets in portions, in file order. Neither an older trait nor a correction replaces a later change. */
async function mergeSets(
  tx: Tx,
  entityId: number,
  sorId: number,
  stored: StoredSets,
  sets: readonly FoldedSet[],
  { at, older, isCorrection = false }: Said,
): Promise<SetRefusal[]> {
  if (sets.length === 0) return [];
  await tx.query(LOOK_UP_BY_KEY);
  const { rows } = await tx.query<{ now: Date; takes_traits: boolean }>(
    `SELECT now(), ${TAKES_TRAITS} AS takes_traits`,
    [entityId, sorId],
  );
  const { now, takes_traits: takesTraits } = rows[0]!;
  const refusals: SetRefusal[] = [];
  for (const portion of portions(sets, await stored.lock(sets))) {
    refusals.push(...(await mergePortion(stored, portion, { now, at: at ?? now, takesTraits, older, isCorrection })));
  }
  return refusals;
}

function* portions(sets: readonly FoldedSet[], sizes: Map<number, number>): Generator<FoldedSet[]> {
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
  stored: StoredSets,
  sets: FoldedSet[],
  circumstances: Circumstances,
): Promise<SetRefusal[]> {
  const { now, takesTraits } = circumstances;
  const found = await stored.find(sets);
  const refusals: SetRefusal[] = [];
  const changed: ChangedSet[] = [];
  for (const [ordinal, set] of sets.entries()) {
    const known = found.get(ordinal);
    const { operations, saidAt } = leaveOutOlder(set.operations, known?.saidAt ?? null, circumstances);
    const result = applySetOperations(known?.elements ?? [], operations, now.toISOString());
    refusals.push(
      ...result.failures.map((failure) => ({ ...failure, customerId: set.customerId, attributeId: set.attributeId })),
    );
    const isRenewed = takesTraits && operations.length > 0 && saidAt?.getTime() !== known?.saidAt?.getTime();
    if (!result.changed && !isRenewed) continue;
    const state = {
      isSame: !result.changed,
      isStored: known !== undefined,
      isNew: known === undefined || known.isRemoved,
    };
    changed.push({ set, elements: result.elements, saidAt, ...state });
  }
  await stored.save(changed);
  return refusals;
}

function leaveOutOlder(
  operations: readonly (SetOperation & SaidChange)[],
  storedAt: Date | null,
  { at, older, isCorrection }: Circumstances,
): { operations: SetOperation[]; saidAt: Date | null } {
  let latest = storedAt;
  const left = operations.filter(({ line, action, saidAt = at, isTrait }) => {
    const isOlder = latest !== null && saidAt < latest;
    if (isOlder && isTrait) older?.add(line);
    if (!isOlder) latest = saidAt;
    return !isOlder || (!isTrait && !(isCorrection && (action === 'UPSERT' || action === 'DEL')));
  });
  return { operations: left, saidAt: latest };
}

type StagedScalars = {
  staged: readonly Buffer[];
  /** True if the scalars of each customer are consecutive, and all customers have mostly the same attributes. */
  isByCustomer: boolean;
};

/** Temporary: outside the write-ahead log. One round trip, because Postgres waits for us between two. */
const PREPARE_STAGING = `${LOOK_UP_BY_KEY};
CREATE TEMPORARY TABLE IF NOT EXISTS staged_values (
  customer_id text COLLATE "C", customer_type smallint, attribute_id integer, line bigint, value_type smallint,
  said_at timestamptz, value text COLLATE "C") ON COMMIT DELETE ROWS;
TRUNCATE staged_values`;

async function stageScalars(tx: Tx, { staged, isByCustomer }: StagedScalars): Promise<void> {
  await tx.query(isByCustomer ? `${PREPARE_STAGING};SET LOCAL enable_hashjoin = on` : PREPARE_STAGING);
  await pipeline(staged, tx.query(copyFrom('COPY staged_values FROM STDIN')));
}

const TYPE_CODE: Record<ScalarType, number> = { String: 0, Number: 1, Boolean: 2, Date: 3, Datetime: 4 };

/** Writes one line of COPY, by hand because it runs for every row; `copyLine` is slower. A removed value is NULL. */
function stagedLine({ customerId, customerType, attributeId, line, valueType, saidAt, value }: ScalarChange): string {
  const text = value === null ? '\\N' : valueType === 'String' ? escaped(value as string) : String(value);
  const key = `${escaped(customerId)}\t${CUSTOMER_TYPE_CODE[customerType]}\t${attributeId}\t${line}`;
  return `${key}\t${TYPE_CODE[valueType]}\t${saidAt === undefined ? '\\N' : saidAt.toISOString()}\t${text}\n`;
}

/**
 * When the values were said; default: now. `isFeed`: requests come in the order of acceptance. `runId`: the sync's run,
 * which does not wait for its own work. `older`: collects lines of values said before the stored ones, if given.
 * `isCorrection`: a re-drive, which does not replace a Set that was changed later.
 */
export type Said = { at?: Date; isFeed?: boolean; runId?: number; older?: Set<number>; isCorrection?: boolean };

const TAKES_TRAITS = `EXISTS (
  SELECT FROM systems_of_records o WHERE o.entity_id = $1 AND o.id = $2 AND (o.type = 'app' OR o.type = 'global' AND EXISTS (
    SELECT FROM systems_of_records a WHERE a.entity_id = $1 AND a.type = 'app')))`;

/**
 * Looks up each staged row once, then updates rows that differ and inserts missing ones: a plain INSERT is much cheaper
 * than ON CONFLICT. All statements follow the order of the primary key, so merges of the same keys don't deadlock.
 * Changed customers go into the change log. A row said before the stored value changes nothing: of two imports the one
 * accepted last wins, whichever commits last. If work accepted earlier is still to come, or SDK calls may come late, an
 * unchanged row writes its time, and the removal of a missing value writes a row, so that the earlier value loses to
 * them, too.
 */
async function mergeScalars(
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
 * The staged values, the last line of each key, in order of the primary key. Entity and SoR are columns of this side,
 * which the planner cannot see through. As constants on the other it would estimate their rows, guess one if ANALYZE is
 * older than the SoR, and read the whole SoR for every staged row.
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

/** `is_new`: the customer may not be in `customers` yet; removing a value that never existed adds no customer. */
const IS_SAME = `v.entity_id IS NOT NULL AND NOT (${DIFFERS}) AS is_same, v.entity_id IS NULL OR v.removed_at IS NOT NULL AS is_new`;

/** Checks for work that may still bring an earlier value: SDK calls, earlier work; the feed keeps its own order. */
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

const FOUND_BY_KEY = `SELECT s.*, v.ctid AS tid, ${IS_SAME} FROM ${STAGED_IN_ORDER} s LEFT JOIN attribute_values v ON ${SAME_KEY}
  WHERE ${IS_NEWS}`;

/** Reads the adjacent values of all staged customers in one scan. The full join forces a hash join. */
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
