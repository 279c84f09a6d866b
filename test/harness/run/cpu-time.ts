import { readdirSync, readFileSync } from 'node:fs';

/** CPU time of processes, from `/proc`: so on Linux only. */

/** Ticks a second, the unit of `/proc`. */
const TICKS = 100;

type Usage = { parent: number; ownSeconds: number; reapedSeconds: number };

/** `reapedSeconds` is that of children that ended and were waited for, and of theirs. */
function usageOf(pid: number | 'self'): Usage | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return null;
  }
  // The name may hold blanks and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const seconds = (from: number) => (Number(fields[from]) + Number(fields[from + 1])) / TICKS;
  return { parent: Number(fields[1]), ownSeconds: seconds(11), reapedSeconds: seconds(13) };
}

/**
 * Returns the CPU seconds of this process and of all its descendants, those that ended and were waited for included.
 * Returns null where there is no `/proc`.
 */
export function cpuOfTree(): number | null {
  const own = usageOf('self');
  if (!own) return null;
  const usages = new Map<number, Usage>();
  for (const name of readdirSync('/proc')) {
    const usage = /^\d+$/.test(name) ? usageOf(Number(name)) : null;
    if (usage) usages.set(Number(name), usage);
  }
  const isDescendant = (pid: number): boolean => {
    for (let at = usages.get(pid)?.parent; at; at = usages.get(at)?.parent) if (at === process.pid) return true;
    return false;
  };
  let sum = own.ownSeconds + own.reapedSeconds;
  for (const [pid, usage] of usages) if (isDescendant(pid)) sum += usage.ownSeconds + usage.reapedSeconds;
  return sum;
}
