/**
 * Returns a function that does the work, but not within `everyMs` of the last time. `doneAt`: the last time at first,
 * by `performance.now()`.
 */
export function atMostEach(everyMs: number, work: () => Promise<void>, doneAt = -Infinity): () => Promise<void> {
  let last = doneAt;
  return async () => {
    if (performance.now() - last < everyMs) return;
    await work();
    last = performance.now();
  };
}
