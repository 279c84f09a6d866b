import { describe, expect, it } from 'vitest';
import { type FlowUnderKill, killSeed, randomFrom } from './under-kill.ts';
import { type Stack, useStack } from './stack.ts';
import { waitFor } from './wait.ts';
import type { TestWorker, WorkerOptions } from './workers.ts';

/** A flow whose run is broken again and again before it ends. */
export type FlowUnderBlows<Run> = FlowUnderKill<Run> & {
  worker: WorkerOptions;
  workflowId(run: Run): string;
  /** The step that is hit. */
  step: string;
  /** Fails where something does not hold that holds at every moment of a run. */
  expectSound(stack: Stack, run: Run): Promise<void>;
};

/** Of the work: so much is done at most between two blows, or so often a boundary is come to. */
const MOST_BETWEEN = 0.04;
const MOST_HITS = 4;
const ENDS_WITHIN_MS = 150_000;
const STARTED = 2;                // PENDING_ACTIVITY_STATE_STARTED

/** One run, and worker after worker that is broken in its midst: all that is left behind is that of an unbroken run. */
export function survivesBlows<Run>(flow: FlowUnderBlows<Run>): void {
  const seed = killSeed();
  describe(`${flow.name}, broken again and again`, () => {
    const stack = useStack();

    it(`ends as an unbroken run, and is sound at every moment (KILL_SEED=${seed})`, async () => {
      const unbroken = await outcomeUnbroken(stack, flow);
      const run = await flow.begin(stack);
      const blows = new Blows(stack, flow, run, randomFrom(seed));
      const isOver = async () => {
        await flow.expectSound(stack, run);
        return flow.hasEnded(stack, run);
      };
      await Promise.all([waitFor(`the end of ${flow.name}`, isOver, ENDS_WITHIN_MS), blows.all()]);
      expect(await flow.outcome(stack, run)).toEqual(unbroken);
    }, ENDS_WITHIN_MS + 60_000);
  });
}

async function outcomeUnbroken<Run>(stack: Stack, flow: FlowUnderBlows<Run>): Promise<unknown> {
  const worker = stack.startWorker(flow.worker);
  const run = await flow.begin(stack);
  await waitFor(`the end of ${flow.name}`, () => flow.hasEnded(stack, run), ENDS_WITHIN_MS);
  await worker.stop();
  return flow.outcome(stack, run);
}

class Blows<Run> {
  readonly #stack: Stack;
  readonly #flow: FlowUnderBlows<Run>;
  readonly #run: Run;
  readonly #random: () => number;

  constructor(stack: Stack, flow: FlowUnderBlows<Run>, run: Run, random: () => number) {
    this.#stack = stack;
    this.#flow = flow;
    this.#run = run;
    this.#random = random;
  }

  /** In an order that the seed tells; in the end a worker that is left in peace. */
  async all(): Promise<void> {
    const blows = [
      ...this.#flow.boundaries.map(({ name }) => () => this.#killAt(name)),
      () => this.#killUnderWay(), () => this.#killOneOfTwo(), () => this.#cutSessions(), () => this.#standStill(),
    ];
    while (blows.length > 0) {
      const [blow] = blows.splice(Math.floor(this.#random() * blows.length), 1);
      const t = performance.now();
      await blow!();
      console.log(blow!.toString(), Math.round(performance.now() - t), await this.#progress());
    }
    this.#start();
  }

  /** The only worker ends itself there. */
  async #killAt(boundary: string): Promise<void> {
    const worker = this.#start({ kill: { boundary, hit: 1 + Math.floor(this.#random() * MOST_HITS) } });
    const { signal } = await waitFor(`a kill at ${boundary}`, async () => {
      await this.#expectUnderWay();
      return worker.exit;
    });
    expect(signal).toBe('SIGKILL');
    await this.#expectUnderWay();
  }

  async #killUnderWay(): Promise<void> {
    const worker = this.#start();
    await this.#goOn();
    await this.#kill(worker);
  }

  /** Two live: one has the step, and dies. The other goes on, and dies as well. */
  async #killOneOfTwo(): Promise<void> {
    const { busy, idle } = await this.#busyOf(this.#start(), this.#start());
    await this.#kill(busy);
    await this.#goOn();
    await this.#kill(idle);
  }

  /** The database ends the worker's sessions: the worker lives, and goes on by itself. */
  async #cutSessions(): Promise<void> {
    const worker = this.#start();
    await this.#goOn();
    const { rowCount } = await this.#stack.store.db.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [identity(worker)]);
    expect(rowCount, 'sessions that were cut').toBeGreaterThan(0);
    await this.#goOn();
    expect(worker.exit, 'the worker did not outlive the end of its sessions').toBeUndefined();
    await this.#kill(worker);
  }

  /** One has the step, and stands still until the other has it. Then it wakes, and goes on as if it had it still. */
  async #standStill(): Promise<void> {
    const { busy, idle } = await this.#busyOf(this.#start(), this.#start());
    process.kill(busy.pid, 'SIGSTOP');
    // Temporal may give the step to the one that stands still a few times more.
    await waitFor('the other to have the step', async () => await this.#holder() === identity(idle), 90_000);
    process.kill(busy.pid, 'SIGCONT');
    await this.#goOn();
    for (const worker of [busy, idle]) expect(worker.exit, 'a worker that met another at its work').toBeUndefined();
    await this.#kill(idle);
    await this.#goOn();
    await this.#kill(busy);
  }

  #start(options: WorkerOptions = {}): Watched {
    return watch(this.#stack.startWorker({ ...this.#flow.worker, ...options }));
  }

  #progress(): Promise<number> {
    return this.#flow.progress(this.#stack, this.#run);
  }

  /** Until some more of the work is done. */
  async #goOn(): Promise<void> {
    const until = await this.#progress() + 1 + Math.floor(this.#random() * MOST_BETWEEN * this.#flow.size);
    await waitFor(`progress of ${until}`, async () => await this.#progress() >= until, 45_000);
  }

  async #busyOf(one: Watched, other: Watched): Promise<{ busy: Watched; idle: Watched }> {
    await this.#goOn();
    const holder = await this.#holder();
    expect([one, other].map(identity)).toContain(holder);
    return holder === identity(one) ? { busy: one, idle: other } : { busy: other, idle: one };
  }

  async #kill(worker: Watched): Promise<void> {
    await worker.kill();
    await this.#expectUnderWay();
    expect(await this.#holder(), `the kill hit idle work: ${this.#flow.step} was not with ${identity(worker)}`).toBe(identity(worker));
  }

  async #expectUnderWay(): Promise<void> {
    expect(await this.#flow.hasEnded(this.#stack, this.#run), 'the run was over').toBe(false);
    expect(await this.#progress(), 'the work was done').toBeLessThan(this.#flow.size);
  }

  /** Which worker has the step, as far as Temporal knows: also for a while after it has died. */
  async #holder(): Promise<string | null | undefined> {
    const { raw } = await this.#stack.temporal.workflow.getHandle(this.#flow.workflowId(this.#run)).describe();
    return raw.pendingActivities?.find(({ activityType, state }) => activityType?.name === this.#flow.step && state === STARTED)
      ?.lastWorkerIdentity;
  }
}

type Exit = Awaited<TestWorker['ended']>;
type Watched = TestWorker & { exit: Exit | undefined };

function watch(worker: TestWorker): Watched {
  const watched: Watched = { ...worker, exit: undefined };
  void worker.ended.then((exit) => { watched.exit = exit; });
  return watched;
}

/** By which Temporal and Postgres know a test worker. */
function identity({ pid }: TestWorker): string {
  return `test-worker-${pid}`;
}
