import { type GdprClaim, updateStage } from '../../store/gdpr/progress.ts';
import type { GdprRef } from '../../store/gdpr/request-record.ts';
import type { Again } from '../core/again.ts';
import { heartbeating } from '../core/heartbeat.ts';
import type { Needs } from '../needs.ts';
import { type ClaimedRequest, claimRequest } from './claim.ts';
import { discardGdprRequest } from './discard.ts';
import { erasePeople, type Pass } from './erase.ts';
import { finishRound, listForExporters, tellExportersOf } from './evidence.ts';
import { beginErasingPeople, type Gathered, gatherPeople, refusePeople, waitForOlderWriters } from './gather.ts';
import { mailGdpr } from './gdpr-mail.ts';
import type { Counted } from './held.ts';
import { tellFault } from './tell-fault.ts';

export type { GdprClaim, GdprRef };

export type GdprDeleteSteps = ReturnType<typeof gdprDeleteSteps>;

/** A step of a request that another workflow has taken over, or that is no more, is refused as `request_gone`. */
export const gdprDeleteSteps = (needs: Needs) => ({
  claimDeletion: (ref: GdprRef, workflowRunId: string): Promise<ClaimedRequest | null> => claimRequest(needs, ref, workflowRunId),

  /** Histories from before have it wait where somebody had too many ids. */
  collectIdentifiers: (claim: GdprClaim): Promise<Gathered | Again> =>
    told(needs, claim, 'what they are known by could not be gathered', () => gatherPeople(needs, claim)),
  raiseTombstones: (claim: GdprClaim): Promise<{ sinceMs: number }> =>
    told(needs, claim, 'tombstones could not be raised', () => refusePeople(needs, claim)),
  olderWriters: (claim: GdprClaim, sinceMs: number): Promise<Again | null> => waitForOlderWriters(needs, claim, sinceMs),
  /** Null: what was raised does not stand any more. */
  beginErasing: (claim: GdprClaim): Promise<Counted | null> =>
    told(needs, claim, 'erasing could not begin', () => beginErasingPeople(needs, claim)),
  erasePass: (claim: GdprClaim): Promise<Pass> => heartbeating(() => erasePeople(needs, claim)),
  listForExporters: (claim: GdprClaim): Promise<void> => heartbeating(() => listForExporters(needs, claim)),
  tellExporters: (claim: GdprClaim): Promise<Again | null> => heartbeating(() => tellExportersOf(needs, claim)),
  writeReceipt: (claim: GdprClaim): Promise<{ isTreated: boolean }> => heartbeating(() => finishRound(needs, claim)),
  waitForHolds: (claim: GdprClaim): Promise<void> => updateStage(needs.db, claim, 'on hold'),

  mailAboutDeletion: ({ entityId, runId: requestId }: GdprClaim, kind: 'held' | 'treated'): Promise<Again | null> =>
    heartbeating(() => mailGdpr(needs, { entityId, requestId }, kind)),

  /** Null once it is gone; else when its time is over. */
  discardDeletion: (ref: GdprRef): Promise<Again | null> => heartbeating(() => discardGdprRequest(needs, ref)),
});

/** What keeps the step stands in the status, until it goes on. */
function told<T>(needs: Needs, claim: GdprClaim, what: string, work: () => Promise<T>): Promise<T> {
  return heartbeating(() => work().catch((error: unknown) => tellFault(needs, claim, what, error)));
}
