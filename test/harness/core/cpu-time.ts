/**
 * How long this process computes for `work`, in ms. Unlike the clock it tells what `work` costs also while the machine
 * is busy with something else, so it may bound what would otherwise take many times as long.
 */
export function cpuTime(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
