/** The routes that pause, resume and run syncs, and accept changed fields. */
import * as api from '../../api/syncs/syncs.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { untoldOf } from '../../domain/syncs/schema-change.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { NewRun } from '../../store/syncs/sync-run-record.ts';
import { cancelRunsOf, findLastRuns, findOpenRun } from '../../store/syncs/sync-runs.ts';
import { updateKnownFields, updatePaused, updateReadFields } from '../../store/syncs/syncs.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { type Route, route } from '../http/route.ts';
import { changeOwner } from '../jobs/runs.ts';
import { syncRuns } from './sync-run-record.ts';

const pauseSync = route(api.pauseSync, ({ params: { sync_id }, ...who }, deps) =>
  changeOwner(syncRuns, deps, who, sync_id, 'paused', async (tx, { entityId, id, paused }) => {
    if (!paused) await updatePaused(tx, entityId, id, 'by hand');
    await cancelRunsOf(tx, entityId, id, 'scheduled');
  }),
);

const resumeSync = route(api.resumeSync, ({ params: { sync_id }, ...who }, deps) =>
  changeOwner(syncRuns, deps, who, sync_id, 'resumed', (tx, { entityId, id }) => updatePaused(tx, entityId, id, null)),
);

const acceptSchema = route(api.acceptSyncSchema, ({ params: { sync_id }, ...who }, deps) =>
  changeOwner(syncRuns, deps, who, sync_id, 'schema accepted', acceptFields),
);

/** Accepts the fields of records alone; the next run takes the source's declared fields as they are. */
async function acceptFields(tx: Queryable, { entityId, id, knownFields }: Sync): Promise<void> {
  const last = (await findLastRuns(tx, entityId, [id])).get(id);
  const untold = untoldOf([...(knownFields ?? []), ...(last?.schemaChange?.added ?? [])]);
  const fields = [...new Map(untold.map((field) => [field.name, field])).values()];
  await updateKnownFields(tx, entityId, id, fields.length === 0 ? null : fields);
  await updateReadFields(tx, entityId, id, null);
}

const runSync = route(api.runSync, ({ params: { sync_id }, body, ...who }, deps) => {
  const asked = { fresh: body.fresh ?? false, removalsConfirmed: body.confirm_removals ?? false };
  return startRun(sync_id, who, deps, { cause: 'request', ...asked });
});

const dryRunSync = route(api.dryRunSync, ({ params: { sync_id }, body, ...who }, deps) => {
  const dryRunRecords = body.records ?? api.DRY_RUN_RECORDS.usual;
  return startRun(sync_id, who, deps, { cause: 'request', dryRun: true, dryRunRecords });
});

function startRun(
  syncId: string,
  who: Parameters<typeof syncRuns.start>[1],
  deps: RouteDependencies,
  run: Omit<NewRun, 'syncId'>,
) {
  const { dryRun = false, fresh = false } = run;
  return syncRuns.start(deps, who, syncId, async (tx, { entityId, id }) => {
    const waiting = await findOpenRun(tx, { entityId, syncId: id }, dryRun ? 'waiting dry run' : 'waiting');
    if (waiting !== null) refuse(409, 'conflict', `A run that was asked for waits already: ${waiting}`);
    return { run, details: { dry_run: dryRun, fresh }, isListed: true };
  });
}

export const syncActionRoutes: Route[] = [pauseSync, resumeSync, acceptSchema, runSync, dryRunSync];
