/** Returns a function that does the work at most once in `everyMs`, by `performance.now()`. */
export function atMostEach(everyMs: number, work: () => Promise<void>, doneAt = -Infinity): () => Promise<void> {
  let last = doneAt;
  return async () => {
    if (performance.now() - last < everyMs) return;
    await work();
    last = performance.now();
  };
}
