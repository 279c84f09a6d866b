import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import { heartbeating } from '../core/heartbeat.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { finishAccess } from './access-receipt.ts';
import { type ClaimedRequest, claimRequest, startNextUnvouched } from './claim.ts';
import { discardGdprRequest } from './discard.ts';
import { gatherKnown } from './gather-known.ts';
import { mailGdpr } from './gdpr-mail.ts';
import { showPeople } from './show.ts';

export type GdprAccessSteps = ReturnType<typeof gdprAccessSteps>;

/** A step of a request that another workflow has taken over, or that is no more, is refused as `request_gone`. */
export const gdprAccessSteps = (deps: Dependencies) => ({
  claimAccess: (ref: JobRef, workflowRunId: string): Promise<ClaimedRequest | null> =>
    claimRequest(deps, ref, workflowRunId),

  /**
   * Null; histories from before have it wait where a person had too many ids. A hold keeps no one from their own data.
   */
  gatherToShow: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(async () => {
      await gatherKnown(deps, claim);
      return null;
    }),
  writeArchives: (claim: JobClaim): Promise<void> => heartbeating(() => showPeople(deps, claim)),
  writeAccessReceipt: (claim: JobClaim): Promise<void> =>
    heartbeating(async () => {
      await finishAccess(deps, claim);
      await startNextUnvouched(deps, claim);
    }),

  mailAboutAccess: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(() => mailGdpr(deps, claim, 'treated')),

  /** Null once it is gone; else when its time is over. */
  discardAccess: (ref: JobRef): Promise<RetryAfter | null> => heartbeating(() => discardGdprRequest(deps, ref)),
});
