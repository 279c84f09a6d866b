import { type JobClaim, JobGone } from '../../domain/jobs/job.ts';
import { write } from '../../store/core/database.ts';
import { findSyncCopies, noteSyncCopies } from '../../store/gdpr/copies.ts';
import type { ErasingLocation, KnownBy } from '../../store/gdpr/personal-data-location.ts';
import {
  erasingLocations,
  listLocations,
  type LocationToErase,
  toErase,
} from '../../store/gdpr/personal-data-registry.ts';
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
import { inGdprSlot } from './in-slot.ts';
import { listPendingIdentifiers } from './pending-people.ts';
import { recordError } from './record-error.ts';

/** A statement asks for so many people at once, and for so many ids. */
const PEOPLE_AT_ONCE = 1_000;
const IDS_AT_ONCE = 5_000;

export type Pass = { erased: number; survivors: number };

/**
 * Returns the locations that may have something of the people who go, in the order in which they are erased: each area
 * of files, and each table in which the entity has any row.
 */
export async function listLocationsToErase(deps: Dependencies, claim: JobClaim): Promise<LocationToErase[]> {
  await updateStage(deps.db, claim, 'erasing');
  await noteCopies(deps, claim, chunksOf(await listPendingIdentifiers(deps.db, claim)));
  return listLocations(deps.db, claim.entityId);
}

/**
 * Takes away what one location has of the people who go, and returns how many rows and files went. The request names a
 * location that fails, until it is erased.
 */
export async function eraseOneLocation(deps: Dependencies, claim: JobClaim, name: string): Promise<number> {
  const location = erasingLocations.find((found) => found.name === name);
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

/**
 * Returns the locations in which a look still finds something of the people who go, or into which it could not look.
 */
export function listSurvivingLocations(deps: Dependencies, claim: JobClaim): Promise<LocationToErase[]> {
  return inGdprSlot(deps, claim, 'looking again', async () => {
    const chunks = chunksOf(await listPendingIdentifiers(deps.db, claim));
    const left: ErasingLocation[] = [];
    const survivors: Record<string, number> = {};
    const writtenBefore = await findErasingSince(deps.db, claim);
    for (const location of erasingLocations) {
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
    return left.map(toErase);
  });
}

async function recordLocationError(
  deps: Dependencies,
  claim: JobClaim,
  location: string,
  error: unknown,
): Promise<never> {
  // That a worker ends is no fault of the location.
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

/**
 * Takes away what all locations have of the people who go, and looks again: the step of histories without a step for
 * each location.
 */
export async function erasePeople(deps: Dependencies, claim: JobClaim): Promise<Pass> {
  await listLocationsToErase(deps, claim);
  let erased = 0;
  for (const { name } of erasingLocations) erased += await eraseOneLocation(deps, claim, name);
  return { erased, survivors: (await listSurvivingLocations(deps, claim)).length };
}

/** Which systems outside know them, while that can be told. */
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

/** Looks into an area of files only while the file store is there: else no file names anybody. */
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

/** The ids of so many people at once; those of one are never parted. */
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
