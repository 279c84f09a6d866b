import type { Patience } from '../../../runtime/workers.ts';

/** In the place of `workflows/patience.ts` where workers are killed: one is missed after a second. */
export const HEARTBEAT_TIMEOUT = '1 second';
export const SHORT_STEP_TIMEOUT = '5 seconds';
export const RETRY = { initialInterval: '200 ms', maximumInterval: '1 second' } as const;

/** Of the workers that run such a bundle. */
export const IMPATIENCE: Patience = { stickyMs: 500, heartbeatsMs: 200 };
