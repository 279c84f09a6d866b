import {
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { FeedAttributesSteps } from '../activities/feed/feed-attributes.ts';
import { FEED_ARRIVED } from '../domain/jobs/workflow-id.ts';
import { HEARTBEAT_TIMEOUT, RETRY } from './patience.ts';

const { drainFeed } = proxyActivities<FeedAttributesSteps>({
  taskQueue: 'bulk',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  startToCloseTimeout: '10 minutes',
  retry: RETRY,
});

/** With nothing to do for so long it ends; the next request starts it again. */
const IDLE = '10 seconds';

/** After so many steps it goes on in a new run, so that no history grows long. */
const STEPS_OF_A_RUN = 50;

/** Merges what lies in an entity's inbox, and all that comes while it is at it. */
export async function feedAttributes(entityId: number): Promise<void> {
  let hasArrived = true;
  setHandler(defineSignal(FEED_ARRIVED), () => {
    hasArrived = true;
  });
  for (let steps = 1; hasArrived; steps += 1) {
    hasArrived = false; // what comes from here on is looked for again
    setCurrentDetails(`Merging values (batch ${steps} of this run)`);
    const { isEmpty } = await drainFeed(entityId);
    if (steps === STEPS_OF_A_RUN || workflowInfo().continueAsNewSuggested)
      return continueAsNew<typeof feedAttributes>(entityId);
    setCurrentDetails(`Waiting ${IDLE} for more values`);
    if (isEmpty) await condition(() => hasArrived, IDLE);
    else hasArrived = true;
  }
}
