/**
 * Does the work when it is asked for, and when it was not done for so long: since `doneAt`, as `performance.now()`
 * tells it, at first.
 */
export function atMostEach(everyMs: number, work: () => Promise<void>, doneAt = -Infinity): () => Promise<void> {
  let last = doneAt;
  return async () => {
    if (performance.now() - last < everyMs) return;
    await work();
    last = performance.now();
  };
}
