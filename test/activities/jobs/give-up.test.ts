import { Readable } from 'node:stream';
import type { Context } from '@temporalio/activity';
import { describe, expect, it } from 'vitest';
import type { Dependencies } from '../../../activities/dependencies.ts';
import { giveUpJob } from '../../../activities/jobs/give-up.ts';
import { JOB_KINDS, type JobKind, jobWorkflow } from '../../../domain/jobs/job.ts';
import { activityInterceptor, faultRecord } from '../../../runtime/telemetry/activity-interceptor.ts';
import { createLog } from '../../../runtime/telemetry/log.ts';
import { createMetrics } from '../../../runtime/telemetry/metrics.ts';
import { stepAttempts } from '../../../runtime/workers.ts';
import { write } from '../../../store/core/database.ts';
import { newIdentifier } from '../../../store/core/identifiers.ts';
import { insertExportRun } from '../../../store/exports/export-runs.ts';
import { findOrInsertFileJob } from '../../../store/files/file-jobs.ts';
import { ATTENTION } from '../../../store/jobs/attention.ts';
import { deleteOldInternalErrors } from '../../../store/jobs/internal-errors.ts';
import { listRunningJobs, listUnclaimedJobs } from '../../../store/jobs/jobs-across-entities.ts';
import { STORED_JOBS } from '../../../store/jobs/jobs.ts';
import { listAttentionOf } from '../../../store/jobs/list-attention.ts';
import { insertRun } from '../../../store/syncs/sync-runs.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { storedExporter } from '../../harness/exports/stored-exporters.ts';
import { requestByApi } from '../../harness/gdpr/gdpr-requests.ts';
import { importErrors, insertUpload } from '../../harness/imports/imports.ts';
import { insertSampleCampaign } from '../../harness/sends/campaigns.ts';
import { storedSync } from '../../harness/syncs/stored-syncs.ts';
import { sampleApp } from '../../harness/tracking/sdk-samples.ts';
import { useServer } from '../../server/http/use-server.ts';

/** Law 11: how a job of each kind ends whose step killed its process three times. */

const { store, server } = useServer();

const sql = async <R extends object>(text: string, values: unknown[] = []): Promise<R[]> =>
  (await store.db.query<R>(text, values)).rows;

type Scene = { world: World; appId: number };
type Shown = { internal_error: unknown };
type Row = { id: number; identifier: string; state: string; failure: string | null; alert: string | null };
type Ending = {
  step: string;
  /** Makes a job under way, and a later one of the same owner or entity. */
  begin(scene: Scene): Promise<{ job: string; next: string }>;
  /** The path of the record, and where its `internal_error` stands. */
  record(job: string, scene: Scene): Promise<{ path: string; errorIn?: (result: never) => unknown }>;
  /** The advice that staff read. */
  says: RegExp;
  /** Whether the flow goes on to mail the end. */
  mails: boolean;
  state?: string;
  /** Checks what else has to hold at the end. */
  shows(row: Row, scene: Scene): Promise<void>;
};

const identifierOf = ({ identifier }: { identifier: string }) => identifier;

