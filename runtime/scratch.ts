import { identify } from './embedded/process-identity.ts';
import { area } from './embedded/data-folder.ts';
import { openScratch, type Scratch } from '../store/core/scratch.ts';
import { internalErrorOf } from '../domain/core/internal-error.ts';
import type { Logger } from 'pino';

/**
 * Opens the scratch area of the data folder, which several processes may share, and removes what processes that are
 * gone left there.
 */
export function openScratchOf(dataDir: string, log: Logger): Promise<Scratch> {
  const startedAt = identify(process.pid)?.startedAt ?? new Date().toISOString();
  return openScratch(area(dataDir, 'scratch'), {
    process: `${process.pid}-${startedAt.replaceAll(/[^A-Za-z0-9]+/g, '-')}`,
    onError: (error) => log.warn({ ...internalErrorOf(error) }, 'a scratch folder could not be removed'),
  });
}
