import { setTimeout as delay } from 'node:timers/promises';
import { deleteFeedWait, upsertFeedWait } from '../../store/feed/feed-waits.ts';
import { heartbeating } from '../core/heartbeat.ts';
import { inSlot, type NoteWait, takeSlot } from '../core/in-slot.ts';
import type { Dependencies } from '../dependencies.ts';
import { feedBatchValues, mergeFeed } from './feed-merge.ts';

export type FeedAttributesSteps = ReturnType<typeof feedAttributesSteps>;

/** A step ends after so long, whatever is left, so that it is seen to go on. */
const STEP_MS = 60_000;

/** After a batch that was far from full: many small transactions cost much more than a few large ones. */
const PAUSE_MS = 100;

export const feedAttributesSteps = (deps: Dependencies) => ({
  /** Merges the entity's inbox, batch by batch, until nothing is left or its time is over. */
  drainFeed: (entityId: number): Promise<{ isEmpty: boolean }> => {
    const note: NoteWait = (isWaiting) => (isWaiting ? upsertFeedWait : deleteFeedWait)(deps.db, entityId);
    return heartbeating(() => inSlot(deps.takeFeedSlot, entityId, () => drain(deps, entityId, note), note));
  },
});

async function drain(deps: Dependencies, entityId: number, note: NoteWait): Promise<{ isEmpty: boolean }> {
  const until = performance.now() + STEP_MS;
  while (performance.now() < until) {
    deps.draining.throwIfAborted();
    const merged = await mergeInTurn(deps, entityId, note);
    if (merged === null) return { isEmpty: true };
    if (merged < feedBatchValues(deps) / 2) await delay(PAUSE_MS);
  }
  return { isEmpty: false };
}

/** Bodies of several batches at once would take memory without bound. */
async function mergeInTurn(deps: Dependencies, entityId: number, note: NoteWait): Promise<number | null> {
  const freeSlot = await takeSlot(deps.takeBatchSlot, entityId, note, false);
  try {
    return await inSlot(deps.takePartSlot, entityId, () => mergeFeed(deps, entityId));
  } finally {
    freeSlot();
  }
}
