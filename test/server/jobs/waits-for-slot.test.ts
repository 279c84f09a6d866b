import { asyncLocalStorage, type Context } from '@temporalio/activity';
import { expect, it } from 'vitest';
import type { Dependencies } from '../../../activities/dependencies.ts';
import { refreshSegmentsSteps } from '../../../activities/analytics/refresh-segments.ts';
import { runCampaignSteps } from '../../../activities/campaigns/run-campaign.ts';
import { exportDailySteps } from '../../../activities/exports/export-daily.ts';
import { feedAttributesSteps } from '../../../activities/feed/feed-attributes.ts';
import { buildFileSteps } from '../../../activities/files/build-file.ts';
import { gdprDeleteSteps } from '../../../activities/gdpr/gdpr-delete.ts';
import { importAttributesSteps } from '../../../activities/imports/import-attributes.ts';
import { aggregateReportsSteps } from '../../../activities/sends/aggregate-reports.ts';
import { runSyncSteps } from '../../../activities/syncs/run-sync.ts';
import { semaphore, TooManyWait } from '../../../domain/core/semaphore.ts';
import { JobGone, jobRefOf, WAITING_FOR_SLOT } from '../../../domain/jobs/job.ts';
import { createMetrics } from '../../../runtime/telemetry/metrics.ts';
import { insertCampaignRun } from '../../../store/campaigns/campaign-runs.ts';
import { write } from '../../../store/core/database.ts';
import { insertExportRun } from '../../../store/exports/export-runs.ts';
import { findFileJob } from '../../../store/files/file-jobs.ts';
import { findImport } from '../../../store/imports/imports.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { personId } from '../../harness/core/people.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { storedExporter } from '../../harness/exports/stored-exporters.ts';
import { postFeed } from '../../harness/feed/feeds.ts';
import { postImport } from '../../harness/imports/imports.ts';
import { insertSampleCampaign } from '../../harness/sends/campaigns.ts';
import { storedRun, storedSync } from '../../harness/syncs/stored-syncs.ts';
import { runMillrace } from '../../cli/core/run-millrace.ts';
import { useServer } from '../http/use-server.ts';

/** Work that waits for a slot of its worker says so in its record, until it has one. */

const { store, server, world } = useServer();
let url: string | undefined;

/** `table` and `path`: of the record. */
type Work = { table: string; path: string; step: (deps: Dependencies) => Promise<unknown> };

const sql = (text: string, values: unknown[] = []) => store.db.query<{ stage: string | null }>(text, values);
const runs = (table: string, identifier: string) =>
  sql(`UPDATE ${table} SET state = 'running', workflow_run_id = 'run', started_at = now() WHERE identifier = $1`, [
    identifier,
  ]);

const WORK: Record<string, () => Promise<Work>> = {
  async import() {
    const file = `user_id,attribute_key,value,action_type\n${personId(1)},plan,gold,\n`;
    const identifier = await postImport(server.app, world, file);
    await runs('imports', identifier);
    const { id: jobId, ...job } = (await findImport(store.db, world.entity.id, identifier))!;
    return {
      table: 'imports',
      path: `/api/attribute_values/imports/${identifier}`,
      step: (deps) => importAttributesSteps(deps).loadRows({ ...job, jobId }),
    };
  },
  async sync() {
    const run = await storedRun(store.db, await storedSync(store.db, world), { state: 'running' });
    return {
      table: 'sync_runs',
      path: `/api/sync_runs/${run.identifier}`,
      step: (deps) => runSyncSteps(deps).syncRecords({ ...jobRefOf(run), generation: run.generation }),
    };
  },
  async export() {
    const exporter = await storedExporter(store.db, store.secrets, world);
    const run = (await insertExportRun(store.db, world.entity.id, {
      exporterId: exporter.id,
      cause: 'request',
      window: { start: null, end: new Date() },
    }))!;
    await runs('export_runs', run.identifier);
    return {
      table: 'export_runs',
      path: `/api/data_exporters/${exporter.identifier}/runs/${run.identifier}`,
      step: (deps) => exportDailySteps(deps).exportFiles({ ...jobRefOf(run), generation: run.generation }),
    };
  },
  async file() {
    const app = await insertSampleApp(store.db, world.entity.id, `com.example.file${Math.random()}`);
    const asked = `/api/apps/${app.identifier}/devices_export.csv?skip_email=true`;
    const { body } = await server.call('GET', asked, { token: world.token });
    const callback = body.result.callback as string;
    const identifier = /fil_\w+/.exec(callback)![0];
    await runs('file_jobs', identifier);
    const job = (await findFileJob(store.db, world.entity.id, identifier))!;
    return {
      table: 'file_jobs',
      path: callback.replace(/^https?:\/\/[^/]+/, ''),
      step: (deps) => buildFileSteps(deps).writeFile({ ...jobRefOf(job), generation: job.generation }),
    };
  },
  async feed() {
    const value = { customer_id: personId(1), attribute_key: 'plan', attribute_value: 'gold' };
    const requestId = await postFeed(server.app, world, value);
    return {
      table: 'feed_waits',
      path: `/api/attribute_values/feeds/${requestId}`,
      step: (deps) => feedAttributesSteps(deps).drainFeed(world.entity.id),
    };
  },
};

