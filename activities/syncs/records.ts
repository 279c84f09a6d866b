import { Context } from '@temporalio/activity';
import { Refusal } from '../../domain/core/refusal.ts';
import type { Again } from '../core/again.ts';
import type { Needs } from '../needs.ts';
import type { RunClaim } from './claim.ts';
import { deliverPending } from './deliver.ts';
import { waitOrFail } from './fault.ts';
import { findJob, openEnds, type SyncEnds, type SyncJob } from './job.ts';
import { readSource } from './read.ts';
import { removeVanished } from './removal.ts';
import { lookAtSchema } from './schema.ts';
import { openScope, RunGone } from './scope.ts';

/**
 * Reads and writes what is left of a run, and removes what has vanished. Null: there is nothing left to do, or the run has
 * failed; else when to try again.
 */
export async function syncRecords(needs: Needs, claim: RunClaim): Promise<Again | null> {
  const endTurn = await needs.syncTurn();
  try {
    Context.current().cancellationSignal.throwIfAborted();
    needs.draining.throwIfAborted();
    return await syncInTurn(needs, claim);
  } finally {
    endTurn();
  }
}

async function syncInTurn(needs: Needs, claim: RunClaim): Promise<Again | null> {
  const job = await findJob(needs, claim);
  if (!job) return null;
  let ends: SyncEnds | null = null;
  try {
    ends = await openEnds(needs, job);
    await syncWith(needs, job, ends);
    return null;
  } catch (error) {
    if (error instanceof RunGone) return moved(needs, claim);
    if (error instanceof Refusal) return waitOrFail(needs, job, error, ends);
    throw error;
  }
}

async function syncWith(needs: Needs, job: SyncJob, ends: SyncEnds): Promise<void> {
  const scope = await openScope(needs, job, ends);
  try {
    if (job.run.isRead) return await removeVanished(needs, job, ends, scope);
    if (!job.run.isBegun && job.run.rootId === null) await lookAtSchema(needs, job, ends, scope);
    if (ends.destination) await deliverPending(needs, job, { ...streamOf(job), open: ends.destination, scope });
    // With the fields that were taken just now, and the place behind what was pending.
    const current = await findJob(needs, { ...job.key, identifier: job.run.identifier });
    if (!current) throw new RunGone();
    await readSource(needs, current, ends, scope);
    await removeVanished(needs, current, ends, scope);
  } finally {
    await scope.close();
  }
}

function streamOf({ sync: { destination } }: SyncJob): { stream: string; key: string[] } {
  return destination as Exclude<typeof destination, { sorId: number }>;
}

/** Another attempt at this step may have moved the run on: then this one goes on from there. */
async function moved(needs: Needs, claim: RunClaim): Promise<Again | null> {
  return await findJob(needs, claim) ? { againInMs: 1_000 } : null;
}
