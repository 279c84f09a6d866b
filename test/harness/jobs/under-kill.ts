import assert from 'node:assert/strict';
import { beforeAll, describe, expect, it } from 'vitest';
import { copyStore, testStore, type TestStore } from '../core/database.ts';
import { endSweep, openStack, type Stack } from '../core/stack.ts';
import { waitFor, type WaitOptions } from '../core/wait.ts';
import type { TestWorker, WorkersOptions } from '../core/workers.ts';
import { randomFor, sampled, TEST_SEED, TRIES_ALL } from '../run/seed.ts';

/** A flow as the kill harness sees it. A new flow joins with a value of this and a line in the list. */
export type FlowUnderKill<Run, Ground = void> = {
  name: string;
  /** Where the worker is ended by SIGKILL, and at which time it gets there; between them all effects of the flow. */
  boundaries: { name: string; hit: number }[];
  /** Makes what the runs begin with, once: each of them has a copy of the database to itself. */
  prepare?(stack: Stack): Promise<Ground>;
  /** Begins a run on fresh data; the same data every time. */
  begin(stack: Stack, ground: Ground): Promise<Run>;
  /** How much of it is committed, of `size`; a run that has ended has all of it. */
  progress(stack: Stack, run: Run): Promise<number>;
  size: number;
  hasEnded(stack: Stack, run: Run): Promise<boolean>;
  /** All that the run has left behind, without identifiers and times: the same for every run. */
  outcome(stack: Stack, run: Run): Promise<unknown>;
};

const RANDOM_KILLS = TRIES_ALL ? 3 : 1;
/** Share of the boundaries that a run kills at. */
export const KILLED_SHARE = 1 / 4;

/**
 * Copies of what was prepared: for the unbroken run, for random kills, and for the boundaries: one run may not come to
 * all of them.
 */
const COPIES = TRIES_ALL ? 12 : 4;

/** What a killed worker had goes on without the sweep. */
export const UNDER_KILL: WorkersOptions = { impatient: true, sweepSeconds: 60 };

/** Waits for what must be hit in its midst. */
export const UNDER_WAY: WaitOptions = { longestPauseMs: 30 };

/**
 * Ends worker after worker at boundaries drawn by the seed, and at random moments: the outcome is that of an unbroken
 * run.
 */
export function survivesKills<Run, Ground>(flow: FlowUnderKill<Run, Ground>): void {
  describe(`${flow.name}, killed`, () => {
    const points = randomPoints(flow);
    const boundaries = sampled(`boundaries of ${flow.name}`, flow.boundaries, KILLED_SHARE);
    const copies: TestStore[] = [];
    let ground: Ground;
    let unbroken: Promise<unknown>;

    const inCopy = async <T>(work: (attempt: Attempt<Run, Ground>) => Promise<T>): Promise<T> => {
      const stack = await openStack(copies.pop()!, UNDER_KILL);
      const outcome = await work(new Attempt(flow, stack, ground));
      await endSweep(stack.temporal);
      return outcome;
    };

    beforeAll(async () => {
      const store = await testStore();
      if (flow.prepare) ground = await flow.prepare(await openStack(store));
      // All of them now: what a run reads may lie in the original, and nobody reads there while it is copied.
      while (copies.length < COPIES) copies.push(await copyStore(store));
      unbroken = inCopy((attempt) => attempt.outcome());
      unbroken.catch(() => {}); // each test tells of it
    });

    const some = `${boundaries.length} of ${flow.boundaries.length} boundaries (TEST_SEED=${TEST_SEED})`;
    it.concurrent(`at ${some}, one after the other, ends as an unbroken run`, async () => {
      const left = [...boundaries];
      while (left.length > 0) {
        const before = left.length;
        const outcome = await inCopy(async (attempt) => {
          while (left.length > 0 && (await attempt.diesAt(left[0]!))) left.shift();
          return attempt.outcome();
        });
        expectSameOutcome(outcome, await unbroken);
        expect(left.length, `no run came to "${left[0]?.name}"`).toBeLessThan(before);
      }
    });

    it.concurrent(`after about ${points.join(', ')} of its work (TEST_SEED=${TEST_SEED}), ends as an unbroken run`, async () => {
      const outcome = await inCopy(async (attempt) => {
        for (const point of points) await attempt.dieAfter(point);
        return attempt.outcome();
      });
      expectSameOutcome(outcome, await unbroken);
    });
  });
}

