import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { atMost, type Figure } from './report.ts';
import type { RunningService } from './service.ts';

const LIMIT_MIB = 400;

/**
 * Measures the peak memory of the service during this work, including what it still holds from before. No figure
 * without Linux.
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

/** Resets the peak of a process (Documentation/filesystems/proc.rst, clear_refs). */
export function forgetPeak(pid: number): void {
  const path = `/proc/${pid}/clear_refs`;
  if (existsSync(path)) writeFileSync(path, '5');
}

/** Returns the peak memory of a process (VmHWM); null without the process or `/proc`. */
export function peakMemoryMib(pid: number): number | null {
  const path = `/proc/${pid}/status`;
  if (!existsSync(path)) return null;
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(path, 'utf8'))![1]) / 1024;
}
