import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { beforeAll, describe, it } from 'vitest';
import { type Stack, useStack } from '../core/stack.ts';
import { waitFor } from '../core/wait.ts';
import type { TestWorker, WorkerOptions } from '../core/workers.ts';
import { randomFor, sampled, TEST_SEED } from '../run/seed.ts';
import { expectSameOutcome, type FlowUnderKill, KILLED_SHARE, UNDER_KILL, UNDER_WAY } from './under-kill.ts';

/** A flow whose run is broken again and again before it ends. */
export type FlowUnderBlows<Run> = Omit<FlowUnderKill<Run>, 'prepare'> & {
  worker: WorkerOptions;
  workflowId(run: Run): string;
  /** The step that is hit. */
  step: string;
  /** A worker comes so often to a boundary at most before it ends there; less where there are few batches. */
  mostHits?: number;
  /** Fails where something does not hold that holds at every moment of a run. */
  expectSound(stack: Stack, run: Run): Promise<void>;
};

/** Of the work: so much is done at most between two blows, or so often a boundary is come to. */
const MAX_BETWEEN = 0.2;
const MAX_HITS = 8;
const STARTED = 2; // PENDING_ACTIVITY_STATE_STARTED

/** One run, broken in its midst again and again: at every moment it is sound, and it ends as an unbroken run. */
export function survivesBlows<Run>(flow: FlowUnderBlows<Run>): void {
  describe(`${flow.name}`, () => {
    const stack = useStack(UNDER_KILL);
    let unbroken: unknown;

    beforeAll(async () => {
      const worker = stack.startWorker(flow.worker);
      const run = await flow.begin(stack);
      await waitFor(`the end of ${flow.name}`, () => flow.hasEnded(stack, run));
      unbroken = await flow.outcome(stack, run);
      await worker.stop();
    });

    async function expectNoHarm(strike: (blows: Blows<Run>) => Promise<void>): Promise<void> {
      const run = await flow.begin(stack);
      const blows = new Blows(stack, flow, run, randomFor(`blows at ${flow.name}`));
      const isOver = async () => {
        await flow.expectSound(stack, run);
        return flow.hasEnded(stack, run);
      };
      await Promise.all([waitFor(`the end of ${flow.name}`, isOver), strike(blows)]);
      expectSameOutcome(await flow.outcome(stack, run), unbroken);
      await blows.stopAll();
    }

    it(`ends as an unbroken one when worker after worker is killed at it (TEST_SEED=${TEST_SEED})`, () =>
      expectNoHarm((blows) => blows.killAgainAndAgain()));

    it(`ends as an unbroken one when a worker stands still and comes back, and when one loses its sessions (TEST_SEED=${TEST_SEED})`, () =>
      expectNoHarm(async (blows) => {
        await blows.standStill();
        await blows.cutSessions();
      }));
  });
}

class Blows<Run> {
  readonly #stack: Stack;
  readonly #flow: FlowUnderBlows<Run>;
  readonly #run: Run;
  readonly #random: () => number;
  readonly #workers: Watched[] = [];

  constructor(stack: Stack, flow: FlowUnderBlows<Run>, run: Run, random: () => number) {
    this.#stack = stack;
    this.#flow = flow;
    this.#run = run;
    this.#random = random;
  }

