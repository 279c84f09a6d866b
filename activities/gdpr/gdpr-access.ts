import type { GdprClaim } from '../../store/gdpr/progress.ts';
import type { GdprRef } from '../../store/gdpr/request-record.ts';
import type { Again } from '../core/again.ts';
import { heartbeating } from '../core/heartbeat.ts';
import type { Needs } from '../needs.ts';
import { finishAccess } from './access-receipt.ts';
import { type ClaimedRequest, claimRequest } from './claim.ts';
import { discardGdprRequest } from './discard.ts';
import { gatherKnown } from './gather-known.ts';
import { mailGdpr } from './gdpr-mail.ts';
import { showPeople } from './show.ts';

export type GdprAccessSteps = ReturnType<typeof gdprAccessSteps>;

/** A step of a request that another workflow has taken over, or that is no more, is refused as `request_gone`. */
export const gdprAccessSteps = (needs: Needs) => ({
  claimAccess: (ref: GdprRef, workflowRunId: string): Promise<ClaimedRequest | null> => claimRequest(needs, ref, workflowRunId),

  /** Null; histories from before have it wait where somebody had too many ids. Holds keep nobody's data from themselves. */
  gatherToShow: (claim: GdprClaim): Promise<Again | null> => heartbeating(async () => {
    await gatherKnown(needs, claim);
    return null;
  }),
  writeArchives: (claim: GdprClaim): Promise<void> => heartbeating(() => showPeople(needs, claim)),
  writeAccessReceipt: (claim: GdprClaim): Promise<void> => heartbeating(() => finishAccess(needs, claim)),

  mailAboutAccess: ({ entityId, runId: requestId }: GdprClaim): Promise<Again | null> =>
    heartbeating(() => mailGdpr(needs, { entityId, requestId }, 'treated')),

  /** Null once it is gone; else when its time is over. */
  discardAccess: (ref: GdprRef): Promise<Again | null> => heartbeating(() => discardGdprRequest(needs, ref)),
});
