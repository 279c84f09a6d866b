import { Context } from '@temporalio/activity';
import { type JobClaim, JobGone } from '../../domain/jobs/job.ts';
import { write } from '../../store/core/database.ts';
import { findSyncCopies, noteSyncCopies } from '../../store/gdpr/copies.ts';
import type { ErasingLocation, KnownBy } from '../../store/gdpr/personal-data-location.ts';
import { personalData } from '../../store/gdpr/personal-data.ts';
import { addErased, findErasure, holdGdprRequest, updateStage, updateSurvivors } from '../../store/gdpr/progress.ts';
import { isJobCurrent } from '../../store/jobs/jobs.ts';
import type { Dependencies } from '../dependencies.ts';
import { listPendingIdentifiers } from './pending-people.ts';
import { recordError } from './record-error.ts';

/** A statement asks for so many people at once, and for so many ids. */
const PEOPLE_AT_ONCE = 1_000;
const IDS_AT_ONCE = 5_000;

/** Where anything of people may be. What the others have is named nowhere. */
export const LOCATIONS = personalData.filter((location): location is ErasingLocation => location.erase !== null);

export type Pass = { erased: number; survivors: number };

/** Takes away what all locations have of the people who go, in their order, and looks whether anything is left. */
export async function erasePeople(deps: Dependencies, claim: JobClaim): Promise<Pass> {
  const freeSlot = await deps.takeGdprSlot();
  try {
    const chunks = chunksOf(await listPendingIdentifiers(deps.db, claim));
    await updateStage(deps.db, claim, 'erasing');
    await noteCopies(deps, claim, chunks);
    const erased = await atEachLocation(deps, claim, async (location) => {
      const rows = await eraseAt(deps, claim, location, chunks);
      deps.boundary(`gdpr: erased ${location.name}`);
      return rows;
    });
    await updateStage(deps.db, claim, 'looking again');
    const survivors = await atEachLocation(deps, claim, (location) => countAt(deps, claim, location, chunks));
    await updateSurvivors(deps.db, claim, Object.fromEntries([...survivors].filter(([, rows]) => rows > 0)));
    deps.boundary('gdpr: looked');
    return { erased: sum(erased), survivors: sum(survivors) };
  } finally {
    freeSlot();
  }
}

/** Which systems outside know them, while that can be told. */
async function noteCopies(deps: Dependencies, claim: JobClaim, chunks: KnownBy[][]): Promise<void> {
  const found = new Set<string>();
  for (const people of chunks) {
    const some = await findSyncCopies(deps, claim.entityId, people)
      .catch((error: unknown) => recordError(deps, claim, 'the syncs that have copies of them could not be looked up', error));
    for (const sync of some) found.add(sync);
  }
  await write(deps.db, async (tx) => {
    const { entityId, identifier: requestIdentifier, round } = await holdGdprRequest(tx, claim);
    await noteSyncCopies(tx, { entityId, requestIdentifier, round }, found);
  });
}

/** Location by location, as long as the request is this generation's and the step is wanted. What fails is told of, and tried again. */
async function atEachLocation(
  deps: Dependencies, claim: JobClaim, work: (location: ErasingLocation) => Promise<number>,
): Promise<Map<string, number>> {
  const rows = new Map<string, number>();
  for (const location of LOCATIONS) {
    deps.draining.throwIfAborted();
    Context.current().cancellationSignal.throwIfAborted();
    if (!await isJobCurrent(deps.db, 'delete', claim)) throw new JobGone();
    rows.set(location.name, await work(location)
      .catch((error: unknown) => recordError(deps, claim, `${location.name} could not be erased`, error)));
  }
  return rows;
}

async function eraseAt(deps: Dependencies, claim: JobClaim, location: ErasingLocation, chunks: KnownBy[][]): Promise<number> {
  const tally = (tx: Parameters<typeof addErased>[0], rows: number) => addErased(tx, claim, location.name, rows);
  // Files come after the tables that they are built from.
  const erasure = location.isBuiltFromTables ? await findErasure(deps.db, claim, true) : null;
  let rows = 0;
  for (const people of chunks) rows += await location.erase({ ...deps, tally, ...erasure && { erasure } }, claim.entityId, people);
  return rows;
}

async function countAt(deps: Dependencies, claim: JobClaim, location: ErasingLocation, chunks: KnownBy[][]): Promise<number> {
  const erasure = location.isBuiltFromTables ? await findErasure(deps.db, claim) : null;
  let rows = 0;
  for (const people of chunks) rows += await location.count({ ...deps, ...erasure && { erasure } }, claim.entityId, people);
  return rows;
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

function sum(rows: Map<string, number>): number {
  return [...rows.values()].reduce((total, count) => total + count, 0);
}
