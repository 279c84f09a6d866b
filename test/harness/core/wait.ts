import { setTimeout as delay } from 'node:timers/promises';

/**
 * How long to wait for what may never come, ms, on a machine at rest. A machine that is busy with ten other runs takes a tenth of it for
 * anything that a test waits for.
 */
export const PATIENCE_MS = 900_000;

/**
 * How long a test, a hook or a call may take before it counts as hung, ms. No test fails by the clock: on a busy machine it takes many
 * times as long as on one at rest.
 */
export const HANGS_MS = 1_800_000;

const BETWEEN_LOOKS_MS = 20;

/**
 * Looks again and again until `look` gives something, and returns it; fails when it does not after as many looks as a machine at rest
 * takes within `PATIENCE_MS`. So a busy machine, on which a look takes longer as all else does, waits longer.
 */
export async function waitFor<T>(what: string, look: () => Promise<T | null | undefined | false>): Promise<T> {
  for (let looks = PATIENCE_MS / BETWEEN_LOOKS_MS; looks > 0; looks -= 1) {
    const found = await look();
    if (found) return found;
    await delay(BETWEEN_LOOKS_MS);
  }
  throw new Error(`waited in vain for: ${what}`);
}
