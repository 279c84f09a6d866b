/** The routes of runs of syncs: list, view, cancel, repeat failed records, log and sample. */
import * as api from '../../api/syncs/sync-runs.ts';
import { countRefused } from '../../domain/syncs/refused-records.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { sayNotRead } from '../../domain/syncs/record-mapping.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { countErrorsSettled } from '../../store/imports/import-errors.ts';
import { listLogLines } from '../../store/syncs/sync-log.ts';
import { listRequests } from '../../store/syncs/sync-requests.ts';
import type { SyncRun } from '../../store/syncs/sync-run-record.ts';
import { findRunById, findOpenRun } from '../../store/syncs/sync-runs.ts';
import { audit } from '../http/audit.ts';
import { type Route, route } from '../http/route.ts';
import { knownSync } from './sync-record.ts';
import { syncRuns } from './sync-run-record.ts';

const runs = syncRuns;

const listTheRuns = route(api.listSyncRuns, ({ params: { sync_id }, query, caller }, deps) =>
  runs.list(deps, caller.entityId, sync_id, query),
);

const viewRun = route(api.viewSyncRun, ({ params: { sync_id, run_id }, caller }, deps) =>
  runs.view(deps, caller.entityId, sync_id, run_id),
);

const findTheRun = route(api.findSyncRun, async ({ params: { run_id }, caller }, deps) => {
  const { owner, shown } = await runs.find(deps, caller.entityId, run_id);
  return { sync_id: owner, ...shown };
});

const cancelTheRun = route(api.cancelSyncRun, ({ params: { sync_id, run_id }, ...who }, deps) =>
  runs.cancel(deps, who, sync_id, run_id),
);

const redriveRun = route(api.redriveSyncRun, ({ params: { sync_id, run_id }, ...who }, deps) =>
  runs.start(deps, who, sync_id, async (tx, { entityId }) => {
    const run = await runs.known(tx, entityId, sync_id, run_id);
    const root =
      run.rootId === null
        ? run
        : ((await findRunById(tx, entityId, run.rootId)) ?? refuse(404, 'not_found', 'Run not found'));
    await refuseNothingToDo(tx, root);
    const { mapping } = await knownSync(tx, entityId, sync_id);
    const reason = sayNotRead(mapping, root.fieldsRead);
    if (reason) refuse(409, 'fields_not_read', reason);
    return { run: { cause: 'redrive', rootId: root.id }, details: { redrive_of: root.identifier } };
  }),
);

async function refuseNothingToDo(tx: Queryable, root: SyncRun): Promise<void> {
  const { entityId, id, endedAt, dryRun, progress } = root;
  if (dryRun) refuse(400, 'bad_request', 'A dry run has nothing to bring again: it wrote nothing');
  if (endedAt === null) refuse(409, 'conflict', 'The run has not ended yet');
  const waiting = await findOpenRun(tx, root, { redriveOf: root.id });
  if (waiting !== null) refuse(409, 'conflict', `A re-drive of it is under way already: ${waiting}`);
  const open = countRefused(progress) - (await countErrorsSettled(tx, entityId, id));
  if (open === 0) refuse(400, 'bad_request', 'No record of the run is open: there is nothing to bring again');
}

const viewLog = route(api.readSyncLog, async ({ params: { sync_id, run_id }, ...who }, { db }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const { id } = await runs.known(tx, entityId, sync_id, run_id);
    await audit(tx, who, { action: 'read', subjectKind: 'sync_run', subject: run_id, details: { what: 'log' } });
    const lines = await listLogLines(tx, entityId, id);
    return { lines: lines.map(({ loggedAt, line }) => ({ at: loggedAt.toISOString(), line })) };
  });
});

const listTheRequests = route(api.listSyncRequests, async ({ params: { sync_id, run_id }, ...who }, { db }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const { id } = await runs.known(tx, entityId, sync_id, run_id);
    await audit(tx, who, { action: 'read', subjectKind: 'sync_run', subject: run_id, details: { what: 'requests' } });
    const requests = await listRequests(tx, entityId, id);
    return { requests: requests.map(({ sentAt, ...request }) => ({ sent_at: sentAt.toISOString(), ...request })) };
  });
});

const viewSample = route(api.viewDryRunSample, async ({ params: { sync_id, run_id }, ...who }, { db }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const { sample, dryRun } = await runs.known(tx, entityId, sync_id, run_id);
    if (!dryRun) refuse(400, 'bad_request', 'Only a dry run has a sample: POST /api/syncs/<sync_id>/dry_run');
    await audit(tx, who, { action: 'read', subjectKind: 'sync_run', subject: run_id, details: { what: 'sample' } });
    return { records: sample ?? [] };
  });
});

export const syncRunRoutes: Route[] = [
  listTheRuns,
  viewRun,
  findTheRun,
  cancelTheRun,
  redriveRun,
  viewLog,
  listTheRequests,
  viewSample,
];
