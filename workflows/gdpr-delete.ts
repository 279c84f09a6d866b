import {
  ActivityFailure,
  condition,
  continueAsNew,
  defineSignal,
  isCancellation,
  patched,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { GdprDeleteSteps } from '../activities/gdpr/gdpr-delete.ts';
import { backOff } from '../domain/time/durations.ts';
import type { JobClaim, JobRef } from '../domain/jobs/job.ts';
import { GDPR_HOLDS_CHANGED } from '../domain/jobs/workflow-id.ts';
import {
  BULK_STEPS,
  claimed,
  isJobGone,
  MAIL_STEPS,
  pause,
  SHORT_STEPS,
  untilSettled,
  WAITS_OF_A_RUN,
} from './job-steps.ts';

const { claimDeletion, olderWriters, waitForHolds, giveUpLocation } = proxyActivities<GdprDeleteSteps>(SHORT_STEPS);
const {
  collectIdentifiers,
  raiseTombstones,
  beginErasing,
  erasePass,
  listLocations,
  listSurvivors,
  listForExporters,
  tellExporters,
  writeReceipt,
  discardDeletion,
} = proxyActivities<GdprDeleteSteps>(BULK_STEPS);
/** After three attempts the other locations go on. */
const { eraseLocation } = proxyActivities<GdprDeleteSteps>({
  ...BULK_STEPS,
  retry: { ...BULK_STEPS.retry, maximumAttempts: 3 },
});
const { mailAboutDeletion } = proxyActivities<GdprDeleteSteps>(MAIL_STEPS);

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 5 * 60_000;
/** Should the signal that a hold went be lost. */
const LOOK_FOR_HOLDS_EVERY = '1 hour';

/** Erases people on request, and says "treated" only when a second look finds nothing of them. */
export async function gdprDelete(ref: JobRef, waitsOfARun = WAITS_OF_A_RUN): Promise<void> {
  let haveHoldsChanged = false;
  setHandler(defineSignal(GDPR_HOLDS_CHANGED), () => {
    haveHoldsChanged = true;
  });
  const claim = await claimed(claimDeletion, ref);
  if (!claim) return;
  try {
    for (let rounds = 1; !claim.isTreated; rounds += 1) {
      haveHoldsChanged = false; // what changes from here on is looked for again
      if (await eraseThoseWhoGo(claim)) break;
      if (rounds === waitsOfARun || workflowInfo().continueAsNewSuggested)
        return await continueAsNew<typeof gdprDelete>(ref, waitsOfARun);
      await waitForHolds(claim);
      await untilSettled('Mailing that people are held', () => mailAboutDeletion(claim, 'held'));
      setCurrentDetails(`Waiting for holds to be released (round ${rounds})`);
      await condition(() => haveHoldsChanged, LOOK_FOR_HOLDS_EVERY);
    }
  } catch (error) {
    if (!isJobGone(error)) throw error; // another workflow has it, or its entity is deleted
    return;
  }
  await untilSettled('Mailing about the end of the request', () => mailAboutDeletion(claim, 'treated'));
  // The sweep discards the request after its week. Runs that began to wait for that before the sweep did it go on.
  if (!patched('sweep-discards'))
    await untilSettled('Keeping the request until it expires', () => discardDeletion(ref));
}

/** A round: those of its people whom nothing holds. True once all of the request's are treated. */
async function eraseThoseWhoGo(claim: JobClaim): Promise<boolean> {
  const { going } = await keepOut(claim);
  if (going === 0) return false;
  if (!(await (patched('erase-by-location') ? eraseLocations(claim) : erasePasses(claim)))) return false;
  setCurrentDetails('Listing deletions for exporters');
  await listForExporters(claim);
  await untilSettled('Writing lists of deletions to buckets', () => tellExporters(claim));
  setCurrentDetails('Writing the receipt');
  const { isTreated } = await writeReceipt(claim);
  return isTreated;
}

/**
 * Erases one location after another, until a look finds nothing in any. Returns false if the workflow must continue as
 * new.
 */
async function eraseLocations(claim: JobClaim): Promise<boolean> {
  let left = await listLocations(claim);
  for (let idle = 0; ;) {
    const erased = await eraseEach(claim, left);
    if (erased === null) return false;
    setCurrentDetails(`Looking for survivors: ${erased} rows and files erased in this pass`);
    left = await listSurvivors(claim);
    if (left.length === 0) return true; // the second look found nothing
    if (workflowInfo().continueAsNewSuggested) return false;
    idle = erased === 0 ? idle + 1 : 0;
    if (idle > 0) await pause(backOff(idle, FIRST_WAIT_MS, LONGEST_WAIT_MS), idle);
  }
}

type Locations = Awaited<ReturnType<typeof listLocations>>;

/**
 * Erases each of some locations, and returns how many rows and files went. One that fails is tried again by itself,
 * with those that come after it; the others go on. Returns null if the workflow must continue as new.
 */
async function eraseEach(claim: JobClaim, locations: Locations): Promise<number | null> {
  let erased = 0;
  for (let [left, tries] = [locations, 1]; ; tries += 1) {
    const failed: Locations = [];
    for (const [index, location] of left.entries()) {
      setCurrentDetails(
        `Erasing ${location.name} (${index + 1} of ${left.length} locations): ${erased} rows and files erased so far`,
      );
      const isHeldUp = failed.some(({ name }) => location.after.includes(name));
      const rows = isHeldUp ? null : await eraseOne(claim, location.name);
      if (rows === null) failed.push(location);
      else erased += rows;
    }
    if (failed.length === 0) return erased;
    if (workflowInfo().continueAsNewSuggested) return null;
    left = failed;
    setCurrentDetails(`Failed in ${failed.map(({ name }) => name).join(', ')}`);
    await pause(backOff(tries, FIRST_WAIT_MS, LONGEST_WAIT_MS), tries);
  }
}

/** Null if the location could not be erased: the request names it. */
async function eraseOne(claim: JobClaim, name: string): Promise<number | null> {
  try {
    return await eraseLocation(claim, name);
  } catch (error) {
    if (isJobGone(error) || isCancellation(error)) throw error;
    if (error instanceof ActivityFailure && error.cause instanceof TimeoutFailure) await giveUpLocation(claim, name);
    return null;
  }
}

/** As histories have it from before each location had a step of its own. */
async function erasePasses(claim: JobClaim): Promise<boolean> {
  for (let idle = 0; ;) {
    setCurrentDetails('Erasing a pass over all locations');
    const { erased, survivors } = await erasePass(claim);
    if (survivors === 0) return true;
    if (workflowInfo().continueAsNewSuggested) return false;
    idle = erased === 0 ? idle + 1 : 0;
    if (idle > 0) await pause(backOff(idle, FIRST_WAIT_MS, LONGEST_WAIT_MS), idle);
  }
}

/**
 * Until nothing more comes in of those who go, nor anything by which they are known. Nobody goes where this history has
 * grown long.
 */
async function keepOut(claim: JobClaim): Promise<{ going: number }> {
  let collected = await collect(claim); // before anything is gone
  while (collected) {
    setCurrentDetails('Raising tombstones');
    const { sinceMs } = await raiseTombstones(claim); // nothing new comes in from here on
    // They may have looked for tombstones before these were raised.
    await untilSettled('Waiting for older writers', () => olderWriters(claim, sinceMs));
    collected = await collect(claim); // what they linked meanwhile
    const begun = collected?.added === 0 ? await beginErasing(claim) : null;
    if (begun) return begun;
  }
  return { going: 0 };
}

/** Returns null if the workflow must continue as new. */
async function collect(claim: JobClaim): Promise<{ added: number } | null> {
  for (let waits = 1; ; waits += 1) {
    setCurrentDetails('Collecting identifiers');
    const found = await collectIdentifiers(claim);
    if (!('againInMs' in found)) return found;
    if (workflowInfo().continueAsNewSuggested) return null;
    await pause(found.againInMs, waits);
  }
}
