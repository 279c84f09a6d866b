import { Context } from '@temporalio/activity';
import { write } from '../../store/core/database.ts';
import { findSyncCopies, noteSyncCopies } from '../../store/gdpr/copies.ts';
import { personalData } from '../../store/gdpr/personal-data.ts';
import type { ErasingPlace, KnownBy } from '../../store/gdpr/place.ts';
import {
  addErased, type GdprClaim, GdprGone, holdGdprRequest, isGdprCurrent, updateStage, updateSurvivors,
} from '../../store/gdpr/progress.ts';
import type { Needs } from '../needs.ts';
import { listGoingIdentifiers } from './going.ts';
import { tellFault } from './tell-fault.ts';

/** A statement asks for so many people at once, and for so many ids. */
const PEOPLE_AT_ONCE = 1_000;
const IDS_AT_ONCE = 5_000;

/** Where anything of people may be. What the others have is named nowhere. */
export const PLACES = personalData.filter((place): place is ErasingPlace => place.erase !== null);

export type Pass = { erased: number; survivors: number };

/** Takes away what all places have of the people who go, in their order, and looks whether anything is left. */
export async function erasePeople(needs: Needs, claim: GdprClaim): Promise<Pass> {
  const endTurn = await needs.gdprTurn();
  try {
    const chunks = chunksOf(await listGoingIdentifiers(needs.db, claim));
    await updateStage(needs.db, claim, 'erasing');
    await noteCopies(needs, claim, chunks);
    const erased = await atEachPlace(needs, claim, async (place) => {
      const rows = await eraseAt(needs, claim, place, chunks);
      needs.boundary(`gdpr: erased ${place.name}`);
      return rows;
    });
    await updateStage(needs.db, claim, 'looking again');
    const survivors = await atEachPlace(needs, claim, (place) => countAt(needs, claim, place, chunks));
    await updateSurvivors(needs.db, claim, Object.fromEntries([...survivors].filter(([, rows]) => rows > 0)));
    needs.boundary('gdpr: looked');
    return { erased: sum(erased), survivors: sum(survivors) };
  } finally {
    endTurn();
  }
}

/** Which systems outside know them, while that can be told. */
async function noteCopies(needs: Needs, claim: GdprClaim, chunks: KnownBy[][]): Promise<void> {
  const found = new Set<string>();
  for (const people of chunks) {
    const some = await findSyncCopies(needs, claim.entityId, people)
      .catch((error: unknown) => tellFault(needs, claim, 'whom else they are known to could not be looked up', error));
    for (const sync of some) found.add(sync);
  }
  await write(needs.db, async (tx) => {
    const { entityId, identifier: requestIdentifier, round } = await holdGdprRequest(tx, claim);
    await noteSyncCopies(tx, { entityId, requestIdentifier, round }, found);
  });
}

/** Place by place, as long as the request is this generation's and the step is wanted. What fails is told of, and tried again. */
async function atEachPlace(
  needs: Needs, claim: GdprClaim, work: (place: ErasingPlace) => Promise<number>,
): Promise<Map<string, number>> {
  const rows = new Map<string, number>();
  for (const place of PLACES) {
    needs.draining.throwIfAborted();
    Context.current().cancellationSignal.throwIfAborted();
    if (!await isGdprCurrent(needs.db, claim)) throw new GdprGone();
    rows.set(place.name, await work(place)
      .catch((error: unknown) => tellFault(needs, claim, `${place.name} could not be erased`, error)));
  }
  return rows;
}

async function eraseAt(needs: Needs, claim: GdprClaim, place: ErasingPlace, chunks: KnownBy[][]): Promise<number> {
  const tally = (tx: Parameters<typeof addErased>[0], rows: number) => addErased(tx, claim, place.name, rows);
  let rows = 0;
  for (const people of chunks) rows += await place.erase({ ...needs, tally }, claim.entityId, people);
  return rows;
}

async function countAt(needs: Needs, { entityId }: GdprClaim, place: ErasingPlace, chunks: KnownBy[][]): Promise<number> {
  let rows = 0;
  for (const people of chunks) rows += await place.count(needs, entityId, people);
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
