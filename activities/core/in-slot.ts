/** Runs a step's work in one of the worker's slots, and shows in the job's record that it waits for one. */
import { type Semaphore, TooManyWait } from '../../domain/core/semaphore.ts';

/** How long work waits for a slot before its record says so. */
const NOTED_AFTER_MS = 1_000;

export type NoteWait = (isWaiting: boolean) => Promise<void>;

/** Runs a step's work in a slot; throws `TooManyWait` if the line is full, so that Temporal retries it soon. */
export async function inSlot<T>(
  take: Semaphore,
  entityId: number,
  work: () => Promise<T>,
  note: NoteWait = async () => {},
): Promise<T> {
  const freeSlot = await takeSlot(take, entityId, note);
  try {
    return await work();
  } finally {
    freeSlot();
  }
}

/**
 * Takes a slot. If that takes longer than a moment, `note` records the wait and its end. `isFirst`: the first slot of a
 * step, whose earlier attempt may have ended while it waited; then the end is always recorded.
 */
export async function takeSlot(take: Semaphore, entityId: number, note: NoteWait, isFirst = true): Promise<() => void> {
  const wait: { noted?: Promise<void>; timer?: NodeJS.Timeout } = {};
  // Waits for the slot even if the database is away and cannot record it.
  const noteIt = () => (wait.noted ??= note(true).catch(() => {}));
  const freeSlot = await take(entityId, async () => {
    wait.timer ??= setTimeout(() => void noteIt(), NOTED_AFTER_MS);
  }).catch(async (error: unknown) => {
    clearTimeout(wait.timer);
    if (error instanceof TooManyWait) await noteIt();
    throw error;
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
