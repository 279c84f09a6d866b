import { internalErrorOf } from '../../domain/core/internal-error.ts';
import type { Log } from '../../activities/dependencies.ts';
import type { Database } from '../../store/core/database.ts';
import {
  deleteInternalError,
  type FailedStep,
  listFailedSteps,
  upsertInternalError,
} from '../../store/jobs/internal-errors.ts';

/** Records internal errors of steps and requests in the database while they last (law 11). */
export type FaultRecord = {
  /** `id` leads to the log. */
  failed(step: FailedStep, id: string): Promise<void>;
  /** Records a step that is not retried by itself. */
  gaveUp(step: FailedStep, id: string): Promise<void>;
  /** The step has succeeded, or has ended for another reason. */
  settled(step: FailedStep, attempt: number): Promise<void>;
};

/** How often a process reads the errors that others have recorded. */
const LOOK_EVERY_MS = 10_000;

/**
 * Records errors. If the database is away, only the log has them; an error that lasts is recorded by the next attempt.
 */
export function faultRecord(db: Database, log: Log): FaultRecord {
  let open = new Set<string>();
  let lookedAt = -Infinity;
  const unlessAway = (work: () => Promise<void>) =>
    work().catch((error: unknown) => log.warn({ ...internalErrorOf(error) }, 'internal errors are not recorded now'));
  return {
    failed: (step, id) =>
      unlessAway(async () => {
        open.add(keyOf(step));
        await upsertInternalError(db, step, id);
      }),
    gaveUp: (step, id) => unlessAway(() => upsertInternalError(db, step, id, true)),
    settled: (step, attempt) =>
      unlessAway(async () => {
        if (performance.now() - lookedAt > LOOK_EVERY_MS) {
          lookedAt = performance.now();
          open = new Set((await listFailedSteps(db)).map(keyOf));
        }
        // An earlier attempt may have failed in another process.
        if (!open.delete(keyOf(step)) && attempt === 1) return;
        await deleteInternalError(db, step);
      }),
  };
}

function keyOf({ entityId, kind, job, step }: FailedStep): string {
  return JSON.stringify([entityId, kind, job, step]);
}
