import * as api from '../../api/syncs/sync-runs.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { jobRefOf } from '../../domain/jobs/job.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { countErrorsSettled } from '../../store/imports/import-errors.ts';
import { findNextJob, listJobIdentifiers } from '../../store/jobs/jobs.ts';
import { listRunAlerts } from '../../store/jobs/run-alerts.ts';
import { listLogLines } from '../../store/syncs/sync-log.ts';
import type { SyncRun } from '../../store/syncs/sync-run-record.ts';
import {
  cancelRun,
  countRuns,
  findRun,
  findRunById,
  findWaitingRedrive,
  insertRun,
  listRuns,
} from '../../store/syncs/sync-runs.ts';
import { findSyncById, lockSync } from '../../store/syncs/syncs.ts';
import { audit } from '../http/audit.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { type Route, route } from '../http/route.ts';
import { findInternalError, findInternalErrors } from '../jobs/show-internal-error.ts';
import { startSoon } from '../jobs/start-soon.ts';
import { knownSync } from './sync-record.ts';
import { showRun } from './sync-run-record.ts';
import { knownRun } from './sync-run.ts';

const listTheRuns = route(
  api.listSyncRuns,
  async ({ params: { sync_id }, query, caller: { entityId } }, { db, settings }) => {
    const sync = await knownSync(db, entityId, sync_id);
    const runs = await listRuns(db, entityId, sync.id, rowsOf(query));
    const roots = await listJobIdentifiers(
      db,
      'sync',
      entityId,
      runs.flatMap(({ rootId }) => rootId ?? []),
    );
    const alerted = await listRunAlerts(
      db,
      'sync',
      entityId,
      runs.map(({ id }) => id),
    );
    const errorOf = await findInternalErrors(
      db,
      'sync',
      entityId,
      runs.map(({ identifier }) => identifier),
    );
    const now = new Date();
    const shown = runs.map((run) =>
      showRun(run, {
        now,
        rootIdentifier: roots.get(run.rootId ?? 0) ?? null,
        settled: null,
        alerted: alerted.get(run.id),
        internalError: errorOf(run.identifier),
      }),
    );
    return showPage(settings, `/api/syncs/${sync_id}/runs`, query, await countRuns(db, entityId, sync.id), shown);
  },
);

const viewRun = route(api.viewSyncRun, async ({ params: { sync_id, run_id }, caller }, { db }) => {
  return showWhole(db, await knownRun(db, caller.entityId, sync_id, run_id));
});

const findTheRun = route(api.findSyncRun, async ({ params: { run_id }, caller: { entityId } }, { db }) => {
  const run = (await findRun(db, entityId, run_id)) ?? refuse(404, 'not_found', 'Run not found');
  const sync = (await findSyncById(db, entityId, run.syncId)) ?? refuse(404, 'not_found', 'Run not found');
  return { sync_id: sync.identifier, ...(await showWhole(db, run)) };
});

const cancelTheRun = route(api.cancelSyncRun, async ({ params: { sync_id, run_id }, keepReply, log, ...who }, deps) => {
  const { entityId } = who.caller;
  const { id } = await knownRun(deps.db, entityId, sync_id, run_id);
  const answer = await write(deps.db, async (tx) => {
    const canceled = await cancelRun(tx, entityId, run_id);
    if (!canceled) refuse(400, 'bad_request', 'The run has ended already');
    await audit(tx, who, {
      action: 'update',
      subjectKind: 'sync_run',
      subject: run_id,
      details: { change: 'canceled' },
    });
    return keepReply(tx, await showWhole(tx, (await findRunById(tx, entityId, id))!));
  });
  const { syncId } = (await findRunById(deps.db, entityId, id))!;
  const next = await findNextJob(deps.db, 'sync', entityId, syncId);
  if (next) await startSoon(deps, log, 'sync', next);
  return answer;
});

const redriveRun = route(api.redriveSyncRun, async ({ params: { sync_id, run_id }, keepReply, log, ...who }, deps) => {
  const { entityId, userId } = who.caller;
  let made: SyncRun | null = null;
  const answer = await write(deps.db, async (tx) => {
    const sync = await knownSync(tx, entityId, sync_id, lockSync);
    const run = await knownRun(tx, entityId, sync_id, run_id);
    const root =
      run.rootId === null
        ? run
        : ((await findRunById(tx, entityId, run.rootId)) ?? refuse(404, 'not_found', 'Run not found'));
    await refuseNothingToDo(tx, root);
    made = (await insertRun(tx, entityId, {
      syncId: sync.id,
      cause: 'redrive',
      rootId: root.id,
      requestedBy: userId,
    }))!;
    const details = { run: made.identifier, redrive_of: root.identifier };
    await audit(tx, who, { action: 'create', subjectKind: 'sync_run', subject: sync_id, details });
    return keepReply(tx, await showWhole(tx, made));
  });
  await startSoon(deps, log, 'sync', jobRefOf(made!));
  return answer;
});

async function refuseNothingToDo(tx: Queryable, root: SyncRun): Promise<void> {
  const { entityId, id, endedAt, dryRun, progress } = root;
  if (dryRun) refuse(400, 'bad_request', 'A dry run has nothing to bring again: it wrote nothing');
  if (endedAt === null) refuse(409, 'conflict', 'The run has not ended yet');
  const waiting = await findWaitingRedrive(tx, root);
  if (waiting !== null) refuse(409, 'conflict', `A re-drive of it is under way already: ${waiting}`);
  const open = progress.ignored + progress.failed - (await countErrorsSettled(tx, entityId, id));
  if (open === 0) refuse(400, 'bad_request', 'No record of the run is open: there is nothing to bring again');
}

const viewLog = route(api.readSyncLog, async ({ params: { sync_id, run_id }, ...who }, { db }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const { id } = await knownRun(tx, entityId, sync_id, run_id);
    await audit(tx, who, { action: 'read', subjectKind: 'sync_run', subject: run_id, details: { what: 'log' } });
    const lines = await listLogLines(tx, entityId, id);
    return { lines: lines.map(({ loggedAt, line }) => ({ at: loggedAt.toISOString(), line })) };
  });
});

const viewSample = route(api.viewDryRunSample, async ({ params: { sync_id, run_id }, ...who }, { db }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const { sample, dryRun } = await knownRun(tx, entityId, sync_id, run_id);
    if (!dryRun) refuse(400, 'bad_request', 'Only a dry run has a sample: POST /api/syncs/<sync_id>/dry_run');
    await audit(tx, who, { action: 'read', subjectKind: 'sync_run', subject: run_id, details: { what: 'sample' } });
    return { records: sample ?? [] };
  });
});

async function showWhole(db: Queryable, run: SyncRun): Promise<api.SyncRun> {
  const root = run.rootId === null ? null : await findRunById(db, run.entityId, run.rootId);
  const settled = await countErrorsSettled(db, run.entityId, run.id);
  const alerted = (await listRunAlerts(db, 'sync', run.entityId, [run.id])).get(run.id);
  const internalError = await findInternalError(db, 'sync', run);
  return showRun(run, { now: new Date(), rootIdentifier: root?.identifier ?? null, settled, alerted, internalError });
}

export const syncRunRoutes: Route[] = [listTheRuns, viewRun, findTheRun, cancelTheRun, redriveRun, viewLog, viewSample];
