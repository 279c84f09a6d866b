import type { Refusal } from '../../domain/core/refusal.ts';
import { write } from '../../store/core/database.ts';
import { updateRunError, updateRunFromStart } from '../../store/syncs/sync-run-progress.ts';
import type { SyncRun } from '../../store/syncs/sync-run-record.ts';
import { lockRun } from '../../store/syncs/sync-runs.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { endSyncRun } from './end.ts';
import { type SyncEnds, type SyncJob, withoutSecrets } from './job.ts';

/** Tries in a row that got no further; with the waits between them the last is nine minutes after the first. */
const TRIES = 10;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 5 * 60_000;
/** What a source may ask for by itself. */
const LONGEST_ASKED_MS = 24 * 3_600_000;

/** Errors of an outside system that may pass by themselves: for every other one somebody has to change something. */
const PASSING = new Set<string | number>(['source_unavailable', 'transfer_broken', 'source_changed']);

/** Tells how long to wait before the next try, or ends the run as failed, in words for its owner: then null. */
export async function waitOrFail(deps: Dependencies, job: SyncJob, refusal: Refusal, ends: SyncEnds | null): Promise<RetryAfter | null> {
  const { status, message, extra } = withoutSecrets(refusal, ends);
  const waiting = await write(deps.db, async (tx) => {
    const run = await lockRun(tx, job.key);
    if (!run) return 'gone';
    const before = triesBefore(job.run, run, status);
    if (!PASSING.has(status) || before + 1 >= TRIES) return null;
    const waitMs = waitAfter(before, extra.retry_after);
    await updateRunError(tx, run, { tries: before + 1, fault: message, waitsUntil: new Date(Date.now() + waitMs) });
    if (status === 'source_changed') await updateRunFromStart(tx, run);
    return { againInMs: waitMs };
  });
  if (waiting === 'gone') return null;
  if (waiting === null) await endSyncRun(deps, job.key, { status: String(status), message });
  return waiting;
}

/**
 * None where this try has moved the run on. What begins at the start again has not, whatever it brought: else a source that
 * always breaks off, or changes, before its end would be read for ever.
 */
function triesBefore(begun: SyncRun, now: SyncRun, status: Refusal['status']): number {
  return status !== 'source_changed' && now.progress.position !== begun.progress.position ? 0 : begun.tries;
}

function waitAfter(tries: number, asked: unknown): number {
  if (typeof asked === 'number') return Math.min(Math.max(asked * 1_000, FIRST_WAIT_MS), LONGEST_ASKED_MS);
  return Math.min(FIRST_WAIT_MS * 2 ** tries, LONGEST_WAIT_MS);
}
