import { setTimeout as delay } from 'node:timers/promises';

/** Only what never comes is waited for so long, ms, on a machine at rest. */
export const PATIENCE_MS = 300_000;

/**
 * How long a test, a hook or a call may take before it counts as hung, ms. No test fails by the clock: on a busy machine it takes many
 * times as long as on one at rest.
 */
export const HANGS_MS = 3_600_000;

const BETWEEN_LOOKS_MS = 20;

/**
 * Looks again and again until `look` gives something, and returns it; fails when it does not after as many looks as a machine at rest
 * takes within `withinMs`. So a busy machine, on which a look takes longer as all else does, waits longer.
 */
export async function waitFor<T>(
  what: string, look: () => Promise<T | null | undefined | false>, withinMs = PATIENCE_MS,
): Promise<T> {
  for (let looks = Math.ceil(withinMs / BETWEEN_LOOKS_MS); looks > 0; looks -= 1) {
    const found = await look();
    if (found) return found;
    await delay(BETWEEN_LOOKS_MS);
  }
  throw new Error(`waited in vain for: ${what}`);
}
