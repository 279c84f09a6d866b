import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import type { LocationToErase } from '../../store/gdpr/personal-data-registry.ts';
import { updateLocationFault, waitForHolds } from '../../store/gdpr/progress.ts';
import { heartbeating } from '../core/heartbeat.ts';
import { inSlot } from '../core/in-slot.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { type ClaimedRequest, claimRequest, discardRequest, recordError, startNextUnvouched } from './request-steps.ts';
import { eraseLocation, erasePass, listLocations, listSurvivors, type Pass } from './erase-location.ts';
import { listForExporters, tellExporters } from './tell-exporters.ts';
import { writeReceipt } from './write-receipt.ts';
import {
  beginErasing,
  type Collected,
  collectIdentifiers,
  raiseTombstones,
  waitForOlderWriters,
} from './collect-identifiers.ts';
import { mailAboutRequest } from './mail-about-request.ts';
import type { Counted } from '../../store/gdpr/holds.ts';

export type GdprDeleteSteps = ReturnType<typeof gdprDeleteSteps>;

/**
 * The steps of `workflows/gdpr-delete.ts`, which erases people. A step whose request another workflow has taken over,
 * or that is deleted, is refused as `request_gone`.
 */
export const gdprDeleteSteps = (deps: Dependencies) => ({
  claimDeletion: (ref: JobRef, workflowRunId: string): Promise<ClaimedRequest | null> =>
    claimRequest(deps, ref, workflowRunId),

  /** In old histories it may also answer with a wait, for a person with too many ids. */
  collectIdentifiers: (claim: JobClaim): Promise<Collected | RetryAfter> =>
    recordingErrors(deps, claim, 'what they are known by could not be gathered', () => collectIdentifiers(deps, claim)),
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
    updateLocationFault(deps.db, claim, name, `${name} could not be erased (its worker ended); it is tried again`),
  listSurvivors: (claim: JobClaim): Promise<LocationToErase[]> =>
    recordingErrors(deps, claim, 'what is left could not be looked for', () => listSurvivors(deps, claim)),
  listForExporters: (claim: JobClaim): Promise<void> => heartbeating(() => listForExporters(deps, claim)),
  tellExporters: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(() => inSlot(deps.takeDeliverySlot, claim.entityId, () => tellExporters(deps, claim))),
  writeReceipt: (claim: JobClaim): Promise<{ isTreated: boolean }> =>
    heartbeating(async () => {
      const round = await writeReceipt(deps, claim);
      if (round.isTreated) await startNextUnvouched(deps, claim);
      return round;
    }),
  waitForHolds: (claim: JobClaim): Promise<void> => waitForHolds(deps.db, claim),

  mailAboutDeletion: (claim: JobClaim, kind: 'held' | 'treated'): Promise<RetryAfter | null> =>
    heartbeating(() => mailAboutRequest(deps, claim, kind)),

  /** Null once the request is deleted; else when to try again. */
  discardDeletion: (ref: JobRef): Promise<RetryAfter | null> => heartbeating(() => discardRequest(deps, ref)),
});

/** Records a step's error in the status, until the step continues. */
function recordingErrors<T>(deps: Dependencies, claim: JobClaim, what: string, work: () => Promise<T>): Promise<T> {
  return heartbeating(() => work().catch((error: unknown) => recordError(deps, claim, what, error)));
}
