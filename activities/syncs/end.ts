import type { JobKey } from '../../domain/jobs/job.ts';
import { type Tx, write } from '../../store/core/database.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { RunAlert, SyncRun } from '../../store/syncs/sync-run-record.ts';
import { cancelRunsOf, findMissingFieldsBefore, lockRunAndSync, updateRunEnded } from '../../store/syncs/sync-runs.ts';
import { updateFailures, updatePaused } from '../../store/syncs/syncs.ts';
import type { Dependencies } from '../dependencies.ts';
import { noteAnsweredOfFailed } from './deliver.ts';

/**
 * Ends a run as finished, or as failed for a reason in words for its owner. In the same transaction failures in a row
 * are counted, the sync is paused where they are too many, and what there is to be mailed is noted down.
 */
export async function endSyncRun(deps: Dependencies, key: JobKey, failure: SyncRun['failure']): Promise<void> {
  await write(deps.db, async (tx) => {
    const held = await lockRunAndSync(tx, key);
    if (!held) return;
    const { run, owner: sync } = held;
    if (sync && failure) await noteAnsweredOfFailed(tx, deps, { sync, run });
    const alert = sync && !run.dryRun && run.rootId === null ? await settle(tx, sync, run, failure) : null;
    await updateRunEnded(tx, run, { state: failure ? 'failed' : 'finished', failure, alert });
    deps.boundary('sync: before the end commits');
  });
  deps.boundary('sync: after the end committed');
}

/** Updates the sync's own state, and returns the alert to send. */
async function settle(tx: Tx, sync: Sync, run: SyncRun, failure: SyncRun['failure']): Promise<RunAlert | null> {
  const { entityId, id, alerts } = sync;
  if (!failure) {
    if (sync.failures > 0) await updateFailures(tx, entityId, id, 0);
    return alertOfFinished(tx, sync, run);
  }
  const failures = sync.failures + 1;
  await updateFailures(tx, entityId, id, failures);
  if (alerts.pauseAfter !== null && failures >= alerts.pauseAfter && !sync.paused) {
    await updatePaused(tx, entityId, id, `it failed ${failures} times in a row: ${failure.message}`);
    await cancelRunsOf(tx, entityId, id, 'scheduled');
    return 'paused';
  }
  return failures === 1 ? 'failed' : null;
}

async function alertOfFinished(tx: Tx, { failures, alerts }: Sync, run: SyncRun): Promise<RunAlert | null> {
  const { progress, removal } = run;
  if (removal?.state === 'held') return 'held';
  if (alerts.failedRecords !== null && progress.failed >= alerts.failedRecords) return 'records';
  if (await hasLostFields(tx, run)) return 'fields';
  return failures > 0 ? 'recovered' : null;
}

/** Whether the mapping names a field that the run before still found. */
async function hasLostFields(tx: Tx, run: SyncRun): Promise<boolean> {
  const before = run.missingFields.length === 0 ? null : await findMissingFieldsBefore(tx, run);
  return before !== null && run.missingFields.some((field) => !before.includes(field));
}
