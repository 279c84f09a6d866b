/** Steps that erase: they collect ids, apply holds, raise tombstones, and erase each location until none is left. */
import { TELLING_EXPORTERS } from '../../domain/gdpr/deletion-list.ts';
import { type JobClaim, JobGone, type JobRef } from '../../domain/jobs/job.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { findNow, findOlderWritersMs } from '../../store/core/open-window.ts';
import { findSyncCopies, noteSyncCopies } from '../../store/gdpr/copies.ts';
import { insertDeletionLists } from '../../store/gdpr/export-deletions.ts';
import { applyHolds, type Counted } from '../../store/gdpr/holds.ts';
import { hashesOf } from '../../store/gdpr/people-keys.ts';
import type { ErasingLocation, KnownBy } from '../../store/gdpr/personal-data-location.ts';
import * as registry from '../../store/gdpr/personal-data-registry.ts';
import type { LocationToErase } from '../../store/gdpr/personal-data-registry.ts';
import * as progress from '../../store/gdpr/progress.ts';
import { listGdprPeople } from '../../store/gdpr/requests.ts';
import { listIdsToRaise } from '../../store/gdpr/shared-ids.ts';
import * as tombstones from '../../store/gdpr/tombstone-batches.ts';
import type { Person } from '../../store/gdpr/tombstones.ts';
import { isJobCurrent } from '../../store/jobs/jobs.ts';
import { listRunsOfFailed } from '../../store/sends/sends.ts';
import { cancelSend } from '../../temporal/flows.ts';
import { heartbeating, stopIfAsked } from '../core/heartbeat.ts';
import { inSlot } from '../core/in-slot.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { mailAboutRequest } from './mail-about-request.ts';
import {
  type ClaimedRequest,
  claimRequest,
  collectIdentifiersToShow,
  discardRequest,
  inGdprSlot,
  listPending,
  recordError,
  startNextUnvouched,
} from './request-steps.ts';
import { tellExporters } from './tell-exporters.ts';
import { writeReceipt } from './write-receipt.ts';

/** Maximum number of people, and of ids, in one statement. */
const PEOPLE_AT_ONCE = 1_000;
const IDS_AT_ONCE = 5_000;

type Pass = { erased: number; survivors: number };

type Collected = Counted & { added: number };

async function collectIdentifiers(deps: Dependencies, claim: JobClaim): Promise<Collected> {
  const { added } = await collectIdentifiersToShow(deps, claim);
  const { going, held } = await settleHolds(deps, claim, false);
  return { going, held, added };
}