/** Lists the noted waits: none once no work waits, not even of work that has ended. */
async function noted(table: string): Promise<(string | null)[]> {
  const isNoted =
    table === 'feed_waits'
      ? `SELECT 'feed' AS stage FROM feed_waits`
      : `SELECT stage FROM ${table} WHERE stage IS NOT NULL`;
  return (await sql(isNoted)).rows.map(({ stage }) => stage);
}

/** Runs a step in a worker that has one slot; runs and imports end at their first look whether they may go on. */
function stepIn(take: ReturnType<typeof semaphore>, { step }: Work): Promise<unknown> {
  const metrics = createMetrics();
  const deps = {
    ...store,
    takeImportSlot: semaphore(1),
    takeFeedSlot: semaphore(1),
    takeBatchSlot: take,
    takePartSlot: semaphore(1),
    takeFeedBatchSlot: semaphore(1),
    takeSmallSendSlot: take,
    takeSyncSlot: take,
    takeExportSlot: take,
    draining: new AbortController().signal,
    batchRecords: 100,
    boundary: () => {},
    countRows: metrics.countRows,
    countValues: metrics.countValues,
  } as object as Dependencies;
  const context = { info: {}, heartbeat: () => {}, cancellationSignal: AbortSignal.abort() } as object as Context;
  return asyncLocalStorage
    .run(context, () => step(deps))
    .catch((error: Error) => expect(error.name).toBe('AbortError'));
}

it.each(Object.keys(WORK))(
  '%s: leaves its slot of the queue while many of its entity are under way, and says so',
  async (kind) => {
    const take = semaphore(2, { maxEach: 1, maxWaitingEach: 0 });
    const free = await take(world.entity.id);
    const work = await WORK[kind]!();
    const context = { info: {}, heartbeat: () => {}, cancellationSignal: AbortSignal.abort() } as object as Context;
    const deps = {
      ...store,
      takeImportSlot: take,
      takeFeedSlot: take,
      takeSyncSlot: take,
      takeExportSlot: take,
    } as object as Dependencies;
    await expect(asyncLocalStorage.run(context, () => work.step(deps))).rejects.toBeInstanceOf(TooManyWait);
    expect(await noted(work.table)).toHaveLength(1);
    (await take(world.entity.id + 1))();
    free();
    await stepIn(semaphore(1), work);
    expect(await noted(work.table)).toEqual([]);
  },
);

it.each(Object.keys(WORK))('%s: the record says that it waits for a slot, and only while it waits', async (kind) => {
  const take = semaphore(1);
  const free = await take(world.entity.id);
  const work = await WORK[kind]!();
  const shown = async () => (await server.call('GET', work.path, { token: world.token })).body.result.stage as string;
  expect(await shown()).toBeNull();
  const ended = stepIn(take, work);
  await waitFor('a record that says that its work waits', async () => (await shown()) === WAITING_FOR_SLOT);
  free();
  await ended;
  expect(await noted(work.table)).toEqual([]);
  (await take(world.entity.id))();
});