async function insertSend({ world, appId }: Scene, isCampaign: boolean): Promise<string> {
  const entityId = world.entity.id;
  const campaign = await insertSampleCampaign(store.db, entityId, appId, isCampaign ? { type: 'dynamic' } : {});
  const identifier = isCampaign ? campaign.identifier : newIdentifier('snd');
  const [{ id } = { id: 0 }] = await sql<{ id: number }>(
    'INSERT INTO sends (entity_id, identifier, message_count, campaign_id) VALUES ($1, $2, 3, $3) RETURNING id',
    [entityId, identifier, isCampaign ? campaign.id : null],
  );
  await sql('INSERT INTO send_campaigns (entity_id, send_id, ordinal, campaign_id) VALUES ($1, $2, 0, $3)', [
    entityId,
    id,
    campaign.id,
  ]);
  for (const state of ['waiting', 'sending']) {
    await sql(
      `INSERT INTO attempts (entity_id, campaign_id, app_id, send_id, message_ordinal, channel, state, code, device_id)
       VALUES ($1, $2, $3, $4, 0, 'push', $5, 'PENDING', $5)`,
      [entityId, campaign.id, appId, id, state],
    );
  }
  await sql('INSERT INTO send_messages (entity_id, send_id, ordinal, user_id) VALUES ($1, $2, 2, $3)', [
    entityId,
    id,
    personId(1),
  ]);
  await sql(
    `INSERT INTO campaign_audience (entity_id, send_id, due_at, person, device_id) VALUES ($1, $2, now(), 'd1', 'd1')`,
    [entityId, id],
  );
  await sql(
    `INSERT INTO campaign_members (entity_id, send_id, person, is_member, notified) VALUES ($1, $2, 'd1', true, 0)`,
    [entityId, id],
  );
  return identifier;
}

async function nothingIsLeftToSend({ id }: Row): Promise<void> {
  const attempts = 'SELECT device_id AS was, state, code FROM attempts WHERE send_id = $1 ORDER BY device_id';
  expect(await sql(attempts, [id])).toEqual([
    { was: 'sending', state: 'settled', code: 'UNKNOWN' },
    { was: 'waiting', state: 'settled', code: 'CANCELED' },
  ]);
  for (const table of ['send_messages', 'campaign_audience', 'campaign_members']) {
    expect([table, await sql(`SELECT FROM ${table} WHERE send_id = $1`, [id])]).toEqual([table, []]);
  }
}

const beginRequest =
  (type: 'access' | 'delete') =>
  async ({ world }: Scene) => {
    const [one, other] = await Promise.all([1, 2].map((n) => requestByApi(store.db, type, world, [personId(n)])));
    if (type === 'access') {
      const file = `access/${one!.identifier}/1-half.zip`;
      await store.files.put(file, Readable.from([Buffer.from('half')]));
      await sql(`UPDATE gdpr_request_people SET state = 'building', archive_key = $2 WHERE request_id = $1`, [
        one!.id,
        file,
      ]);
    }
    await sql('UPDATE gdpr_requests SET location_faults = $2 WHERE id = $1', [
      one!.id,
      { events: { since: '2026-11-01T12:00:01+00:00', reason: 'it is away' } },
    ]);
    return { job: one!.identifier, next: other!.identifier };
  };

const request = (type: 'access' | 'delete', step: string): Ending => ({
  step,
  mails: false,
  state: 'accepted',
  says: /waits until POST .*\/<request_id>\/approve starts it again/,
  begin: beginRequest(type),
  record: async (job) => ({
    path: `/api/gdpr/requests/${job}`,
    errorIn: ({ progress }: { progress: Shown }) => progress.internal_error,
  }),
  async shows({ id, identifier }, { world }) {
    const path = `/api/gdpr/requests/${identifier}`;
    const viewed = async () => (await server.call('GET', path, { token: world.token })).body.result;
    expect((await viewed()).progress.faults).toMatchObject([
      {
        location: null,
        reason: expect.stringContaining(`the step ${step} ended its process several times`),
        what_to_do: expect.stringContaining('/approve starts the request again'),
      },
    ]);
    if (type === 'access') {
      const people = await sql('SELECT state, archive_key FROM gdpr_request_people WHERE request_id = $1', [id]);
      expect(people).toEqual([{ state: 'pending', archive_key: null }]);
      expect(await store.files.size(`access/${identifier}/1-half.zip`)).toBeNull();
    }
    // The person can be readmitted, and is erased nevertheless once staff start the request again.
    const readmit = () =>
      server.call('POST', '/api/gdpr/readmit', { token: world.token, body: { users: [personId(1)] } });
    expect((await readmit()).status).toBe(200);
    // Its error stays as long as it waits.
    await sql(`UPDATE internal_errors SET last_at = now() - interval '8 days' WHERE job = $1`, [identifier]);
    await deleteOldInternalErrors(store.db);
    expect((await viewed()).progress.internal_error).toMatchObject({ step });
    expect((await server.call('POST', `${path}/approve`, { token: world.token })).status).toBe(200);
    expect((await viewed()).progress).toMatchObject({ faults: [], internal_error: null });
    expect((await listUnclaimedJobs(store.db, type, 0)).map(identifierOf)).toContain(identifier);
    if (type === 'access') return;
    expect((await readmit()).body.message).toContain(identifier);
  },
});

