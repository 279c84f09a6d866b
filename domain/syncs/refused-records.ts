/** Returns the number of records of a run that have an error: a deletion that the sync ignores has none. */
export function countRefused(counts: { ignored: number; failed: number; deletionsIgnored: number }): number {
  return counts.ignored - counts.deletionsIgnored + counts.failed;
}
