import { type Semaphore, TooManyWait } from '../../domain/core/semaphore.ts';
import type { RetryAfter } from './retry-after.ts';

/** How soon a step comes back if too many of its entity's steps wait already: it leaves its slot of the queue to other entities. */
export const RETRY_MS = 2_000;

/** Runs work in a place of its entity's share. Returns when to come back if too many of the entity's steps wait already. */
export type WithinShare = <T>(entityId: number, work: () => Promise<T>) => Promise<T | RetryAfter>;

export function sharedPlaces(take: Semaphore): WithinShare {
  return async (entityId, work) => {
    const release = await take(entityId).catch((error: unknown) => {
      if (error instanceof TooManyWait) return null;
      throw error;
    });
    if (release === null) return { againInMs: RETRY_MS };
    try {
      return await work();
    } finally {
      release();
    }
  };
}
