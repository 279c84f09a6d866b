/** Prints one line for the operator. */
export type Say = (line: string) => void;

export function seconds(start: number): string {
  return `${((performance.now() - start) / 1000).toFixed(1)} s`;
}
