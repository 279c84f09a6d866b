import { beforeAll, describe, expect, it } from 'vitest';
import { copyStore, testStore, type TestStore } from './database.ts';
import { endSweep, openStack, type Stack } from './stack.ts';
import { waitFor } from './wait.ts';
import { turns } from '../../activities/turns.ts';

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

const RANDOM_KILLS = 3;

/** Most of a kill is waiting, until Temporal has noticed it: so some are under way at once, each with a namespace of its own. */
const AT_ONCE = 3;
const TEST_MS = 1_800_000;

/** Ends the worker at every boundary and at random moments: each time the outcome is that of an unbroken run. */
export function survivesKills<Run, Ground>(flow: FlowUnderKill<Run, Ground>): void {
  const seed = killSeed();
  describe(`${flow.name}, killed`, { timeout: TEST_MS }, () => {
    const turn = turns(AT_ONCE);
    const points = randomPoints(seed, flow.size);
    let copies: TestStore[];
    let ground: Ground;
    let unbroken: Promise<unknown>;

    const ended = (stack: Stack, run: Run) => waitFor(`the end of ${flow.name}`, () => flow.hasEnded(stack, run));

    /** With a copy of what was prepared. */
    async function inTurn<T>(work: (stack: Stack, ground: Ground) => Promise<T>): Promise<T> {
      const endTurn = await turn();
      try {
        const stack = await openStack(copies.pop()!);
        const outcome = await work(stack, ground);
        await endSweep(stack.temporal);
        return outcome;
      } finally {
        endTurn();
      }
    }

    /** Another worker takes over; `run` must have been under way when the first one died. */
    async function expectSameOutcome(stack: Stack, run: Run): Promise<void> {
      expect(await flow.hasEnded(stack, run), 'the kill hit a run that was over').toBe(false);
      const worker = stack.startWorker();
      await ended(stack, run);
      expect(await flow.outcome(stack, run)).toEqual(await unbroken);
      await worker.stop();
    }

    beforeAll(async () => {
      const store = await testStore();
      if (flow.prepare) ground = await flow.prepare(await openStack(store));
      // All of them now: what a run reads may lie in the original, and nobody reads there while it is copied.
      copies = [];
      while (copies.length <= flow.boundaries.length + points.length) copies.push(await copyStore(store));
      unbroken = inTurn(async (stack, ground) => {
        const worker = stack.startWorker();
        const run = await flow.begin(stack, ground);
        await ended(stack, run);
        const outcome = await flow.outcome(stack, run);
        await worker.stop();
        return outcome;
      });
      unbroken.catch(() => {});         // each test tells of it
    });

    it.concurrent.for(flow.boundaries)('at $name, ends as an unbroken run', (kill) => inTurn(async (stack, ground) => {
      const worker = stack.startWorker({ kill: { boundary: kill.name, hit: kill.hit } });
      const run = await flow.begin(stack, ground);
      const { signal } = await worker.ended;
      expect(signal).toBe('SIGKILL');
      await expectSameOutcome(stack, run);
    }));

    it.concurrent.for(points)(
      `after about %i of its work (KILL_SEED=${seed}), ends as an unbroken run`, (point) => inTurn(async (stack, ground) => {
        const worker = stack.startWorker();
        const run = await flow.begin(stack, ground);
        await waitFor(`progress of ${point}`, async () => await flow.progress(stack, run) >= point);
        await worker.kill();
        await expectSameOutcome(stack, run);
      }));
  });
}

const SEED = Number(process.env.KILL_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** As a failed run printed it, or another one each time; the same in all of a test file. */
export function killSeed(): number {
  return SEED;
}

/** So many of these, by the seed, in their order. */
export function drawnBySeed<T>(all: readonly T[], count: number): T[] {
  const random = randomFrom(killSeed());
  const shuffled = all.map((_, index) => ({ index, at: random() })).toSorted((one, other) => one.at - other.at);
  const drawn = new Set(shuffled.slice(0, count).map(({ index }) => index));
  return all.filter((_, index) => drawn.has(index));
}

/** Points within the first four fifths of the work, so that there is some left to break. */
function randomPoints(seed: number, size: number): number[] {
  const random = randomFrom(seed);
  return Array.from({ length: RANDOM_KILLS }, () => Math.floor(random() * size * 0.8));
}

/** From 0 up to 1, the same for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
}
