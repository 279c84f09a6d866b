import { setTimeout as delay } from 'node:timers/promises';
import { NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import type { Dependencies, Log } from '../activities/dependencies.ts';
import { allSteps } from '../activities/index.ts';
import { giveUpJob } from '../activities/jobs/give-up.ts';
import { internalErrorOf } from '../domain/core/internal-error.ts';
import { STEPS_OF_QUEUE } from '../domain/jobs/queues.ts';
import { MAX_STEP_DEATHS } from '../domain/jobs/step-attempts.ts';
import type { TaskQueue } from '../domain/jobs/workflow-id.ts';
import { stepAttempts } from './step-attempts.ts';
import { activityInterceptor, type Watch } from './telemetry/activity-interceptor.ts';
import { faultRecord } from './telemetry/fault-record.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { Traces } from './telemetry/traces.ts';
import { connectionOptions, dataConverter, type TemporalSettings } from '../temporal/client.ts';

export type WorkersOptions = {
  temporal: TemporalSettings;
  /** Path of the workflow bundle. */
  bundlePath: string;
  queues: readonly TaskQueue[];
  /** What histories show of this process. */
  identity: string;
  deps: Omit<Dependencies, 'draining'>;
  log: Log;
  metrics: Metrics;
  /** With these the bundle is a traced one. */
  traces?: Pick<Traces, 'activities' | 'sinks'> | null;
  patience?: Patience;
  /** After so many deaths of its process in a row, without progress, a step is given up. */
  maxStepDeaths?: number;
};

/** How soon another worker goes on with what a dead one had; the timeouts of steps are in the bundle. */
export type Patience = { stickyMs: number; heartbeatsMs: number };

export type Workers = {
  /** The queues that are polled now. */
  polling(): TaskQueue[];
  /** No new work; running steps end at their next commit, within DRAIN_MS. */
  stop(): Promise<void>;
};

/** Running steps get this long on SIGTERM; then they are canceled, and go on on another worker. */
const DRAIN_MS = 30_000;
const RESTART_MS = 1_000;

/**
 * After a worker's death its workflows go on on another this soon. Heartbeats reach Temporal once a second: the SDK
 * would send one only after four fifths of the timeout, so a late one on a busy machine would count as a death.
 */
const PATIENCE: Patience = { stickyMs: 3_000, heartbeatsMs: 1_000 };

/** Said of each worker that polls activities only, as all but those of `flows` do. */
const EXPECTED = /^No workflows registered/;

/** Routes what the SDK warns of through our own log. Once per process, before the first worker. */
export function installTemporalRuntime(log: Log): void {
  const warn = (message: string, meta?: object) => {
    if (!EXPECTED.test(message)) log.warn({ sdk: true, ...withoutErrors(meta) }, message);
  };
  const error = (message: string, meta?: object) => log.error({ sdk: true, ...withoutErrors(meta) }, message);
  Runtime.install({
    logger: {
      log(level, message, meta) {
        if (level === 'WARN') warn(message, meta);
        if (level === 'ERROR') error(message, meta);
      },
      trace() {},
      debug() {},
      info() {},
      warn,
      error,
    },
    telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } } },
    shutdownSignals: [],
    workerHeartbeatInterval: 0,
  });
}

/** A worker for each queue, started again when it fails: Temporal may go away and come back empty. */
export function startWorkers(options: WorkersOptions): Workers {
  const draining = new AbortController();
  const live = new Map<TaskQueue, Worker>();
  const deps = { ...options.deps, draining: draining.signal };
  const steps = allSteps(deps);
  const watch: Watch = {
    faults: faultRecord(deps.db, options.log),
    attempts: stepAttempts(deps.db, options.log, options.maxStepDeaths ?? MAX_STEP_DEATHS),
    giveUp: ({ kind, entityId, job: identifier }, step, reason) =>
      giveUpJob(deps, kind, { entityId, identifier }, { step, reason }),
  };
  const runs = options.queues.map(async (queue) => {
    while (!draining.signal.aborted) {
      await runOnce(queue, { ...options, steps, watch, live, draining: draining.signal });
    }
  });
  return {
    polling: () => [...live.keys()],
    async stop() {
      draining.abort();
      for (const worker of live.values()) if (worker.getState() === 'RUNNING') worker.shutdown();
      await Promise.all(runs);
      await watch.attempts.close();
    },
  };
}

type RunOptions = WorkersOptions & { steps: object; watch: Watch; live: Map<TaskQueue, Worker>; draining: AbortSignal };

async function runOnce(queue: TaskQueue, options: RunOptions): Promise<void> {
  const { log, live, draining } = options;
  const connection = await connect(queue, options);
  if (connection === null) return delay(RESTART_MS, undefined, { signal: draining }).catch(() => {});
  try {
    const worker = await Worker.create({ connection, ...workerOptions(queue, options) });
    live.set(queue, worker);
    const run = worker.run();
    if (draining.aborted) worker.shutdown(); // asked to end meanwhile; one that never ran would not let go
    await run;
  } catch (error) {
    log.warn({ queue, ...internalErrorOf(error) }, 'a worker stopped, and starts again');
    await delay(RESTART_MS, undefined, { signal: draining }).catch(() => {});
  } finally {
    live.delete(queue);
    await connection.close().catch(() => {});
  }
}

/** Null while Temporal is out of reach: the supervisor says so. */
async function connect(queue: TaskQueue, { temporal, log }: RunOptions): Promise<NativeConnection | null> {
  try {
    return await NativeConnection.connect(await connectionOptions(temporal));
  } catch (error) {
    const { errorClass, code } = internalErrorOf(error);
    log.info({ queue, errorClass, code }, 'a worker waits for Temporal');
    return null;
  }
}

/** Only `flows` runs workflows, so only it holds the workflow sandbox. */
function workerOptions(queue: TaskQueue, options: RunOptions): Omit<WorkerOptions, 'connection'> {
  const { temporal, bundlePath, identity, steps, watch, log, metrics, traces, patience = PATIENCE } = options;
  const cache = { maxCachedWorkflows: 200, stickyQueueScheduleToStartTimeout: patience.stickyMs };
  return {
    namespace: temporal.namespace,
    taskQueue: queue,
    identity,
    activities: steps,
    dataConverter,
    interceptors: { activity: [activityInterceptor(log, metrics, watch), ...(traces?.activities ?? [])] },
    sinks: traces?.sinks,
    maxConcurrentActivityTaskExecutions: STEPS_OF_QUEUE[queue],
    shutdownGraceTime: DRAIN_MS,
    shutdownForceTime: DRAIN_MS + 5_000,
    maxHeartbeatThrottleInterval: patience.heartbeatsMs,
    ...(queue === 'flows' ? { workflowBundle: { codePath: bundlePath }, ...cache } : {}),
  };
}

/** The SDK logs errors whole; their texts may quote values. Of its fields only names and numbers are kept. */
function withoutErrors(meta: object = {}): object {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(meta) as [string, unknown][]) {
    if (value instanceof Error) kept[name] = internalErrorOf(value);
    else if (typeof value === 'string' || typeof value === 'number') kept[name] = value;
  }
  return kept;
}
