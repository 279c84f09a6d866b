import type { Semaphore } from '../../domain/core/semaphore.ts';
import type { RetryAfter } from './retry-after.ts';

/** Maximum number of an entity's steps that wait for a place: the others leave their slot of the queue to other entities. */
const MAX_WAITING = 8;
/** How soon a step comes back that found this many of its entity's waiting. */
const RETRY_MS = 2_000;

/** Runs work in a place of its entity's share. Returns when to come back if too many of the entity's steps wait already. */
export type WithinShare = <T>(entityId: number, work: () => Promise<T>) => Promise<T | RetryAfter>;

export function sharedPlaces(take: Semaphore): WithinShare {
  const waiting = new Map<number, number>();
  return async (entityId, work) => {
    const inLine = () => waiting.get(entityId) ?? 0;
    if (inLine() >= MAX_WAITING) return { againInMs: RETRY_MS };
    let isInLine = false;
    const release = await take(entityId, async () => {
      isInLine = true;
      waiting.set(entityId, inLine() + 1);
    });
    if (isInLine && inLine() > 1) waiting.set(entityId, inLine() - 1);
    else if (isInLine) waiting.delete(entityId);
    try {
      return await work();
    } finally {
      release();
    }
  };
}
