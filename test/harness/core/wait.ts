import { setTimeout as delay } from 'node:timers/promises';

/**
 * How long to wait for what may never come, ms, on a machine at rest. A machine that is busy with ten other runs takes
 * a tenth of it for anything that a test waits for.
 */
export const PATIENCE_MS = 900_000;

/**
 * How long a test, a hook or a call may take before it counts as hung, ms. No test fails by the clock: on a busy
 * machine it takes many times as long as on one at rest.
 */
export const HANGS_MS = 1_800_000;

const FIRST_PAUSE_MS = 30;
const LONGEST_PAUSE_MS = 400;
/** Pauses grow by this share of the time waited, so a wait ends at most so much later than it could. */
const GROWTH = 0.1;
/** A pause lasts this many times as long as the look before it: what waits leaves the machine to what it waits for. */
const PAUSE_PER_LOOK = 4;

export type WaitOptions = {
  /** For what must be seen in its midst: a kill that has to hit work under way. */
  longestPauseMs?: number;
};

/**
 * Looks again and again until `look` gives something, and returns it. Fails after as many looks as fit into
 * `PATIENCE_MS` with the pauses between them. So a busy machine, on which a look takes longer as all else does, waits
 * longer.
 */
export async function waitFor<T>(
  what: string,
  look: () => Promise<T | null | undefined | false>,
  { longestPauseMs = LONGEST_PAUSE_MS }: WaitOptions = {},
): Promise<T> {
  for (let paused = 0; paused < PATIENCE_MS;) {
    const before = performance.now();
    const found = await look();
    if (found) return found;
    const wanted = Math.max(FIRST_PAUSE_MS, GROWTH * paused, PAUSE_PER_LOOK * (performance.now() - before));
    const pause = Math.min(wanted, longestPauseMs);
    await delay(pause);
    paused += pause;
  }
  throw new Error(`waited in vain for: ${what}`);
}

/** How many turns of the event loop others get while `work` is under way, which can ask for how many it is so far. */
export async function turnsDuring(work: (turnsSoFar: () => number) => Promise<unknown>): Promise<number> {
  let [turns, isUnderWay] = [0, true];
  const working = work(() => turns).finally(() => {
    isUnderWay = false;
  });
  for (; isUnderWay; turns += 1) await new Promise(setImmediate);
  await working;
  return turns;
}
