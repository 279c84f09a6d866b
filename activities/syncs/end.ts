// Ends a sync run: counts failures in a row, pauses the sync, and decides which alert to send.
import type { Cursor } from '../../connectors/core/contract.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import type { JobKey } from '../../domain/jobs/job.ts';
import type { Tx } from '../../store/core/database.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { RunAlert, SyncRun } from '../../store/syncs/sync-run-record.ts';
import { findRunBefore, syncRuns } from '../../store/syncs/sync-runs.ts';
import { findSyncById, updateFailures } from '../../store/syncs/syncs.ts';
import type { Dependencies } from '../dependencies.ts';
import { countFailure, endRun } from '../jobs/runs.ts';
import { noteAnsweredOfFailed } from './deliver.ts';
import { openConnection, sendingContext } from './open-connection.ts';

/**
 * Ends a run as finished or failed. The same transaction counts failures in a row, pauses the sync after too many, and
 * records the alert.
 */
export async function endSyncRun(deps: Dependencies, key: JobKey, failure: SyncRun['failure']): Promise<void> {
  await endRun(deps, syncRuns, key, failure, async (tx, run, sync) => {
    if (sync && failure) await noteAnsweredOfFailed(tx, deps, { sync, run });
    return sync && !run.dryRun && run.rootId === null ? settle(tx, sync, run, failure) : null;
  });
}

/**
 * Ends what the source keeps for a run that was canceled, has failed or read a part. Tries once: the source ends it
 * sometime anyway.
 */
export async function releaseSource(
  deps: Dependencies,
  { entityId, syncId, progress: { position } }: SyncRun,
): Promise<void> {
  const sync = position === null ? null : await findSyncById(deps.db, entityId, syncId);
  if (!sync || position === null) return;
  const context = sendingContext(deps, entityId);
  try {
    const { connector, settings } = await openConnection(deps, entityId, sync.connectionId);
    const { stream, mode } = sync;
    await connector.source?.release?.(settings, { stream, mode, cursor: JSON.parse(position) as Cursor }, context);
  } catch (error) {
    if (!(error instanceof Refusal) && !context.signal.aborted) throw error;
  }
}

/** Updates the sync's count of failures, and returns the alert to send. */
async function settle(tx: Tx, sync: Sync, run: SyncRun, failure: SyncRun['failure']): Promise<RunAlert | null> {
  if (!failure) {
    if (sync.failures > 0) await updateFailures(tx, sync.entityId, sync.id, 0);
    return alertOfFinished(tx, sync, run);
  }
  const reasonOf = (failures: number) => `it failed ${failures} times in a row: ${failure.message}`;
  return countFailure(tx, syncRuns, sync, { pauseAfter: sync.alerts.pauseAfter, reasonOf });
}

async function alertOfFinished(tx: Tx, { failures, alerts }: Sync, run: SyncRun): Promise<RunAlert | null> {
  const { progress, removal } = run;
  // A run each minute must not send the same news each minute.
  if (removal?.state === 'held' && (await findRunBefore(tx, run))?.removal !== 'held') return 'held';
  if (alerts.failedRecords !== null && progress.failed >= alerts.failedRecords) return 'records';
  if (await hasLostFields(tx, run)) return 'fields';
  return failures > 0 ? 'recovered' : null;
}

/** Returns whether a mapped field is missing that the previous run still found. */
async function hasLostFields(tx: Tx, run: SyncRun): Promise<boolean> {
  const before = run.missingFields.length === 0 ? null : await findRunBefore(tx, run);
  return before !== null && run.missingFields.some((field) => !before.missingFields.includes(field));
}
