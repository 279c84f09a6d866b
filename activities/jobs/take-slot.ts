import type { Semaphore } from '../../domain/core/semaphore.ts';
import { type JobKey, WAITING_FOR_SLOT } from '../../domain/jobs/job.ts';
import { type StagedKind, updateJobStage } from '../../store/jobs/jobs.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';

/** How long work waits for a slot before its record says so: batches take turns within moments. */
const NOTED_AFTER_MS = 1_000;

export type NoteWait = (isWaiting: boolean) => Promise<void>;

/**
 * Takes a slot. If that takes longer than a moment, `note` records the wait, and its end. `isFirst`: the first slot of
 * a step, of which an earlier attempt may have ended while it waited; then the end is noted in any case.
 */
export async function takeSlot(take: Semaphore, entityId: number, note: NoteWait, isFirst = true): Promise<() => void> {
  const wait: { noted?: Promise<void>; timer?: NodeJS.Timeout } = {};
  const freeSlot = await take(entityId, async () => {
    // The slot is waited for, whether or not the database is there to note it.
    wait.timer = setTimeout(() => { wait.noted = note(true).catch(() => {}); }, NOTED_AFTER_MS);
  });
  clearTimeout(wait.timer);
  try {
    await wait.noted;
    if (isFirst || wait.noted) await note(false);
    return freeSlot;
  } catch (error) {
    freeSlot();
    throw error;
  }
}

/** Notes in the record of a job whether it waits for a slot. */
export function noteWaitOf({ db }: Pick<Dependencies, 'db'>, kind: StagedKind, key: JobKey): NoteWait {
  return (isWaiting) => updateJobStage(db, kind, key, isWaiting ? WAITING_FOR_SLOT : null);
}

/** Runs a step of the queue `bulk`. If many of its entity's run already, its record says that it waits, and it comes back later. */
export async function inBulkQueue(
  deps: Pick<Dependencies, 'db' | 'withinBulk'>, kind: StagedKind, key: JobKey, step: () => Promise<RetryAfter | null>,
): Promise<RetryAfter | null> {
  const ended = await deps.withinBulk(key.entityId, async () => ({ result: await step() }));
  if ('result' in ended) return ended.result;
  await noteWaitOf(deps, kind, key)(true);
  return ended;
}