const ENDINGS: Record<JobKind, Ending> = {
  import: {
    step: 'loadRows',
    mails: true,
    says: /import the file again/,
    async begin({ world }) {
      const fileKey = `imports/${newIdentifier('imp')}.csv`;
      await store.files.put(fileKey, Readable.from([Buffer.from('user_id,attribute_key,value\n')]));
      const { identifier: job } = await insertUpload(store.db, store, world, { file: { fileKey } });
      return { job, next: (await insertUpload(store.db, store, world)).identifier };
    },
    record: async (job) => ({ path: `/api/attribute_values/imports/${job}` }),
    async shows({ id }, { world }) {
      expect(await importErrors(store, world, { id } as never)).toMatchObject([
        {
          line: 0,
          errorType: 'KAFKA_DELIVERY_FAILED',
          stage: 'internal',
          message: expect.stringMatching(/^an error in Millrace: the step loadRows/),
        },
      ]);
      // No step can commit anything more.
      const lanes = 'SELECT DISTINCT generation FROM import_lanes WHERE import_id = $1';
      expect(await sql(lanes, [id])).toEqual([{ generation: -1 }]);
      const [pinned] = await sql<{ file_key: string }>('SELECT file_key FROM imports WHERE id = $1', [id]);
      expect(await store.files.size(pinned!.file_key)).toBeNull();
      expect(await sql('SELECT FROM file_deletions WHERE file_key = $1', [pinned!.file_key])).toEqual([]);
    },
  },
  sync: {
    step: 'syncRecords',
    mails: true,
    says: /The next run tries again/,
    async begin({ world }) {
      const sync = await storedSync(store.db, world);
      const [run, next] = [1, 2].map((hours) =>
        insertRun(store.db, world.entity.id, {
          syncId: sync.id,
          cause: 'schedule',
          scheduledFor: new Date(Date.UTC(2026, 10, 5, hours)),
        }),
      );
      const { id, identifier } = (await run)!;
      await sql(
        `INSERT INTO sync_batches (entity_id, run_id, records_before, records, identifier, batch) VALUES ($1, $2, 0, 1, 'one', '[]')`,
        [world.entity.id, id],
      );
      return { job: identifier, next: (await next)!.identifier };
    },
    record: async (job) => ({ path: `/api/sync_runs/${job}` }),
    async shows({ id, failure, alert }) {
      const reason = /: the step syncRecords ended its process several times, or stopped answering, without progress /;
      expect([failure, alert]).toEqual([expect.stringMatching(reason), 'failed']);
      const sync = 'SELECT failures, paused_at FROM syncs WHERE id = (SELECT sync_id FROM sync_runs WHERE id = $1)';
      expect(await sql(sync, [id])).toEqual([{ failures: 1, paused_at: null }]);
      expect(await sql('SELECT FROM sync_batches WHERE run_id = $1', [id])).toEqual([]);
    },
  },
  export: {
    step: 'exportFiles',
    mails: true,
    says: /The next run exports what is missing/,
    async begin({ world }) {
      const exporter = await storedExporter(store.db, store.secrets, world);
      const [run, next] = [1, 2].map((day) =>
        insertExportRun(store.db, world.entity.id, {
          exporterId: exporter.id,
          cause: 'schedule',
          scheduledFor: new Date(Date.UTC(2026, 10, day)),
          window: { kind: 'received', start: null, end: new Date(Date.UTC(2026, 10, day)) },
        } as never),
      );
      return { job: (await run)!.identifier, next: (await next)!.identifier };
    },
    async record(job) {
      const [{ exporter } = { exporter: '' }] = await sql<{ exporter: string }>(
        `SELECT x.identifier AS exporter FROM data_exporters x
         WHERE x.id = (SELECT exporter_id FROM export_runs WHERE identifier = $1)`,
        [job],
      );
      return { path: `/api/data_exporters/${exporter}/runs/${job}` };
    },
    async shows({ id, failure, alert }) {
      expect([failure, alert]).toEqual([expect.stringContaining('the step exportFiles'), 'failed']);
      const exporter = `SELECT failures, paused_at FROM data_exporters
        WHERE id = (SELECT exporter_id FROM export_runs WHERE id = $1)`;
      expect(await sql(exporter, [id])).toEqual([{ failures: 1, paused_at: null }]);
    },
  },
  file: {
    step: 'writeFile',
    mails: true,
    says: /Ask for the file again/,
    async begin({ world }) {
      const file = { kind: 'events', format: 'csv', email: null, createdBy: world.user.id } as const;
      const [one, next] = await Promise.all(
        ['a', 'b'].map((app) =>
          write(store.db, (tx) => findOrInsertFileJob(tx, store.secrets, world.entity.id, { ...file, query: { app } })),
        ),
      );
      await sql(`UPDATE file_jobs SET file_key = 'files/' || identifier || '/half.csv' WHERE id = $1`, [one!.jobId]);
      return { job: one!.identifier, next: next!.identifier };
    },
    record: async () => ({ path: '' }),
    async shows({ id, failure }) {
      expect(failure).toContain('the step writeFile ended its process several times');
      expect(await sql('SELECT file_key FROM file_jobs WHERE id = $1', [id])).toEqual([{ file_key: null }]);
      expect(await sql('SELECT FROM file_deletions')).toEqual([]);
    },
  },
  send: {
    step: 'sendMessages',
    mails: false,
    says: /may have left are UNKNOWN, the others CANCELED: send these again/,
    begin: async (scene) => ({ job: await insertSend(scene, false), next: await insertSend(scene, false) }),
    record: async (job) => ({ path: `/api/transac/${job}` }),
    shows: nothingIsLeftToSend,
  },
  campaign: {
    step: 'sendToAudience',
    mails: false,
    says: /Duplicate the campaign/,
    begin: async (scene) => ({ job: await insertSend(scene, true), next: await insertSend(scene, true) }),
    record: async (job) => ({ path: `/api/campaign/${job}` }),
    async shows(row, scene) {
      await nothingIsLeftToSend(row);
      const campaign = `SELECT status, failure FROM campaigns WHERE id = (SELECT campaign_id FROM sends WHERE id = $1)`;
      expect(await sql(campaign, [row.id])).toEqual([
        { status: 'failed', failure: expect.stringContaining('the step sendToAudience') },
      ]);
      const failed = (await attentionOf(scene)).filter(({ kind }) => kind === 'failed');
      expect(failed).toMatchObject([{ object: 'campaign' }]);
    },
  },
  access: request('access', 'writeArchives'),
  delete: request('delete', 'writeReceipt'),
};