it.each(Object.keys(WORK))('%s: a wait that a killed worker noted ends once an attempt has its slot', async (kind) => {
  const work = await WORK[kind]!();
  if (kind === 'feed') await sql('INSERT INTO feed_waits (entity_id) VALUES ($1)', [world.entity.id]);
  else {
    const last = `SELECT max(id) FROM ${work.table}`;
    await sql(`UPDATE ${work.table} SET stage = $1 WHERE id = (${last})`, [WAITING_FOR_SLOT]);
  }
  expect(await noted(work.table)).toHaveLength(1);
  await stepIn(semaphore(1), work);
  expect(await noted(work.table)).toEqual([]);
});

/** Steps that wait without a note, since no record says what they are at. */
const UNNOTED: Record<string, () => Promise<(deps: Dependencies) => Promise<unknown>>> = {
  async 'the audience of a campaign'() {
    const { db } = store;
    const { id: entityId } = world.entity;
    const app = await insertSampleApp(db, entityId, 'com.example.audience');
    const campaign = await insertSampleCampaign(db, entityId, app.id, { type: 'classic', status: 'scheduled' });
    const run = await write(db, (tx) => insertCampaignRun(tx, entityId, { ...campaign, createdBy: null }, new Date()));
    return async (deps) => {
      const steps = runCampaignSteps(deps);
      // Each attempt claims it anew, as after a kill.
      const claim = (await steps.claimCampaign(run, 'run')) ?? expect.unreachable('it was not claimed');
      return steps.prepareAudience(claim);
    };
  },
  'the refresh of a segment': async () => (deps) => refreshSegmentsSteps(deps).refreshSegment(world.entity.id),
  'counts of messages': async () => (deps) => aggregateReportsSteps(deps).countAttempts(world.entity.id),
  'deletions of old messages': async () => (deps) => aggregateReportsSteps(deps).dropAttempts(world.entity.id),
  async 'lists of deletions for buckets'() {
    const claim = { entityId: world.entity.id, jobId: 0, identifier: 'gdp_none', generation: 1 };
    return (deps) => gdprDeleteSteps(deps).tellExporters(claim);
  },
};

it.each(Object.keys(UNNOTED))('%s: waits for a place of its entity, which another entity need not', async (kind) => {
  const step = await UNNOTED[kind]!();
  const take = semaphore(2, { maxEach: 1, maxWaitingEach: 0 });
  const deps = {
    ...store,
    takeAudienceSlot: take,
    takeReportSlot: take,
    takeDeliverySlot: take,
    boundary() {},
    batchRecords: 100,
    draining: new AbortController().signal,
  } as object as Dependencies;
  const context = {
    info: {},
    heartbeat: () => {},
    cancellationSignal: new AbortController().signal,
  } as object as Context;
  const runStep = () => asyncLocalStorage.run(context, () => step(deps));
  const free = await take(world.entity.id);
  await expect(runStep()).rejects.toBeInstanceOf(TooManyWait);
  free();
  const freeOther = await take(world.entity.id + 1);
  // A request that is no more ends its step.
  await runStep().catch((error: unknown) => expect(error).toBeInstanceOf(JobGone));
  freeOther();
  (await take(world.entity.id))();
});

it('a run of a sync waits for a place from its claim on', async () => {
  const run = await storedRun(store.db, await storedSync(store.db, world), { state: 'accepted' });
  const deps = { ...store, boundary: () => {} } as object as Dependencies;
  expect(await runSyncSteps(deps).claimSyncRun(jobRefOf(run), 'run')).not.toBeNull();
  const { body } = await server.call('GET', `/api/sync_runs/${run.identifier}`, { token: world.token });
  expect(body.result).toMatchObject({ state: 'running', stage: WAITING_FOR_SLOT });
});

it.each([
  ['sync', ['syncs', 'status']],
  ['export', ['exporters', 'status']],
] as const)('%s: the command line says that it waits', async (kind, command) => {
  const { table } = await WORK[kind]!();
  const last = `SELECT max(id) FROM ${table}`;
  const { rows } = await store.db.query<{ identifier: string }>(
    `UPDATE ${table} SET stage = $1 WHERE id = (${last}) RETURNING identifier`,
    [WAITING_FOR_SLOT],
  );
  url ??= await server.app.listen({ port: 0, host: '127.0.0.1' });
  const { out } = await runMillrace([...command, rows[0]!.identifier], { url, token: world.token });
  expect(out).toMatch(/^running: .*\nwaiting for a free place\n/);
});
