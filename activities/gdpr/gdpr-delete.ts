import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import type { LocationToErase } from '../../store/gdpr/personal-data-registry.ts';
import { updateLocationFault, updateWaitsForHolds } from '../../store/gdpr/progress.ts';
import { heartbeating } from '../core/heartbeat.ts';
import { inSlot } from '../core/in-slot.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { type ClaimedRequest, claimRequest, startNextUnvouched } from './claim.ts';
import { discardGdprRequest } from './discard.ts';
import { eraseOneLocation, erasePeople, listLocationsToErase, listSurvivingLocations, type Pass } from './erase.ts';
import { finishRound, listForExporters, tellExportersOf } from './evidence.ts';
import { beginErasingPeople, type Gathered, gatherPeople, refusePeople, waitForOlderWriters } from './gather.ts';
import { mailGdpr } from './gdpr-mail.ts';
import type { Counted } from './held.ts';
import { recordError } from './record-error.ts';

export type GdprDeleteSteps = ReturnType<typeof gdprDeleteSteps>;

/** A step of a request that another workflow has taken over, or that is no more, is refused as `request_gone`. */
export const gdprDeleteSteps = (deps: Dependencies) => ({
  claimDeletion: (ref: JobRef, workflowRunId: string): Promise<ClaimedRequest | null> =>
    claimRequest(deps, ref, workflowRunId),

  /** Histories from before have it wait where somebody had too many ids. */
  collectIdentifiers: (claim: JobClaim): Promise<Gathered | RetryAfter> =>
    recordingErrors(deps, claim, 'what they are known by could not be gathered', () => gatherPeople(deps, claim)),
  raiseTombstones: (claim: JobClaim): Promise<{ sinceMs: number }> =>
    recordingErrors(deps, claim, 'tombstones could not be raised', () => refusePeople(deps, claim)),
  olderWriters: (claim: JobClaim, sinceMs: number): Promise<RetryAfter | null> =>
    waitForOlderWriters(deps, claim, sinceMs),
  /** Null: what was raised does not stand any more. */
  beginErasing: (claim: JobClaim): Promise<Counted | null> =>
    recordingErrors(deps, claim, 'erasing could not begin', () => beginErasingPeople(deps, claim)),
  /** Serves histories from before each location had a step of its own. */
  erasePass: (claim: JobClaim): Promise<Pass> => heartbeating(() => erasePeople(deps, claim)),
  listLocations: (claim: JobClaim): Promise<LocationToErase[]> =>
    recordingErrors(deps, claim, 'the locations could not be listed', () => listLocationsToErase(deps, claim)),
  eraseLocation: (claim: JobClaim, name: string): Promise<number> =>
    heartbeating(() => eraseOneLocation(deps, claim, name)),
  /** Names a location whose step ended without an answer, as often as it may. */
  giveUpLocation: (claim: JobClaim, name: string): Promise<void> =>
    updateLocationFault(deps.db, claim, name, `${name} could not be erased (its worker ended); it is tried again`),
  listSurvivors: (claim: JobClaim): Promise<LocationToErase[]> =>
    recordingErrors(deps, claim, 'what is left could not be looked for', () => listSurvivingLocations(deps, claim)),
  listForExporters: (claim: JobClaim): Promise<void> => heartbeating(() => listForExporters(deps, claim)),
  tellExporters: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(() => inSlot(deps.takeDeliverySlot, claim.entityId, () => tellExportersOf(deps, claim))),
  writeReceipt: (claim: JobClaim): Promise<{ isTreated: boolean }> =>
    heartbeating(async () => {
      const round = await finishRound(deps, claim);
      if (round.isTreated) await startNextUnvouched(deps, claim);
      return round;
    }),
  waitForHolds: (claim: JobClaim): Promise<void> => updateWaitsForHolds(deps.db, claim),

  mailAboutDeletion: (claim: JobClaim, kind: 'held' | 'treated'): Promise<RetryAfter | null> =>
    heartbeating(() => mailGdpr(deps, claim, kind)),

  /** Null once it is gone; else when its time is over. */
  discardDeletion: (ref: JobRef): Promise<RetryAfter | null> => heartbeating(() => discardGdprRequest(deps, ref)),
});

/** Records a step's error in the status, until the step continues. */
function recordingErrors<T>(deps: Dependencies, claim: JobClaim, what: string, work: () => Promise<T>): Promise<T> {
  return heartbeating(() => work().catch((error: unknown) => recordError(deps, claim, what, error)));
}
