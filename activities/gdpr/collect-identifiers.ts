/**
 * The first steps of a privacy request: collects the ids of its people, applies holds, raises tombstones, waits for
 * older writers, and begins to erase.
 */
import { type JobClaim, JobGone } from '../../domain/jobs/job.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { findNow, findOlderWritersMs } from '../../store/core/open-window.ts';
import * as identifiers from '../../store/gdpr/identifiers.ts';
import { hashesOf } from '../../store/gdpr/people-keys.ts';
import * as progress from '../../store/gdpr/progress.ts';
import { listGdprPeople } from '../../store/gdpr/requests.ts';
import { listIdsToRaise } from '../../store/gdpr/shared-ids.ts';
import * as tombstones from '../../store/gdpr/tombstone-batches.ts';
import type { Person } from '../../store/gdpr/tombstones.ts';
import { isJobCurrent } from '../../store/jobs/jobs.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { applyHolds, type Counted } from '../../store/gdpr/holds.ts';

/**
 * Stores the ids that lead to the people; a hold keeps no person from their own data. `added`: how many ids are new.
 */
export async function collectIdentifiersToShow(
  { db, secrets, boundary }: Dependencies,
  claim: JobClaim,
): Promise<{ added: number }> {
  const { entityId, jobId } = claim;
  await progress.updateStage(db, claim, 'gathering');
  await identifiers.updateSubjects(db, secrets, entityId, jobId);
  const found = await identifiers.collectIdentifiers(db, entityId, jobId);
  boundary('gdpr: collected');
  return found;
}

export type Collected = Counted & { added: number };

/** Stores the ids that lead to the people, and applies holds. */
export async function collectIdentifiers(deps: Dependencies, claim: JobClaim): Promise<Collected> {
  const { added } = await collectIdentifiersToShow(deps, claim);
  const { going, held } = await settleHolds(deps, claim, false);
  return { going, held, added };
}

/** Raises the people's tombstones: from here on their data is refused. Returns the time, by the database's clock. */
export async function raiseTombstones(deps: Dependencies, claim: JobClaim): Promise<{ sinceMs: number }> {
  const { db } = deps;
  const { entityId, jobId } = claim;
  await progress.updateStage(db, claim, 'raising tombstones');
  const people = hashed(deps, entityId, await listIdsToRaise(db, entityId, jobId));
  await tombstones.raiseTombstones(
    deps,
    entityId,
    people.map(({ hash }) => hash),
    (tx, raised) => tombstones.updateRaised(tx, claim, people, raised),
  );
  deps.boundary('gdpr: raised');
  return { sinceMs: (await findNow(db)).getTime() };
}

/** Returns null once no transaction is open that may have looked for the tombstones before they were raised. */
export async function waitForOlderWriters(
  { db }: Dependencies,
  claim: JobClaim,
  sinceMs: number,
): Promise<RetryAfter | null> {
  if (!(await isJobCurrent(db, 'delete', claim))) throw new JobGone();
  // Waits for transactions of the same millisecond as well: dates have no finer unit.
  const openMs = await findOlderWritersMs(db, new Date(sinceMs + 1));
  return openMs > 0 ? { againInMs: openMs } : null;
}

/**
 * Applies holds for the last time: a later hold comes too late for this round. Returns null, and begins nothing, if a
 * tombstone is missing: another request readmitted the id for a person on hold, or a device now belongs to one person.
 */
export async function beginErasing(deps: Dependencies, claim: JobClaim): Promise<Counted | null> {
  const { isMissing, ...counted } = await settleHolds(deps, claim, true);
  deps.boundary('gdpr: erasing begun');
  return isMissing ? null : counted;
}

/** `isMissing`: a tombstone is missing; checked only if erasing `begins`. */
type Settled = Counted & { isMissing: boolean };

/**
 * Applies holds, and readmits ids whose tombstones this request raised for people or devices that it now leaves alone.
 */
async function settleHolds(deps: Dependencies, claim: JobClaim, begins: boolean): Promise<Settled> {
  const readmitted = new Set<string>();
  for (;;) {
    const { refused, ...settled } = await write(deps.db, (tx) => settleOnce(tx, deps, claim, { begins, readmitted }));
    if (settled.held > 0 || refused.length > 0) await readmitHeld(deps, claim, refused);
    if (refused.length === 0) return settled;
    for (const { customerId } of refused) readmitted.add(customerId);
  }
}

async function settleOnce(
  tx: Tx,
  deps: Dependencies,
  claim: JobClaim,
  { begins, readmitted }: { begins: boolean; readmitted: ReadonlySet<string> },
): Promise<Settled & { refused: Person[] }> {
  const { entityId, jobId } = claim;
  // The lock order of readmissions: batches first, then the request.
  if (begins) await tombstones.lockBatches(tx, entityId);
  const request = await progress.holdGdprRequest(tx, claim);
  const counted = await applyHolds(tx, claim, readmitted);
  if (!begins || counted.refused.length > 0) return { ...counted, isMissing: false };
  const hashes = hashesOf(deps.secrets, entityId, await listIdsToRaise(tx, entityId, jobId));
  const isMissing = (await tombstones.listMissingTombstones(tx, entityId, hashes)).length > 0;
  if (!isMissing) await progress.beginErasing(tx, request);
  return { ...counted, isMissing };
}

/**
 * Removes the tombstones that this request raised for people who are on hold now, and for devices that other people
 * use. Keeps those of people that another request erases, or has erased since.
 */
async function readmitHeld(deps: Dependencies, claim: JobClaim, devices: readonly Person[]): Promise<void> {
  const { entityId, jobId } = claim;
  const held = (await listGdprPeople(deps.db, entityId, jobId))
    .filter(({ state }) => state === 'held')
    .map(({ ordinal }) => ordinal);
  const raised = hashed(deps, entityId, [...(await tombstones.listRaised(deps.db, claim, held)), ...devices]);
  if (raised.length === 0) return;
  await tombstones.readmit(
    deps,
    entityId,
    raised.map(({ hash }) => hash),
    async () => {},
    (tx) => tombstones.listNotErased(tx, claim, raised),
  );
}

function hashed(deps: Dependencies, entityId: number, people: readonly Person[]): tombstones.Hashed[] {
  return people.map((person) => ({
    ...person,
    hash: deps.secrets.customerHash(entityId, person.customerType, person.customerId),
  }));
}