  /** In an order that the seed tells. */
  async killAgainAndAgain(): Promise<void> {
    const kills = [
      ...sampled(`boundaries of ${this.#flow.name}`, this.#flow.boundaries, KILLED_SHARE).map(
        ({ name }) =>
          () =>
            this.#killAt(name),
      ),
      () => this.#killUnderWay(),
      () => this.#killOneOfTwo(),
    ];
    while (kills.length > 0) {
      const [kill] = kills.splice(Math.floor(this.#random() * kills.length), 1);
      await kill!();
    }
    this.#start();
  }

  async stopAll(): Promise<void> {
    await Promise.all(this.#workers.filter(({ exit }) => !exit).map((worker) => worker.stop()));
  }

  /** The only worker ends itself there. */
  async #killAt(boundary: string): Promise<void> {
    const worker = this.#start({
      kill: { boundary, hit: 1 + Math.floor(this.#random() * (this.#flow.mostHits ?? MAX_HITS)) },
    });
    const { signal } = await waitFor(`a kill at ${boundary}`, async () => {
      await this.#expectUnderWay();
      return worker.exit;
    });
    assert.equal(signal, 'SIGKILL');
    await this.#expectUnderWay();
  }

  async #killUnderWay(): Promise<void> {
    const worker = this.#start();
    await this.#goOn();
    await this.#kill(worker);
  }

  /** Two live: one has the step, and dies. The other goes on, and dies as well. */
  async #killOneOfTwo(): Promise<void> {
    const [one, other] = [this.#start(), this.#start()];
    const busy = await this.#busyOf([one, other]);
    await this.#kill(busy);
    await this.#goOn();
    await this.#kill(busy === one ? other : one);
  }

  /**
   * The worker that has the step stands still until another has it. Then it wakes, and goes on as if it had it
   * still: for a while both are at the same rows.
   */
  async standStill(): Promise<void> {
    // Temporal may give the step again to the one that stands still, the less often the more there are.
    for (let count = 0; count < 3; count += 1) this.#start();
    const busy = await this.#busyOf(this.#workers);
    process.kill(busy.pid, 'SIGSTOP');
    await waitFor(
      'another to have the step',
      async () => ![identity(busy), null].includes(await this.#holder()),
      UNDER_WAY,
    );
    await this.#expectUnderWay();
    process.kill(busy.pid, 'SIGCONT');
    await this.#goOn();
    await this.#expectAlive();
  }

  /** The database ends the sessions of the worker that has the step: that worker lives, and the run goes on. */
  async cutSessions(): Promise<void> {
    const busy = await this.#busyOf(this.#workers);
    const { rowCount } = await this.#stack.store.db.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
      [identity(busy)],
    );
    assert.ok(rowCount! > 0, 'there was no session to cut');
    await this.#expectUnderWay();
    await this.#goOn();
    await this.#expectAlive();
  }

  async #expectAlive(): Promise<void> {
    for (const { exit, logPath } of this.#workers) {
      if (exit === undefined) continue;
      assert.fail(
        `a worker has ended by itself (${JSON.stringify(exit)}): ${(await readFile(logPath, 'utf8')).slice(-5_000)}`,
      );
    }
  }

  #start(options: WorkerOptions = {}): Watched {
    const worker = watch(this.#stack.startWorker({ ...this.#flow.worker, ...options }));
    this.#workers.push(worker);
    return worker;
  }

  #progress(): Promise<number> {
    return this.#flow.progress(this.#stack, this.#run);
  }

  /** Until some more of the work is done. */
  async #goOn(): Promise<void> {
    const until = (await this.#progress()) + 1 + Math.floor(this.#random() * MAX_BETWEEN * this.#flow.size);
    await waitFor(`progress of ${until}`, async () => (await this.#progress()) >= until, UNDER_WAY);
  }

  /** The one that has the step, once some more is done. */
  async #busyOf(workers: Watched[]): Promise<Watched> {
    await this.#goOn();
    const holder = await waitFor(`the worker that has ${this.#flow.step}`, () => this.#holder(), UNDER_WAY);
    const busy = workers.find((worker) => identity(worker) === holder);
    assert.ok(busy, `the worker that has ${this.#flow.step} is ${holder}`);
    return busy;
  }

  async #kill(worker: Watched): Promise<void> {
    await worker.kill();
    await this.#expectUnderWay();
    const step = await this.#pendingStep();
    assert.equal(step?.lastWorkerIdentity, identity(worker), 'the kill hit idle work: another worker had the step');
  }

  async #expectUnderWay(): Promise<void> {
    assert.equal(await this.#flow.hasEnded(this.#stack, this.#run), false, 'the run was over');
    assert.ok((await this.#progress()) < this.#flow.size, 'the work was done');
  }

  /** Which worker has the step, as far as Temporal knows: also for a while after it has died. */
  async #holder(): Promise<string | null> {
    const step = await this.#pendingStep();
    return step?.state === STARTED ? (step.lastWorkerIdentity ?? null) : null;
  }

  /** Temporal names the last worker of a step also while it waits for the next one. */
  async #pendingStep() {
    const { raw } = await this.#stack.temporal.workflow.getHandle(this.#flow.workflowId(this.#run)).describe();
    return raw.pendingActivities?.find(({ activityType }) => activityType?.name === this.#flow.step);
  }
}

type Exit = Awaited<TestWorker['ended']>;
type Watched = TestWorker & { exit: Exit | undefined };

function watch(worker: TestWorker): Watched {
  const watched: Watched = { ...worker, exit: undefined };
  void worker.ended.then((exit) => {
    watched.exit = exit;
  });
  return watched;
}

/** By which Temporal and Postgres know a test worker. */
function identity({ pid }: TestWorker): string {
  return `test-worker-${pid}`;
}
