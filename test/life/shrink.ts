import type { Planned } from './plan.ts';

export type Trial = (operations: readonly Planned[]) => Promise<boolean>;
export type ShrinkOptions = { milliseconds: number; say(line: string): void };

/**
 * Leaves out operations as long as a new walk through the others still shows the finding, and returns the shortest list
 * that does (delta debugging: Zeller and Hildebrandt, 2002). A finding that depends on the moment may not show again.
 */
export async function shrink(
  shown: readonly Planned[],
  trial: Trial,
  { milliseconds, say }: ShrinkOptions,
): Promise<readonly Planned[]> {
  const until = Date.now() + milliseconds;
  let shortest = shown;
  let parts = 2;
  while (shortest.length > 1 && Date.now() < until) {
    const size = Math.ceil(shortest.length / parts);
    let isShorter = false;
    for (let from = 0; from < shortest.length && Date.now() < until; from += size) {
      const rest = shortest.filter((_, index) => index < from || index >= from + size);
      if (!(await trial(rest))) continue;
      say(`${rest.length} operations show it as well`);
      shortest = rest;
      isShorter = true;
      break;
    }
    if (!isShorter && size === 1) break;
    parts = isShorter ? Math.max(2, parts - 1) : Math.min(parts * 2, shortest.length);
  }
  return shortest;
}
