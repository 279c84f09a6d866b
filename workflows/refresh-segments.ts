import {
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { RefreshSegmentsSteps } from '../activities/analytics/refresh-segments.ts';
import { SEGMENTS_DUE } from '../domain/jobs/workflow-id.ts';
import { HEARTBEAT_TIMEOUT, RETRY } from './patience.ts';

const { refreshSegment } = proxyActivities<RefreshSegmentsSteps>({
  taskQueue: 'bulk',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  startToCloseTimeout: '2 hours',
  retry: RETRY,
});

/** How long the workflow waits without work before it ends; the next change, or the sweep, starts it again. */
const IDLE = '10 seconds';

/** Number of steps after which it continues as new, so that no history grows long. */
const STEPS_OF_A_RUN = 50;

/** Refreshes the due segments of an entity, one after the other, until none is left. */
export async function refreshSegments(entityId: number): Promise<void> {
  let isDue = true;
  setHandler(defineSignal(SEGMENTS_DUE), () => {
    isDue = true;
  });
  for (let steps = 1; isDue; steps += 1) {
    isDue = false; // a signal from here on counts
    setCurrentDetails(`Refreshing a segment (${steps - 1} done in this run)`);
    const { isIdle } = await refreshSegment(entityId);
    if (steps === STEPS_OF_A_RUN || workflowInfo().continueAsNewSuggested)
      return continueAsNew<typeof refreshSegments>(entityId);
    setCurrentDetails(`Waiting ${IDLE} for more segments`);
    if (isIdle) await condition(() => isDue, IDLE);
    else isDue = true;
  }
}
