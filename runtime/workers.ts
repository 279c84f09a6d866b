/** Runs a worker for each task queue, and gives up steps that kill their process. */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import type { Dependencies, Log } from '../activities/dependencies.ts';
import { allSteps } from '../activities/index.ts';
import { giveUpJob } from '../activities/jobs/give-up.ts';
import { internalErrorOf } from '../domain/core/internal-error.ts';
import { STEPS_OF_QUEUE } from '../domain/jobs/queues.ts';
import { countDeaths, judgeAttempt, MAX_STEP_DEATHS } from '../domain/jobs/step-attempts.ts';
import type { TaskQueue } from '../domain/jobs/workflow-id.ts';
import { type Database, type HeldSession, holdSession } from '../store/core/database.ts';
import {
  deleteAttempts,
  findAttempt,
  type JobStep,
  lockProcess,
  lockTurn,
  unlockTurn,
  updateAttemptEnded,
  upsertAttempt,
} from '../store/jobs/step-attempts.ts';
import { connectionOptions, dataConverter, type TemporalSettings } from '../temporal/client.ts';
import { type StepAttempts, activityInterceptor, type Watch, faultRecord } from './telemetry/activity-interceptor.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { Traces } from './telemetry/traces.ts';

export type WorkersOptions = {
  temporal: TemporalSettings;
  bundlePath: string;
  queues: readonly TaskQueue[];
  identity: string;
  deps: Omit<Dependencies, 'draining'>;
  log: Log;
  metrics: Metrics;
  /** Requires a traced bundle. */
  traces?: Pick<Traces, 'activities' | 'sinks'> | null;
  patience?: Patience;
  /** Deaths of a process in a row, without progress, until a step is given up. */
  maxStepDeaths?: number;
};

/** How soon another worker continues a dead one's work; timeouts of steps are in the bundle. */
export type Patience = { stickyMs: number; heartbeatsMs: number };

export type Workers = {
  polling(): TaskQueue[];
  /** Takes no new work; running steps end at their next commit, within DRAIN_MS. */
  stop(): Promise<void>;
};

/** Time for running steps at SIGTERM. Canceled ones continue on another worker. */
const DRAIN_MS = 30_000;
const RESTART_MS = 1_000;

/** Times until another worker continues. Heartbeats go each second: with the SDK's four fifths, late ones seem dead. */
const PATIENCE: Patience = { stickyMs: 3_000, heartbeatsMs: 1_000 };

/** Runs a worker for each queue, and restarts it: Temporal may come back empty. */
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
    if (draining.aborted) worker.shutdown(); // asked to end meanwhile; a worker that never ran would not end
    await run;
  } catch (error) {
    log.warn({ queue, ...internalErrorOf(error) }, 'a worker stopped, and starts again');
    await delay(RESTART_MS, undefined, { signal: draining }).catch(() => {});
  } finally {
    live.delete(queue);
    await connection.close().catch(() => {});
  }
}

/** Returns null while Temporal is out of reach, which the supervisor reports. */
async function connect(queue: TaskQueue, { temporal, log }: RunOptions): Promise<NativeConnection | null> {
  try {
    return await NativeConnection.connect(await connectionOptions(temporal));
  } catch (error) {
    const { errorClass, code } = internalErrorOf(error);
    log.info({ queue, errorClass, code }, 'a worker waits for Temporal');
    return null;
  }
}

/** Only `flows` runs workflows, so only it has the workflow sandbox. */
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

/** Time after which a suspected step lets the next one run. */
const TURN_MS = 5 * 60_000;
const MAX_PROCESS = 2 ** 31 - 1;

