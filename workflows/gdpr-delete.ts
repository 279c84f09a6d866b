import { condition, continueAsNew, defineSignal, proxyActivities, setHandler, sleep, workflowInfo } from '@temporalio/workflow';
import type { GdprClaim, GdprDeleteSteps } from '../activities/gdpr/gdpr-delete.ts';
import type { JobRef } from '../domain/jobs/job.ts';
import { GDPR_HOLDS_CHANGED } from '../domain/jobs/workflow-id.ts';
import { isRequestGone, repeat } from './gdpr-steps.ts';
import { HEARTBEAT_TIMEOUT, RETRY, SHORT_STEP_TIMEOUT } from './patience.ts';

const { claimDeletion, olderWriters, waitForHolds } = proxyActivities<GdprDeleteSteps>({
  startToCloseTimeout: SHORT_STEP_TIMEOUT,
  retry: RETRY,
});

const {
  collectIdentifiers, raiseTombstones, beginErasing, erasePass, listForExporters, tellExporters, writeReceipt, discardDeletion,
} = proxyActivities<GdprDeleteSteps>({
  taskQueue: 'bulk',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  startToCloseTimeout: '7 days',
  retry: RETRY,
});

const { mailAboutDeletion } = proxyActivities<GdprDeleteSteps>({
  taskQueue: 'sends',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  startToCloseTimeout: '3 minutes',
  retry: RETRY,
});

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 5 * 60_000;
/** Should the signal that a hold went be lost. */
const LOOK_FOR_HOLDS_EVERY = '1 hour';
/** After so many waits for whoever holds somebody it goes on in a new run, so that no history grows long. */
const WAITS_OF_A_RUN = 50;

/** Erases people on request, and says "treated" only when a second look finds nothing of them. */
export async function gdprDelete(ref: JobRef, waitsOfARun = WAITS_OF_A_RUN): Promise<void> {
  let haveHoldsChanged = false;
  setHandler(defineSignal(GDPR_HOLDS_CHANGED), () => { haveHoldsChanged = true; });
  const claim = await claimDeletion(ref, workflowInfo().firstExecutionRunId);
  if (!claim) return;                 // another has it, or it is over
  try {
    for (let rounds = 1; !claim.isTreated; rounds += 1) {
      haveHoldsChanged = false;       // what changes from here on is looked for again
      if (await eraseThoseWhoGo(claim)) break;
      if (rounds === waitsOfARun || workflowInfo().continueAsNewSuggested) return await continueAsNew<typeof gdprDelete>(ref, waitsOfARun);
      await waitForHolds(claim);
      await repeat(() => mailAboutDeletion(claim, 'held'));
      await condition(() => haveHoldsChanged, LOOK_FOR_HOLDS_EVERY);
    }
  } catch (error) {
    if (!isRequestGone(error)) throw error;       // another workflow has it, or its entity is deleted
    return;
  }
  await repeat(() => mailAboutDeletion(claim, 'treated'));
  await repeat(() => discardDeletion(ref));
}

/** A round: those of its people whom nothing holds. True once all of the request's are treated. */
async function eraseThoseWhoGo(claim: GdprClaim): Promise<boolean> {
  const { going } = await keepOut(claim);
  if (going === 0) return false;
  for (let idle = 0; ;) {
    const { erased, survivors } = await erasePass(claim);
    if (survivors === 0) break;       // the second look found nothing
    if (workflowInfo().continueAsNewSuggested) return false;
    idle = erased === 0 ? idle + 1 : 0;
    if (idle > 0) await sleep(Math.min(FIRST_WAIT_MS * 2 ** (idle - 1), LONGEST_WAIT_MS));
  }
  await listForExporters(claim);
  await repeat(() => tellExporters(claim));
  const { isTreated } = await writeReceipt(claim);
  return isTreated;
}

/** Until nothing more comes in of those who go, nor anything by which they are known. Nobody goes where this history has grown long. */
async function keepOut(claim: GdprClaim): Promise<{ going: number }> {
  let collected = await collect(claim);                 // before anything is gone
  while (collected) {
    const { sinceMs } = await raiseTombstones(claim);   // nothing new comes in from here on
    await repeat(() => olderWriters(claim, sinceMs));   // those that looked before the tombstones
    collected = await collect(claim);                   // what they linked meanwhile
    const begun = collected?.added === 0 ? await beginErasing(claim) : null;
    if (begun) return begun;
  }
  return { going: 0 };
}

/** Null where it is to be gone on with in a new run. */
async function collect(claim: GdprClaim): Promise<{ added: number } | null> {
  for (;;) {
    const found = await collectIdentifiers(claim);
    if (!('againInMs' in found)) return found;
    if (workflowInfo().continueAsNewSuggested) return null;
    await sleep(found.againInMs);
  }
}
