import { beforeAll, describe, expect, it } from 'vitest';
import type { Stack } from './stack.ts';
import { useStack } from './stack.ts';
import { waitFor } from './wait.ts';

/** A flow as the kill harness sees it. A new flow joins with a value of this and a line in the list. */
export type FlowUnderKill<Run> = {
  name: string;
  /** Where the worker is ended by SIGKILL, and at which time it gets there; between them all effects of the flow. */
  boundaries: { name: string; hit: number }[];
  /** Begins a run on fresh data; the same data every time. */
  begin(stack: Stack): Promise<Run>;
  /** How much of it is committed, of `size`; a run that has ended has all of it. */
  progress(stack: Stack, run: Run): Promise<number>;
  size: number;
  hasEnded(stack: Stack, run: Run): Promise<boolean>;
  /** All that the run has left behind, without identifiers and times: the same for every run. */
  outcome(stack: Stack, run: Run): Promise<unknown>;
};

const RANDOM_KILLS = 3;
const ENDS_WITHIN_MS = 90_000;

/** Ends the worker at every boundary and at random moments: each time the outcome is that of an unbroken run. */
export function survivesKills<Run>(flow: FlowUnderKill<Run>): void {
  const seed = killSeed();
  describe(`${flow.name}, killed`, () => {
    const stack = useStack();
    let unbroken: unknown;

    const ended = (run: Run) => waitFor(`the end of ${flow.name}`, () => flow.hasEnded(stack, run), ENDS_WITHIN_MS);

    /** Another worker takes over; `run` must have been under way when the first one died. */
    async function expectSameOutcome(run: Run): Promise<void> {
      expect(await flow.hasEnded(stack, run), 'the kill hit a run that was over').toBe(false);
      const worker = stack.startWorker();
      await ended(run);
      expect(await flow.outcome(stack, run)).toEqual(unbroken);
      await worker.stop();
    }

    beforeAll(async () => {
      const worker = stack.startWorker();
      const run = await flow.begin(stack);
      await ended(run);
      unbroken = await flow.outcome(stack, run);
      await worker.stop();
    });

    it.for(flow.boundaries)('at $name, ends as an unbroken run', async (kill) => {
      const worker = stack.startWorker({ kill: { boundary: kill.name, hit: kill.hit } });
      const run = await flow.begin(stack);
      const { signal } = await worker.ended;
      expect(signal).toBe('SIGKILL');
      await expectSameOutcome(run);
    });

    it.for(randomPoints(seed, flow.size))(`after about %i of its work (KILL_SEED=${seed}), ends as an unbroken run`, async (point) => {
      const worker = stack.startWorker();
      const run = await flow.begin(stack);
      await waitFor(`progress of ${point}`, async () => await flow.progress(stack, run) >= point);
      await worker.kill();
      await expectSameOutcome(run);
    });
  });
}

/** As a failed run printed it, or another one each time. */
export function killSeed(): number {
  return Number(process.env.KILL_SEED ?? Math.floor(Math.random() * 2 ** 31));
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
