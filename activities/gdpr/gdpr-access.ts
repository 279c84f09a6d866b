import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import { heartbeating } from '../core/heartbeat.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { writeAccessReceipt } from './write-receipt.ts';
import { type ClaimedRequest, claimRequest, discardRequest, startNextUnvouched } from './request-steps.ts';
import { collectIdentifiersToShow } from './collect-identifiers.ts';
import { mailAboutRequest } from './mail-about-request.ts';
import { writeArchives } from './write-archives.ts';

export type GdprAccessSteps = ReturnType<typeof gdprAccessSteps>;

/** The steps of `workflows/gdpr-access.ts`, which writes archives of people's data. Refused as in `gdprDeleteSteps`. */
export const gdprAccessSteps = (deps: Dependencies) => ({
  claimAccess: (ref: JobRef, workflowRunId: string): Promise<ClaimedRequest | null> =>
    claimRequest(deps, ref, workflowRunId),

  /** In old histories it may also answer with a wait, for a person with too many ids. */
  gatherToShow: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(async () => {
      await collectIdentifiersToShow(deps, claim);
      return null;
    }),
  writeArchives: (claim: JobClaim): Promise<void> => heartbeating(() => writeArchives(deps, claim)),
  writeAccessReceipt: (claim: JobClaim): Promise<void> =>
    heartbeating(async () => {
      await writeAccessReceipt(deps, claim);
      await startNextUnvouched(deps, claim);
    }),

  mailAboutAccess: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(() => mailAboutRequest(deps, claim, 'treated')),

  /** Null once the request is deleted; else when to try again. */
  discardAccess: (ref: JobRef): Promise<RetryAfter | null> => heartbeating(() => discardRequest(deps, ref)),
});