const attentionOf = ({ world }: Scene) =>
  listAttentionOf(store.db, world.entity.id, ATTENTION, { after: null, limit: 100 });

/** Gives a step to a worker, as Temporal does after three attempts whose processes are gone. */
async function takeStep(kind: JobKind, { step, mails }: Ending, entityId: number, job: string): Promise<void> {
  await sql(
    `INSERT INTO step_attempts (entity_id, kind, job, activity, attempt, process, is_alone, deaths)
     VALUES ($1, $2, $3, 'run/7', 3, 1, true, 2)`,
    [entityId, kind, job],
  );
  const log = createLog({ level: 'fatal' });
  const attempts = stepAttempts(store.db, log, 3);
  const deps = { ...store, boundary: () => {}, countExportRuns: () => {} } as object as Dependencies;
  const interceptor = activityInterceptor(log, createMetrics(), {
    faults: faultRecord(store.db, log),
    attempts,
    giveUp: (given, name, reason) =>
      giveUpJob(deps, given.kind, { entityId, identifier: given.job }, { step: name, reason }),
  });
  const attempted = (attempt: number) =>
    interceptor({
      info: {
        activityType: step,
        workflowType: jobWorkflow(kind),
        workflowExecution: { workflowId: '', runId: 'run' },
        activityId: '7',
        attempt,
      },
      cancellationSignal: new AbortController().signal,
    } as Context).inbound!.execute!;
  const neverRun = () => Promise.reject(new Error('the step runs once more'));
  const taken = attempted(4)({ args: [{ entityId, identifier: job }], headers: {} }, neverRun);
  if (mails) expect(await taken).toBeNull();
  else await expect(taken).rejects.toMatchObject({ message: 'request_gone', type: 'Refusal', nonRetryable: true });
  expect(await sql('SELECT FROM step_attempts')).toEqual([]);
  // Temporal may not have heard of that: the step comes once more, finds the job ended, and settles nothing.
  await attempted(5)({ args: [{ entityId, identifier: job }], headers: {} }, () => Promise.resolve(null));
  await attempts.close();
}

