/**
 * One at a time gets a turn of the event loop for work that would hold up others: what came from the database meanwhile goes between.
 * Where `most` wait already nobody else does: what they hold is bounded so.
 */
export function yieldToEventLoop(most: number): () => Promise<void> {
  const waiting: (() => void)[] = [];
  const next = () => {
    waiting.shift()!();
    if (waiting.length > 0) setImmediate(next);
  };
  return () => new Promise((resolve) => {
    if (waiting.length >= most) return resolve();
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(next);
  });
}