/** Shows the first lines that differ: the runner's own diff leaves all of a big outcome out. */
export function expectSameOutcome(outcome: unknown, unbroken: unknown): void {
  const [lines, expected] = [outcome, unbroken].map((value) => JSON.stringify(value, inOrderOfNames, 1).split('\n'));
  const at = lines!.findIndex((line, index) => line !== expected![index]);
  const near = (of: string[]) => (at < 0 ? [of.length] : of.slice(Math.max(0, at - 10), at + 20));
  expect(near(lines!)).toEqual(near(expected!));
}

const inOrderOfNames = (_: string, value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
    : value;

/** A run, and the workers that it has one after another. */
class Attempt<Run, Ground> {
  readonly #flow: FlowUnderKill<Run, Ground>;
  readonly #stack: Stack;
  readonly #ground: Ground;
  #begun: Promise<Run> | undefined;

  constructor(flow: FlowUnderKill<Run, Ground>, stack: Stack, ground: Ground) {
    this.#flow = flow;
    this.#stack = stack;
    this.#ground = ground;
  }

  /** Begins once the first worker is started. */
  #run(): Promise<Run> {
    return (this.#begun ??= this.#flow.begin(this.#stack, this.#ground));
  }

  /** Whether a worker came to the boundary, and died of it, before the run was over. */
  async diesAt(kill: { name: string; hit: number }): Promise<boolean> {
    const worker = this.#stack.startWorker({ kill: { boundary: kill.name, hit: kill.hit } });
    const run = await this.#run();
    let exit: Awaited<TestWorker['ended']> | undefined;
    void worker.ended.then((found) => {
      exit = found;
    });
    await waitFor(`a kill at ${kill.name}`, async () => exit ?? (await this.#flow.hasEnded(this.#stack, run)));
    if (exit) {
      assert.equal(exit.signal, 'SIGKILL');
      await this.#expectUnderWay(run);
      return true;
    }
    await worker.stop();
    return false;
  }

  /**
   * Kills a worker when so much is committed, and more than the worker before it had committed. Where that one went so
   * far beyond its own point that nothing more is committed before the run is over, there is nothing to kill.
   */
  async dieAfter(point: number): Promise<void> {
    const worker = this.#stack.startWorker();
    const run = await this.#run();
    const before = await this.#flow.progress(this.#stack, run);
    const reached = await waitFor(
      `progress of ${point}`,
      async () => {
        const progress = await this.#flow.progress(this.#stack, run);
        if (before >= point && (await this.#flow.hasEnded(this.#stack, run))) return 'over';
        return progress >= point && (progress > before || point === 0) && 'kill';
      },
      UNDER_WAY,
    );
    if (reached === 'over') return worker.stop();
    await worker.kill();
    await this.#expectUnderWay(run);
  }

  async #expectUnderWay(run: Run): Promise<void> {
    assert.equal(await this.#flow.hasEnded(this.#stack, run), false, 'the kill hit a run that was over');
  }

  /** Once a worker has brought it to its end. */
  async outcome(): Promise<unknown> {
    const worker = this.#stack.startWorker();
    const run = await this.#run();
    await waitFor(`the end of ${this.#flow.name}`, () => this.#flow.hasEnded(this.#stack, run));
    const outcome = await this.#flow.outcome(this.#stack, run);
    await worker.stop();
    return outcome;
  }
}

/** Points within the first four fifths of the work, so that there is some left to break; in their order. */
function randomPoints({ name, size }: { name: string; size: number }): number[] {
  const random = randomFor(`moments of ${name}`);
  return Array.from({ length: RANDOM_KILLS }, () => Math.floor(random() * size * 0.8)).toSorted(
    (one, other) => one - other,
  );
}