/** Records attempts. Without the database steps run on, and no death is counted. */
export function stepAttempts(db: Database, log: Log, maxDeaths: number): StepAttempts {
  const process = randomInt(1, MAX_PROCESS);
  const presence = new Presence(db, process);
  const running = new Map<string, number>();
  const unlessAway = <T>(away: T, work: () => Promise<T>) =>
    work().catch((error: unknown) => {
      log.warn({ ...internalErrorOf(error) }, 'attempts at steps are not noted now');
      return away;
    });
  const leave = (step: JobStep) => {
    running.delete(keyOf(step));
    return presence.leave(keyOf(step), running.size === 0);
  };
  return {
    close: () => unlessAway(undefined, () => presence.close()),
    begin: (step) =>
      isNotNoted(step)
        ? Promise.resolve('runs')
        : unlessAway('runs', async () => {
            const { noted, hasDied, progress } = await findAttempt(db, step, process);
            if (step.attempt === 1 && !noted) return 'runs';
            // Temporal counts attempts at a location anew with each activity.
            const attempt = step.location !== undefined && noted ? noted.attempt + 1 : step.attempt;
            const deaths = countDeaths(noted, { attempt, progress, hasDied });
            const verdict = judgeAttempt(noted, deaths, maxDeaths);
            if (verdict === 'given up') return verdict;
            running.set(keyOf(step), attempt);
            const isAlone = verdict === 'runs alone';
            const mayRun = await presence.open(isAlone ? keyOf(step) : null);
            await upsertAttempt(db, step, {
              attempt,
              process: mayRun ? process : null,
              isAlone: mayRun && isAlone,
              progress,
              deaths,
            });
            if (!mayRun) await leave(step);
            return mayRun ? 'runs' : 'waits';
          }),
    ended: (step, outcome) =>
      unlessAway(undefined, async () => {
        const attempt = running.get(keyOf(step));
        try {
          if (outcome === 'failed') await updateAttemptEnded(db, { ...step, attempt: attempt ?? step.attempt });
          else if (step.attempt > 1 || attempt !== undefined || outcome === 'given up') await deleteAttempts(db, step);
        } finally {
          if (attempt !== undefined) await leave(step);
        }
      }),
  };
}

/** Returns whether it is a first attempt, which follows no death. */
function isNotNoted({ attempt, location }: JobStep): boolean {
  return attempt === 1 && location === undefined;
}

function keyOf({ entityId, kind, job, activity, attempt }: JobStep): string {
  return JSON.stringify([entityId, kind, job, activity, attempt]);
}

/** The session that shows others that this process lives, and the lock of the step that runs alone. */
class Presence {
  readonly #db: Database;
  readonly #process: number;
  #held: Promise<HeldSession> | null = null;
  #turn: { step: string; timer: NodeJS.Timeout } | null = null;

  constructor(db: Database, process: number) {
    this.#db = db;
    this.#process = process;
  }

  /** Opens the session if it is not open; `alone`: the step that runs alone. Returns false if another one does. */
  async open(alone: string | null): Promise<boolean> {
    const { session } = await (this.#held ??= this.#hold());
    if (alone === null) return true;
    if (this.#turn) return false;
    const timer = setTimeout(() => void this.#endTurn().catch(() => {}), TURN_MS);
    timer.unref();
    this.#turn = { step: alone, timer };
    const isTaken = await lockTurn(session);
    if (!isTaken) this.#forgetTurn();
    return isTaken;
  }

  async leave(step: string, isLast: boolean): Promise<void> {
    if (isLast) await this.close();
    else if (this.#turn?.step === step) await this.#endTurn();
  }

  async close(): Promise<void> {
    const held = this.#held;
    this.#forget(); // before any other step begins
    (await held)?.release(); // its locks go with it
  }

  async #endTurn(): Promise<void> {
    this.#forgetTurn();
    if (this.#held) await unlockTurn((await this.#held).session);
  }

  #forgetTurn(): void {
    clearTimeout(this.#turn?.timer);
    this.#turn = null;
  }

  #forget(): void {
    this.#held = null;
    this.#forgetTurn();
  }

  #hold(): Promise<HeldSession> {
    const forget = () => {
      if (this.#held === holding) this.#forget();
    };
    const holding = holdSession(this.#db, (session) => lockProcess(session, this.#process), forget);
    holding.catch(forget);
    return holding;
  }
}
