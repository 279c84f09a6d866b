import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { inject, beforeAll } from 'vitest';
import { type Client, ScheduleNotFoundError } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import { NOTHING_ALLOWED } from '../../../connectors/core/fetch-allow.ts';
import { guardedFetch } from '../../../connectors/core/guarded-fetch.ts';
import { flowsOver } from '../../../temporal/flows.ts';
import { ensureTemporal, SWEEP } from '../../../runtime/supervisor.ts';
import { createLog } from '../../../runtime/telemetry/log.ts';
import { createMetrics } from '../../../runtime/telemetry/metrics.ts';
import { openTemporalClient } from '../../../temporal/client.ts';
import { openCpuShare } from '../../../runtime/app-context.ts';
import { buildServer } from '../../../server/app.ts';
import { ownLog } from '../run/faults.ts';
import { onFileEnd } from './clean-up.ts';
import { type StoreOptions, testStore, type TestStore } from './database.ts';
import { waitFor } from './wait.ts';
import { SWEEP_SECONDS, type TestWorker, type WorkerOptions, type WorkersOptions, workersOver } from './workers.ts';

export type Stack = {
  store: TestStore;
  temporal: Client;
  namespace: string;
  app: FastifyInstance;
  /** Another server over the same database. */
  newServer(): Promise<FastifyInstance>;
  startWorker(options?: WorkerOptions): TestWorker;
};

/** Far longer than a service waits: a test that sees what has come of a call has no sweep to make up for it. */
const START_WITHIN_MS = 60_000;

const quiet = { info() {}, warn() {}, error() {} };

/** Database, namespace and server of this test file's own; workers are started as the test asks. */
export function useStack({ filesOnS3, ...options }: StoreOptions & WorkersOptions = {}): Stack {
  const stack = {} as Stack;
  beforeAll(async () => {
    Object.assign(stack, await openStack(await testStore({ filesOnS3 }), options));
  });
  return stack;
}

/** Returns what Temporal's page shows as the current details of a workflow. */
export async function currentDetails({ temporal }: Stack, workflowId: string): Promise<string> {
  const handle = temporal.workflow.getHandle(workflowId);
  return (await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails;
}

/** The same over a database that stands. */
export async function openStack(store: TestStore, options: WorkersOptions = {}): Promise<Stack> {
  const namespace = `test-${randomBytes(5).toString('hex')}`;
  const temporal = await openTemporalClient({ address: inject('temporal').address, namespace }, 'test-server');
  // A namespace is registered at once, and seen by all of Temporal a moment later.
  const supervisor = { temporal, log: quiet, sweepSeconds: options.sweepSeconds ?? SWEEP_SECONDS };
  await waitFor('the namespace', () =>
    ensureTemporal(supervisor).then(
      () => true,
      () => false,
    ),
  );
  onFileEnd(async () => {
    await endSweep(temporal);
    await temporal.connection.close();
  });
  const newServer = () => newTestServer(store, temporal, namespace);
  return {
    store,
    temporal,
    namespace,
    newServer,
    app: await newServer(),
    startWorker: workersOver(store, namespace, options),
  };
}

/**
 * Once its workers have ended, which schedule it otherwise anew. Left alone, each namespace of a run would have
 * Temporal start a sweep every few seconds until the run's end: a hundred of them keep it so busy that calls fail.
 */
export async function endSweep({ schedule }: Client): Promise<void> {
  await schedule
    .getHandle(SWEEP)
    .delete()
    .catch((error: unknown) => {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
    });
}

/** A server of this process, whose log is searched at the end of the run. */
export async function newTestServer(
  { db, files, secrets, scratch }: TestStore,
  temporal: Client,
  name: string,
): Promise<FastifyInstance> {
  const logName = `server-${name}.log`;
  ownLog(logName);
  const log = createLog({
    level: 'info',
    destination: createWriteStream(join(inject('runFolder'), logName), { flags: 'a' }),
  });
  const app = await buildServer({
    db,
    files,
    secrets,
    log,
    metrics: createMetrics(),
    flows: flowsOver({ db, temporal }, START_WITHIN_MS),
    outside: { allow: NOTHING_ALLOWED, fetch: guardedFetch(NOTHING_ALLOWED), commands: new Map() },
    scratch,
    cpuShare: openCpuShare(),
    ready: async () => [],
    settings: {
      publicUrl: 'http://127.0.0.1',
      tokenTtlDays: 1,
      rateLimitPerMinute: 0,
      ingestLimitPerMinute: 0,
      version: 'test',
    },
  });
  onFileEnd(() => app.close());
  return app;
}
