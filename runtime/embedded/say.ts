/** Prints one line for the operator. */
export type Say = (line: string) => void;

/** Returns the time since `start` (of performance.now()), for such a line. */
export function seconds(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}
