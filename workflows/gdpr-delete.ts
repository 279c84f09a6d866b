/** The workflow of a deletion request; its steps lie in activities/gdpr/gdpr-delete.ts. */
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

// A search for a step's name finds it in activities/gdpr, and in store a function or the comment of one. Histories keep
// the names before a colon.
const {
  claimDeletion: claimRequest,
  olderWriters: waitForOlderWriters,
  waitForHolds,
  giveUpLocation,
} = proxyActivities<GdprDeleteSteps>(SHORT_STEPS);
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
  discardDeletion: discardRequest,
} = proxyActivities<GdprDeleteSteps>(BULK_STEPS);
/** After three attempts a location waits, so that the others are erased. */
const { eraseLocation } = proxyActivities<GdprDeleteSteps>({
  ...BULK_STEPS,
  retry: { ...BULK_STEPS.retry, maximumAttempts: 3 },
});
const { mailAboutDeletion: mailAboutRequest } = proxyActivities<GdprDeleteSteps>(MAIL_STEPS);

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 5 * 60_000;
/** How often a request on hold looks for itself, in case the signal of a release was lost. */
const LOOK_FOR_HOLDS_EVERY = '1 hour';

/** Erases people on request, and says "treated" only when a second scan finds nothing of them. */
export async function gdprDelete(ref: JobRef, waitsOfARun = WAITS_OF_A_RUN): Promise<void> {
  let haveHoldsChanged = false;
  setHandler(defineSignal(GDPR_HOLDS_CHANGED), () => {
    haveHoldsChanged = true;
  });
  const claim = await claimed(claimRequest, ref);
  if (!claim) return;
  try {
    for (let rounds = 1; !claim.isTreated; rounds += 1) {
      haveHoldsChanged = false; // a later change makes another round
      if (await eraseRound(claim)) break;
      if (rounds === waitsOfARun || workflowInfo().continueAsNewSuggested)
        return await continueAsNew<typeof gdprDelete>(ref, waitsOfARun);
      await waitForHolds(claim);
      await untilSettled('Mailing that people are held', () => mailAboutRequest(claim, 'held'));
      setCurrentDetails(`Waiting for holds to be released (round ${rounds})`);
      await condition(() => haveHoldsChanged, LOOK_FOR_HOLDS_EVERY);
    }
  } catch (error) {
    if (!isJobGone(error)) throw error; // another workflow has it, or its entity is deleted
    return;
  }
  await untilSettled('Mailing about the end of the request', () => mailAboutRequest(claim, 'treated'));
  // The sweep discards the request after its week. Runs that began to wait for that before the sweep did it go on.
  if (!patched('sweep-discards')) await untilSettled('Keeping the request until it expires', () => discardRequest(ref));
}

/** Erases the people without a hold. Returns true once all people of the request are treated. */
async function eraseRound(claim: JobClaim): Promise<boolean> {
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

/** Erases the locations until a scan finds nothing in any. Returns false to continue as new. */
async function eraseLocations(claim: JobClaim): Promise<boolean> {
  let left = await listLocations(claim);
  for (let idle = 0; ;) {
    const erased = await eraseEach(claim, left);
    if (erased === null) return false;
    setCurrentDetails(`Looking for survivors: ${erased} rows and files erased in this pass`);
    left = await listSurvivors(claim);
    if (left.length === 0) return true; // the second scan found nothing
    if (workflowInfo().continueAsNewSuggested) return false;
    idle = erased === 0 ? idle + 1 : 0;
    if (idle > 0) await pause(backOff(idle, FIRST_WAIT_MS, LONGEST_WAIT_MS), idle);
  }
}

type Locations = Awaited<ReturnType<typeof listLocations>>;

/**
 * Erases some locations, and returns how many rows and files. A location that fails is retried, with those that come
 * after it, and holds up no other. Returns null if the workflow must continue as new.
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

/** Returns null if the location could not be erased: the request names it. */
async function eraseOne(claim: JobClaim, name: string): Promise<number | null> {
  try {
    return await eraseLocation(claim, name);
  } catch (error) {
    if (isJobGone(error) || isCancellation(error)) throw error;
    if (error instanceof ActivityFailure && error.cause instanceof TimeoutFailure) await giveUpLocation(claim, name);
    return null;
  }
}

/** Replays histories from before each location had a step of its own. */
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
 * Keeps the people out, until neither their data nor an id that leads to them can come in. Applies holds. Returns how
 * many people are erased from here on: none if the workflow must continue as new.
 */
async function keepOut(claim: JobClaim): Promise<{ going: number }> {
  let collected = await collect(claim); // before anything is erased; collectIdentifiers applies holds (applyHolds)
  while (collected) {
    setCurrentDetails('Raising tombstones');
    const { sinceMs } = await raiseTombstones(claim); // nothing new comes in from here on
    // They may have looked for tombstones before these were raised.
    await untilSettled('Waiting for older writers', () => waitForOlderWriters(claim, sinceMs));
    collected = await collect(claim); // what those writers linked
    const begun = collected?.added === 0 ? await beginErasing(claim) : null; // applies holds for the last time
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
