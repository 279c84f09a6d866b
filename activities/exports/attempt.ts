import { JobGone } from '../../domain/jobs/job.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { type AttemptKey, lockAttempt } from '../../store/exports/export-run-progress.ts';
import type { Dependencies } from '../dependencies.ts';
import type { StepScope } from '../jobs/step-scope.ts';
import type { ExportJob } from './job.ts';
import type { OpenBucket } from './open-bucket.ts';
import type { SliceSessions } from './source.ts';

/** An attempt at the files of a run, with its bucket open. */
export type OpenAttempt = ExportJob & OpenBucket & { key: AttemptKey; scope: StepScope };

/** The same with what it reads by; whatever is no slice is asked in the first. */
export type Attempt = OpenAttempt & { sessions: SliceSessions };

/** A transaction that holds the run; throws `JobGone` where it is no longer this attempt's. */
export function writeHeld<T>(
  { db }: Pick<Dependencies, 'db'>,
  key: AttemptKey,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  return write(db, async (tx) => {
    if (!(await lockAttempt(tx, key))) throw new JobGone();
    return work(tx);
  });
}
