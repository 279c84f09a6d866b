import * as api from '../../api/syncs/syncs.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { untoldOf } from '../../domain/syncs/schema-change.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { NewRun } from '../../store/syncs/sync-run-record.ts';
import { cancelRunsOf, findLastRuns, findWaitingRun } from '../../store/syncs/sync-runs.ts';
import { findSync, lockSync, updateKnownFields, updatePaused, updateReadFields } from '../../store/syncs/syncs.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { type Circumstances, type KeepReply, type Route, route } from '../http/route.ts';
import { followSyncSoon } from '../jobs/start-soon.ts';
import { knownSync, showSync } from './sync-record.ts';
import { servedSyncRuns } from './sync-run-record.ts';

const pauseSync = route(api.pauseSync, async ({ params: { sync_id }, ...who }, deps) => {
  return changeState(sync_id, who, deps, 'paused', async (tx, { entityId, id, paused }) => {
    if (!paused) await updatePaused(tx, entityId, id, 'by hand');
    await cancelRunsOf(tx, entityId, id, 'scheduled');
  });
});

const resumeSync = route(api.resumeSync, async ({ params: { sync_id }, ...who }, deps) => {
  return changeState(sync_id, who, deps, 'resumed', (tx, { entityId, id }) => updatePaused(tx, entityId, id, null));
});

const acceptSchema = route(api.acceptSyncSchema, async ({ params: { sync_id }, ...who }, deps) => {
  return changeState(sync_id, who, deps, 'schema accepted', acceptFields);
});

/** What the source tells of is taken as it is by the next run; what came up in records alone only this one knows. */
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

type Who = Pick<Circumstances, 'address' | 'log'> & { caller: Caller; keepReply: KeepReply };
type Change = (tx: Parameters<typeof lockSync>[0], sync: Awaited<ReturnType<typeof knownSync>>) => Promise<void>;

async function changeState(
  syncId: string,
  { log, keepReply, ...who }: Who,
  deps: RouteDependencies,
  change: string,
  apply: Change,
) {
  const { entityId } = who.caller;
  const answer = await write(deps.db, async (tx) => {
    await apply(tx, await knownSync(tx, entityId, syncId, lockSync));
    await audit(tx, who, { action: 'update', subjectKind: 'sync', subject: syncId, details: { change } });
    return keepReply(tx, await showSync(tx, (await findSync(tx, entityId, syncId))!));
  });
  const sync = await findSync(deps.db, entityId, syncId);
  if (sync) await followSyncSoon(deps, log, sync);
  return answer;
}

function startRun(syncId: string, who: Who, deps: RouteDependencies, run: Omit<NewRun, 'syncId'>) {
  const { dryRun = false, fresh = false } = run;
  return servedSyncRuns.start(deps, who, syncId, async (tx, { entityId, id }) => {
    const waiting = await findWaitingRun(tx, entityId, id, dryRun);
    if (waiting !== null) refuse(409, 'conflict', `A run that was asked for waits already: ${waiting}`);
    return { run, details: { dry_run: dryRun, fresh }, isListed: true };
  });
}

export const syncActionRoutes: Route[] = [pauseSync, resumeSync, acceptSchema, runSync, dryRunSync];
