import { type JobKey, WAITING_FOR_SLOT } from '../../domain/jobs/job.ts';
import { type StagedKind, updateJobStage } from '../../store/jobs/jobs.ts';
import type { NoteWait } from '../core/in-slot.ts';
import type { Dependencies } from '../dependencies.ts';

/** Notes in the record of a job whether it waits for a slot. */
export function noteWaitOf({ db }: Pick<Dependencies, 'db'>, kind: StagedKind, key: JobKey): NoteWait {
  return (isWaiting) => updateJobStage(db, kind, key, isWaiting ? WAITING_FOR_SLOT : null);
}
