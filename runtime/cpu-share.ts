import { availableParallelism } from 'node:os';
import { CpuShare } from '../domain/core/cpu-share.ts';

/** Opens the share of this machine's cores, once for a process. */
export function openCpuShare(): CpuShare {
  return new CpuShare(availableParallelism(), {
    now: () => performance.now(),
    later: (ms, callback) => void setTimeout(callback, ms).unref(),
  });
}
