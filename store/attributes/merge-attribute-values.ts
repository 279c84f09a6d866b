/** Merges attribute values: the one way in for imports, feeds, syncs and SDKs. */
import {
  type AttributeChange,
  type FoldedSet,
  FoldedSets,
  type SaidChange,
  type ScalarChange,
} from '../../domain/attributes/attribute-change.ts';
import { applySetOperations, type SetOperation, type SetOutcome } from '../../domain/attributes/set-actions.ts';
import type { Tx } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import type { Secrets } from '../core/secrets.ts';
import { inSlices } from '../core/yield-to-event-loop.ts';
import { findErased, hasErased, personKey } from '../gdpr/tombstones.ts';
import {
  mergeScalars,
  type Said,
  stagedLine,
  type StagedScalars,
  stageScalars,
  TAKES_TRAITS,
} from './merge-scalars.ts';
import { insertIdsOfSets, insertStagedIds } from './similar-ids.ts';
import { type ChangedSet, dryRunSets, storedSets, type StoredSets } from './stored-sets.ts';

/** A row that only the merge can refuse: of an erased person, or of a Set that grew too large. */
export type MergeRefusal = { line: number; attributeId: number; erasedHash: Buffer } | SetRefusal;

/** With fewer values a customer, a scan is no faster than looking up each value. */
const ROWS_OF_A_CUSTOMER = 4;

/** Maximum number of changes that are prepared at once. */
const PORTION = 500;

/** Input of a merge: scalars as COPY text in the order of their lines, Sets folded. */
export type PreparedChanges = StagedScalars & {
  sets: readonly FoldedSet[];
  /** Returns the changes themselves; called only if some person is erased. */
  changes: () => Promise<readonly AttributeChange[]>;
};

/**
 * Prepares a merge without the database, so that it can run during the merge before it. Takes changes in small
 * portions: a few thousand short-lived ones cost the garbage collector almost nothing, while a whole batch kept to its
 * end costs as much as all other work on its rows.
 */
export class ChangesPreparation {
  readonly #staged: Buffer[] = [];
  readonly #sets = new FoldedSets();
  readonly #attributes = new Set<number>();
  #scalars = 0;
  /** Number of scalars whose customer is not that of the scalar before. */
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

  /**
   * Ensures that a scan of all these attributes of all these customers reads at most twice as many values as are
   * staged.
   */
  get #isByCustomer(): boolean {
    return this.#scalars >= ROWS_OF_A_CUSTOMER * this.#runs && 2 * this.#scalars >= this.#runs * this.#attributes.size;
  }

  /** Number of different Sets so far. */
  get sets(): number {
    return this.#sets.size;
  }

  /** `changes` makes the changes again. */
  prepared(changes: () => Promise<readonly AttributeChange[]>): PreparedChanges {
    return { staged: this.#staged, isByCustomer: this.#isByCustomer, sets: this.#sets.all(), changes };
  }
}

/** Prepares changes that are all in memory. */
export function prepareChanges(changes: readonly AttributeChange[]): PreparedChanges {
  const preparation = new ChangesPreparation();
  preparation.add(changes);
  return preparation.prepared(async () => changes);
}

/**
 * Merges attribute values and leaves out erased people. A value that stays the same is not written, and keeps its time.
 *
 * Runs in the caller's transaction, which is retried if a key that it inserts was inserted elsewhere meanwhile (`write`
 * with `collide`). Locks keys in the order of the primary key. For the import `dryRunOf` it rolls its changes back and
 * returns the same refusals. A value `said` before the stored one changes nothing; changes of Sets apply in the order
 * of their commits, except traits.
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
    else {
      await takenBack(tx, () => mergeScalars(tx, entityId, sorId, living, said));
      await insertStagedIds(tx, entityId, dryRunOf);
    }
  }
  if (dryRunOf !== null) await insertIdsOfSets(tx, entityId, dryRunOf, living.sets);
  const sets = dryRunOf === null ? storedSets(tx, entityId, sorId) : dryRunSets(tx, entityId, sorId, dryRunOf);
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

/** An ADD that would make its stored Set too large. */
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

/**
 * Reads Sets in portions of ELEMENTS_AT_ONCE, applies their operations in file order, and writes changed ones. A trait
 * said before the stored Set changes nothing, nor does a correction that would replace a later change.
 */
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

/** Yields portions of Sets with few enough stored elements. */
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

/** Returns the remaining operations, and the later of their latest time and the stored Set's. */
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
