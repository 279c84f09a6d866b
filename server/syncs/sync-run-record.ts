/** Runs of syncs as the API shows them. */
import type * as api from '../../api/syncs/sync-runs.ts';
import { countRefused } from '../../domain/syncs/refused-records.ts';
import { countErrorsSettled } from '../../store/imports/import-errors.ts';
import type { NewRun, SyncRun } from '../../store/syncs/sync-run-record.ts';
import { insertRun, syncRuns as stored } from '../../store/syncs/sync-runs.ts';
import { servedRuns, type ShownOfOthers, showOfOthers } from '../jobs/runs.ts';
import { stageOf } from '../jobs/show-stage.ts';
import { followSyncSoon } from '../jobs/start-soon.ts';
import { knownSync, showSync } from './sync-record.ts';

export const syncRuns = servedRuns({
  runs: stored,
  insert: (tx, { entityId, id: syncId }, run: Omit<NewRun, 'syncId'>) => insertRun(tx, entityId, { ...run, syncId }),
  ownerKind: 'sync',
  knownOwner: knownSync,
  showOwner: showSync,
  followOwner: followSyncSoon,
  pathOf: (sync) => `/api/syncs/${sync}/runs`,
  async show(db, entityId, runs, isListed): Promise<api.SyncRun[]> {
    const ofOthers = await showOfOthers(db, 'sync', entityId, runs, ({ rootId }) => rootId);
    const settledOf = async ({ id }: SyncRun) => (isListed ? null : countErrorsSettled(db, entityId, id));
    const now = new Date();
    return Promise.all(runs.map(async (run) => showRun(run, { now, settled: await settledOf(run), ...ofOthers(run) })));
  },
});

type Context = { now: Date; settled: number | null } & ShownOfOthers;

function showRun(run: SyncRun, { now, root, settled, alerted, internalError }: Context): api.SyncRun {
  const {
    progress: { read, written, unchanged, ignored, failed, ...progress },
  } = run;
  const seconds = run.startedAt ? ((run.endedAt ?? now).getTime() - run.startedAt.getTime()) / 1000 : 0;
  return {
    run_id: run.identifier,
    cause: run.cause,
    state: run.state,
    stage: stageOf(run),
    scheduled_for: run.scheduledFor?.toISOString() ?? null,
    missed: run.missed,
    dry_run: run.dryRun,
    fresh: run.fresh,
    redrive_of: root,
    received_at: run.receivedAt.toISOString(),
    started_at: run.startedAt?.toISOString() ?? null,
    ended_at: run.endedAt?.toISOString() ?? null,
    records: { read, written, unchanged, ignored, failed },
    errors_by_type: progress.errorsByType,
    suspicious_ids: progress.suspiciousIds,
    deletions_ignored: progress.deletionsIgnored,
    open: settled === null ? null : Math.max(0, countRefused(run.progress) - settled),
    bytes: progress.bytes,
    requests: run.requests,
    progress: run.state === 'finished' ? 1 : progress.share,
    expected_end_at: expectedEnd(run, now)?.toISOString() ?? null,
    rate: seconds > 0 ? Math.round((read / seconds) * 10) / 10 : null,
    cursor_before: parsed(run.cursorBefore),
    cursor: parsed(progress.position),
    removed: run.removed,
    removal: run.removal,
    schema_change: run.schemaChange,
    unmapped_fields: progress.unmappedFields,
    missing_fields: run.missingFields,
    odd_cursors: progress.oddCursors,
    internal_error: internalError,
    fault: run.fault,
    tries: run.tries,
    waits_until: run.waitsUntil?.toISOString() ?? null,
    failure: run.failure,
    alert: run.alert,
    mail: run.mail,
    alerted,
  };
}

/** Returns the end if the rest takes as long as the done share. */
function expectedEnd({ state, startedAt, progress: { share } }: SyncRun, now: Date): Date | null {
  if (state !== 'running' || startedAt === null || !share) return null;
  return new Date(now.getTime() + (now.getTime() - startedAt.getTime()) * ((1 - share) / share));
}

function parsed(cursor: string | null): unknown {
  return cursor === null ? null : (JSON.parse(cursor) as unknown);
}
