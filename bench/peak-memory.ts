import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { atMost, type Figure } from './report.ts';
import type { RunningService } from './service.ts';

const LIMIT_MIB = 400;

/**
 * The most memory that the service takes during this work. What it still holds of the work before counts, as it does
 * for a user. No figure where there is no Linux to ask.
 */
export async function* peakMemory(
  title: string,
  { pid }: RunningService,
  work: () => AsyncIterable<Figure>,
): AsyncIterable<Figure> {
  forgetPeak(pid);
  yield* work();
  const peakMib = peakMemoryMib(pid);
  if (peakMib !== null) yield atMost(title, 'MiB', peakMib, LIMIT_MIB);
}

/** From now on the most is looked for anew (Documentation/filesystems/proc.rst, clear_refs). */
export function forgetPeak(pid: number): void {
  const path = `/proc/${pid}/clear_refs`;
  if (existsSync(path)) writeFileSync(path, '5');
}

/** The most memory that a process has held (VmHWM); null where there is no such process, or no `/proc`. */
export function peakMemoryMib(pid: number): number | null {
  const path = `/proc/${pid}/status`;
  if (!existsSync(path)) return null;
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(path, 'utf8'))![1]) / 1024;
}
