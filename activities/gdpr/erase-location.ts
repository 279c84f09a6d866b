/** The steps that erase: list the locations, erase one location, scan all of them for survivors. */
import { type JobClaim, JobGone } from '../../domain/jobs/job.ts';
import { write } from '../../store/core/database.ts';
import { findSyncCopies, noteSyncCopies } from '../../store/gdpr/copies.ts';
import type { ErasingLocation, KnownBy } from '../../store/gdpr/personal-data-location.ts';
import * as registry from '../../store/gdpr/personal-data-registry.ts';
import {
  addErased,
  deleteLocationFault,
  findErasingSince,
  findErasure,
  holdGdprRequest,
  updateLocationFault,
  updateStage,
  updateSurvivors,
} from '../../store/gdpr/progress.ts';
import { isJobCurrent } from '../../store/jobs/jobs.ts';
import { stopIfAsked } from '../core/stop-if-asked.ts';
import type { Dependencies } from '../dependencies.ts';
import { inGdprSlot, listPendingIdentifiers, recordError } from './request-steps.ts';

/** Maximum number of people, and of ids, in one statement. */
const PEOPLE_AT_ONCE = 1_000;
const IDS_AT_ONCE = 5_000;

export type Pass = { erased: number; survivors: number };

/**
 * Lists the locations to erase, in order: each area of files, and each table in which the entity has a row. Stores
 * which syncs have copies of the people.
 */
export async function listLocations(deps: Dependencies, claim: JobClaim): Promise<registry.LocationToErase[]> {
  await updateStage(deps.db, claim, 'erasing');
  await noteCopies(deps, claim, chunksOf(await listPendingIdentifiers(deps.db, claim)));
  return registry.listLocations(deps.db, claim.entityId);
}

/**
 * Erases the pending people in one location, and returns how many rows and files changed. The request names a location
 * that fails, until it is erased.
 */
export async function eraseLocation(deps: Dependencies, claim: JobClaim, name: string): Promise<number> {
  const location = registry.erasingLocations.find((found) => found.name === name);
  if (!location) return 0; // of another version
  await throwIfOver(deps, claim);
  return inGdprSlot(deps, claim, 'erasing', async () => {
    try {
      const rows = await eraseAt(deps, claim, location, chunksOf(await listPendingIdentifiers(deps.db, claim)));
      deps.boundary(`gdpr: erased ${name}`);
      await deleteLocationFault(deps.db, claim, name);
      return rows;
    } catch (error) {
      return recordLocationError(deps, claim, name, error);
    }
  });
}

/** Lists the locations that still have something of the pending people, or that could not be scanned. */
export function listSurvivors(deps: Dependencies, claim: JobClaim): Promise<registry.LocationToErase[]> {
  return inGdprSlot(deps, claim, 'looking again', async () => {
    const chunks = chunksOf(await listPendingIdentifiers(deps.db, claim));
    const left: ErasingLocation[] = [];
    const survivors: Record<string, number> = {};
    const writtenBefore = await findErasingSince(deps.db, claim);
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
    await updateSurvivors(deps.db, claim, survivors);
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
    updateLocationFault(db, key, location, fault),
  );
}

function throwIfGone(error: unknown): void {
  if (error instanceof JobGone) throw error;
}

async function throwIfOver(deps: Dependencies, claim: JobClaim): Promise<void> {
  stopIfAsked(deps);
  if (!(await isJobCurrent(deps.db, 'delete', claim))) throw new JobGone();
}

/** Erases all locations and scans them: the step of histories without a step for each location. */
export async function erasePass(deps: Dependencies, claim: JobClaim): Promise<Pass> {
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
    const { entityId, identifier: requestIdentifier, round } = await holdGdprRequest(tx, claim);
    await noteSyncCopies(tx, { entityId, requestIdentifier, round }, found);
  });
}

async function eraseAt(
  deps: Dependencies,
  claim: JobClaim,
  location: ErasingLocation,
  chunks: KnownBy[][],
): Promise<number> {
  const tally = (tx: Parameters<typeof addErased>[0], rows: number) => addErased(tx, claim, location.name, rows);
  // Files come after the tables that they are built from.
  const erasure = location.isBuiltFromTables ? await findErasure(deps.db, claim, true) : null;
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
  const erasure = location.isBuiltFromTables ? await findErasure(deps.db, claim) : null;
  return withFileStore(deps, location, async () => {
    let rows = 0;
    const counted = { ...deps, writtenBefore, ...(erasure && { erasure }) };
    for (const people of chunks) rows += await location.count(counted, claim.entityId, people);
    return rows;
  });
}

/**
 * Works on an area of files only while the file store answers: an empty answer would mean that no file names the
 * person.
 */
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