/** Raises the people's tombstones: from here on their data is refused. Returns the time, by the database's clock. */
async function raiseTombstones(deps: Dependencies, claim: JobClaim): Promise<{ sinceMs: number }> {
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
async function waitForOlderWriters({ db }: Dependencies, claim: JobClaim, sinceMs: number): Promise<RetryAfter | null> {
  if (!(await isJobCurrent(db, 'delete', claim))) throw new JobGone();
  // Waits for transactions of the same millisecond as well: dates have no finer unit.
  const openMs = await findOlderWritersMs(db, new Date(sinceMs + 1));
  return openMs > 0 ? { againInMs: openMs } : null;
}

/** Applies holds for the last time. Returns null, and begins nothing, if a tombstone was removed meanwhile. */
async function beginErasing(deps: Dependencies, claim: JobClaim): Promise<Counted | null> {
  const { isMissing, ...counted } = await settleHolds(deps, claim, true);
  deps.boundary('gdpr: erasing begun');
  return isMissing ? null : counted;
}

/** `isMissing`: a tombstone is missing; checked only if erasing `begins`. */
type Settled = Counted & { isMissing: boolean };

/** Applies holds, and readmits ids that this request refused and now leaves alone. */
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

/** Readmits held people and shared devices that this request refused, unless another request erases them. */
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

/** Lists the occupied locations in the order of erasure. Stores which syncs have copies of the people. */
async function listLocations(deps: Dependencies, claim: JobClaim): Promise<registry.LocationToErase[]> {
  await progress.updateStage(deps.db, claim, 'erasing');
  await noteCopies(deps, claim, chunksOf((await listPending(deps.db, claim)).identifiers));
  return registry.listLocations(deps.db, claim.entityId);
}

async function eraseLocation(deps: Dependencies, claim: JobClaim, name: string): Promise<number> {
  const location = registry.erasingLocations.find((found) => found.name === name);
  if (!location) return 0; // of another version
  await throwIfOver(deps, claim);
  return inGdprSlot(deps, claim, 'erasing', async () => {
    try {
      const rows = await eraseAt(deps, claim, location, chunksOf((await listPending(deps.db, claim)).identifiers));
      deps.boundary(`gdpr: erased ${name}`);
      await progress.updateLocationFault(deps.db, claim, name, null);
      return rows;
    } catch (error) {
      return recordLocationError(deps, claim, name, error);
    }
  });
}

/** Lists the locations that still have something of the pending people, or that could not be scanned. */
function listSurvivors(deps: Dependencies, claim: JobClaim): Promise<registry.LocationToErase[]> {
  return inGdprSlot(deps, claim, 'looking again', async () => {
    const chunks = chunksOf((await listPending(deps.db, claim)).identifiers);
    const left: ErasingLocation[] = [];
    const survivors: Record<string, number> = {};
    const writtenBefore = await progress.findErasingSince(deps.db, claim);
    for (const location of registry.erasingLocations) {
      await throwIfOver(deps, claim);
      try {
        const rows = await countAt(deps, claim, location, chunks, writtenBefore);
        if (rows === 0) continue;
        survivors[location.name] = rows;
      } catch (error) {
        await recordLocationError(deps, claim, location.name, error).catch(throwIfGone);
      }
      left.push(location);
    }
    await progress.updateSurvivors(deps.db, claim, survivors);
    deps.boundary('gdpr: looked');
    return left.map(registry.toErase);
  });
}

async function recordLocationError(
  deps: Dependencies,
  claim: JobClaim,
  location: string,
  error: unknown,
): Promise<never> {
  // The end of a worker is no error of the location.
  await throwIfOver(deps, claim);
  return recordError(deps, claim, `${location} could not be erased`, error, (db, key, fault) =>
    progress.updateLocationFault(db, key, location, fault),
  );
}

function throwIfGone(error: unknown): void {
  if (error instanceof JobGone) throw error;
}

async function throwIfOver(deps: Dependencies, claim: JobClaim): Promise<void> {
  stopIfAsked(deps);
  if (!(await isJobCurrent(deps.db, 'delete', claim))) throw new JobGone();
}

/** Serves histories without a step for each location. */
async function erasePass(deps: Dependencies, claim: JobClaim): Promise<Pass> {
  await listLocations(deps, claim);
  let erased = 0;
  for (const { name } of registry.erasingLocations) erased += await eraseLocation(deps, claim, name);
  return { erased, survivors: (await listSurvivors(deps, claim)).length };
}

/** Stores which syncs sent the people's records to other systems, while the records still show it. */
async function noteCopies(deps: Dependencies, claim: JobClaim, chunks: KnownBy[][]): Promise<void> {
  const found = new Set<string>();
  for (const people of chunks) {
    const some = await findSyncCopies(deps, claim.entityId, people).catch((error: unknown) =>
      recordError(deps, claim, 'the syncs that have copies of them could not be looked up', error),
    );
    for (const sync of some) found.add(sync);
  }
  await write(deps.db, async (tx) => {
    const { entityId, identifier: requestIdentifier, round } = await progress.holdGdprRequest(tx, claim);
    await noteSyncCopies(tx, { entityId, requestIdentifier, round }, found);
  });
}

async function eraseAt(
  deps: Dependencies,
  claim: JobClaim,
  location: ErasingLocation,
  chunks: KnownBy[][],
): Promise<number> {
  const tally = (tx: Parameters<typeof progress.addErased>[0], rows: number) =>
    progress.addErased(tx, claim, location.name, rows);
  // Files come after the tables that they are built from.
  const erasure = location.isBuiltFromTables ? await progress.findErasure(deps.db, claim, true) : null;
  return withFileStore(deps, location, async () => {
    let rows = 0;
    for (const people of chunks)
      rows += await location.erase({ ...deps, tally, ...(erasure && { erasure }) }, claim.entityId, people);
    return rows;
  });
}

async function countAt(
  deps: Dependencies,
  claim: JobClaim,
  location: ErasingLocation,
  chunks: KnownBy[][],
  writtenBefore: Date | null,
): Promise<number> {
  const erasure = location.isBuiltFromTables ? await progress.findErasure(deps.db, claim) : null;
  return withFileStore(deps, location, async () => {
    let rows = 0;
    const counted = { ...deps, writtenBefore, ...(erasure && { erasure }) };
    for (const people of chunks) rows += await location.count(counted, claim.entityId, people);
    return rows;
  });
}

/** Works on files only while the file store answers: an empty answer would mean that no file names the person. */
async function withFileStore<T>(
  { files }: Dependencies,
  { name }: ErasingLocation,
  work: () => Promise<T>,
): Promise<T> {
  if (!name.endsWith('/')) return work();
  await files.check();
  const result = await work();
  await files.check();
  return result;
}

/** Splits the ids into chunks of bounded size, without splitting a person. */
function chunksOf(identifiers: (KnownBy & { ordinal: number })[]): KnownBy[][] {
  const chunks: KnownBy[][] = [];
  let people = 0;
  for (const [, own] of Map.groupBy(identifiers, ({ ordinal }) => ordinal)) {
    const last = chunks.at(-1);
    if (last === undefined || people === PEOPLE_AT_ONCE || last.length + own.length > IDS_AT_ONCE) {
      chunks.push([...own]);
      people = 1;
    } else {
      last.push(...own);
      people += 1;
    }
  }
  return chunks;
}

/** Stores the lists for exporters, while the people's ids are known. */
async function listForExporters(deps: Dependencies, claim: JobClaim): Promise<void> {
  await progress.updateStage(deps.db, claim, TELLING_EXPORTERS);
  const { identifiers: people } = await listPending(deps.db, claim);
  await write(deps.db, async (tx) => {
    const { entityId, identifier: requestIdentifier, round } = await progress.holdGdprRequest(tx, claim);
    await insertDeletionLists(tx, deps, { entityId, requestIdentifier, round, erasedAt: await findNow(tx) }, people);
  });
  deps.boundary('gdpr: lists recorded');
  // The erasure may have failed campaigns by their filters.
  for (const run of await listRunsOfFailed(deps.db, claim.entityId)) await cancelSend(deps.temporal, run);
}

export type GdprDeleteSteps = ReturnType<typeof gdprDeleteSteps>;

/** The steps of `workflows/gdpr-delete.ts`. Refused as `request_gone` if another workflow has the request. */
export const gdprDeleteSteps = (deps: Dependencies) => ({
  claimDeletion: (ref: JobRef, workflowRunId: string): Promise<ClaimedRequest | null> =>
    claimRequest(deps, ref, workflowRunId),

  /** In old histories it may also answer with a wait, for a person with too many ids. */
  collectIdentifiers: (claim: JobClaim): Promise<Collected | RetryAfter> =>
    recordingErrors(deps, claim, 'the ids of these people could not be collected', () =>
      collectIdentifiers(deps, claim),
    ),
  raiseTombstones: (claim: JobClaim): Promise<{ sinceMs: number }> =>
    recordingErrors(deps, claim, 'tombstones could not be raised', () => raiseTombstones(deps, claim)),
  olderWriters: (claim: JobClaim, sinceMs: number): Promise<RetryAfter | null> =>
    waitForOlderWriters(deps, claim, sinceMs),
  /** Null: a tombstone is missing, so the workflow raises again. */
  beginErasing: (claim: JobClaim): Promise<Counted | null> =>
    recordingErrors(deps, claim, 'erasing could not begin', () => beginErasing(deps, claim)),
  /** Serves histories from before each location had a step of its own. */
  erasePass: (claim: JobClaim): Promise<Pass> => heartbeating(() => erasePass(deps, claim)),
  listLocations: (claim: JobClaim): Promise<LocationToErase[]> =>
    recordingErrors(deps, claim, 'the locations could not be listed', () => listLocations(deps, claim)),
  eraseLocation: (claim: JobClaim, name: string): Promise<number> =>
    heartbeating(() => eraseLocation(deps, claim, name)),
  /** Names a location in the request whose step timed out three times. */
  giveUpLocation: (claim: JobClaim, name: string): Promise<void> =>
    progress.updateLocationFault(
      deps.db,
      claim,
      name,
      `${name} could not be erased (its worker ended); it is tried again`,
    ),
  listSurvivors: (claim: JobClaim): Promise<LocationToErase[]> =>
    recordingErrors(deps, claim, 'the locations could not be scanned for what is left', () =>
      listSurvivors(deps, claim),
    ),
  listForExporters: (claim: JobClaim): Promise<void> => heartbeating(() => listForExporters(deps, claim)),
  tellExporters: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(() => inSlot(deps.takeDeliverySlot, claim.entityId, () => tellExporters(deps, claim))),
  writeReceipt: (claim: JobClaim): Promise<{ isTreated: boolean }> =>
    heartbeating(async () => {
      const round = await writeReceipt(deps, claim);
      if (round.isTreated) await startNextUnvouched(deps, claim);
      return round;
    }),
  waitForHolds: (claim: JobClaim): Promise<void> => progress.waitForHolds(deps.db, claim),

  mailAboutDeletion: (claim: JobClaim, kind: 'held' | 'treated'): Promise<RetryAfter | null> =>
    heartbeating(() => mailAboutRequest(deps, claim, kind)),

  /** Null once the request is deleted; else when to try again. */
  discardDeletion: (ref: JobRef): Promise<RetryAfter | null> => heartbeating(() => discardRequest(deps, ref)),
});

/** Records a step's error in the status, until the step continues. */
function recordingErrors<T>(deps: Dependencies, claim: JobClaim, what: string, work: () => Promise<T>): Promise<T> {
  return heartbeating(() => work().catch((error: unknown) => recordError(deps, claim, what, error)));
}
