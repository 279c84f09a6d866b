import { setTimeout as delay } from 'node:timers/promises';

/** Only what never comes is waited for so long, ms: a machine may be busy with more than this run. */
export const PATIENCE_MS = 300_000;

/** Looks again and again until `look` gives something, and returns it; fails when it does not within `withinMs`. */
export async function waitFor<T>(
  what: string, look: () => Promise<T | null | undefined | false>, withinMs = PATIENCE_MS,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > deadline) throw new Error(`waited ${withinMs} ms in vain for: ${what}`);
    await delay(20);
  }
}
