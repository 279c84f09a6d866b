/** Says one line to whoever started the process. */
export type Say = (line: string) => void;

/** The time since `start` (of performance.now()), for such a line. */
export function seconds(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}
