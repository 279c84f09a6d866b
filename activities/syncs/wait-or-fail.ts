import type { Refusal } from '../../domain/core/refusal.ts';
import { nextTry } from '../../domain/jobs/patience.ts';
import { write } from '../../store/core/database.ts';
import { updateRunTrouble } from '../../store/jobs/jobs.ts';
import { updateRunFromStart } from '../../store/syncs/sync-run-progress.ts';
import type { SyncRun } from '../../store/syncs/sync-run-record.ts';
import { lockRun } from '../../store/syncs/sync-runs.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { endSyncRun } from './end.ts';
import { type SyncEnds, type SyncJob, withoutSecrets } from './job.ts';

/** Tells how long to wait before the next try, or ends the run as failed, in words for its owner: then null. */
export async function waitOrFail(
  deps: Dependencies,
  job: SyncJob,
  refusal: Refusal,
  ends: SyncEnds | null,
): Promise<RetryAfter | null> {
  const { status, message, extra } = withoutSecrets(refusal, ends);
  const waiting = await write(deps.db, async (tx) => {
    const run = await lockRun(tx, job.key);
    if (!run) return 'gone';
    const limits = { now: new Date(), patienceMs: deps.patienceMs };
    const next = nextTry({ status, extra }, troubleBefore(job.run, run, status), limits);
    if (next === null) return null;
    await updateRunTrouble(tx, 'sync', run, next, message);
    if (status === 'source_changed') await updateRunFromStart(tx, run);
    return { againInMs: next.waitMs };
  });
  if (waiting === 'gone') return null;
  if (waiting === null) await endSyncRun(deps, job.key, { status: String(status), message });
  return waiting;
}

/**
 * None where this try has moved the run on, or the destination has answered records. What begins at the start again has
 * not, whatever it brought: else a source that always breaks off, or changes, before its end would be read for ever.
 */
function troubleBefore(
  begun: SyncRun,
  now: SyncRun,
  status: Refusal['status'],
): Pick<SyncRun, 'tries' | 'failingSince'> {
  const isFurther = status !== 'source_changed' && now.progress.position !== begun.progress.position;
  const isAnswered =
    now.answered > 0 && (now.answered !== begun.answered || now.progress.batchesTaken !== begun.progress.batchesTaken);
  return isFurther || isAnswered || now.removed > begun.removed ? { tries: 0, failingSince: null } : begun;
}
