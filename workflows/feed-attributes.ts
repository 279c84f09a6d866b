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

/** How long the workflow waits without work before it ends; the next request starts it again. */
const IDLE = '10 seconds';

/** Number of steps after which it continues as new, so that no history grows long. */
const STEPS_OF_A_RUN = 50;

/** Merges the values in an entity's inbox, and those that come meanwhile, until none is left. */
export async function feedAttributes(entityId: number): Promise<void> {
  let hasArrived = true;
  setHandler(defineSignal(FEED_ARRIVED), () => {
    hasArrived = true;
  });
  for (let steps = 1; hasArrived; steps += 1) {
    hasArrived = false; // a signal from here on counts
    setCurrentDetails(`Merging values (batch ${steps} of this run)`);
    const { isEmpty } = await drainFeed(entityId);
    if (steps === STEPS_OF_A_RUN || workflowInfo().continueAsNewSuggested)
      return continueAsNew<typeof feedAttributes>(entityId);
    setCurrentDetails(`Waiting ${IDLE} for more values`);
    if (isEmpty) await condition(() => hasArrived, IDLE);
    else hasArrived = true;
  }
}