describe('a step of a process that lives', () => {
  it.each([
    ['sync', 'given up'],
    ['import', 'runs'],
  ] as const)('that is begun anew without progress: in a %s it %s', async (kind, last) => {
    const scene = { world: await makeWorld(store), appId: 0 };
    const { job } = await ENDINGS[kind].begin(scene);
    const attempts = stepAttempts(store.db, createLog({ level: 'fatal' }), 3);
    const begin = (attempt: number) =>
      attempts.begin({ entityId: scene.world.entity.id, kind, job, activity: 'run/8', attempt });
    expect([await begin(1), await begin(2), await begin(3), await begin(4)]).toEqual(['runs', 'runs', 'runs', last]);
    await sql('DELETE FROM step_attempts');
    await attempts.close();
  });
});

describe('a job whose step killed its process three times', () => {
  it.each(JOB_KINDS)('ends as its users expect, and holds up no other: %s', async (kind) => {
    const ending = ENDINGS[kind];
    const world = await makeWorld(store);
    const scene = { world, appId: await sampleApp(store.db, world.entity.id) };
    const { table } = STORED_JOBS[kind];
    const { job, next } = await ending.begin(scene);
    await sql(
      `UPDATE ${table} SET state = 'running', workflow_run_id = 'run', started_at = now() WHERE identifier = $1`,
      [job],
    );

    await takeStep(kind, ending, world.entity.id, job);

    const [row] = await sql<Row>(`SELECT * FROM ${table} WHERE identifier = $1`, [job]);
    expect(row).toMatchObject({ state: ending.state ?? 'failed' });
    expect((await listRunningJobs(store.db, kind)).map(identifierOf)).not.toContain(job);
    const startable = (await listUnclaimedJobs(store.db, kind, 0)).map(identifierOf);
    expect([startable.includes(job), startable.includes(next)]).toEqual([false, true]);

    const error = { id: expect.stringMatching(/^[\da-f-]{36}$/), since: expect.any(String), step: ending.step };
    const { path, errorIn = ({ internal_error: shown }: Shown) => shown } = await ending.record(job, scene);
    if (path !== '') {
      const { status, body } = await server.call('GET', path, { token: world.token });
      expect([status, errorIn(body.result as never)]).toEqual([200, error]);
    }
    const internal = (await attentionOf(scene)).filter(({ kind: of }) => of === 'internal_error');
    expect(internal).toMatchObject([
      { reason: expect.stringContaining(`step ${ending.step}`), toDo: expect.stringMatching(ending.says) },
    ]);
    expect(internal[0]!.toDo).not.toContain('by itself');
    await ending.shows(row!, scene);
  });
});
