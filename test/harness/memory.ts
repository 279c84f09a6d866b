import { readFileSync } from 'node:fs';

/** The most memory that a process has held so far, in MiB (Linux only: 0 elsewhere, so that nothing is asserted there). */
export function peakMib(pid: number): number {
  if (process.platform !== 'linux') return 0;
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}
