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

/** With nothing to do for so long it ends; the next change, or the sweep, starts it again. */
const IDLE = '10 seconds';

/** After so many steps it goes on in a new run, so that no history grows long. */
const STEPS_OF_A_RUN = 50;

/** Computes who is in the segments of an entity, one after the other, until none is due. */
export async function refreshSegments(entityId: number): Promise<void> {
  let isDue = true;
  setHandler(defineSignal(SEGMENTS_DUE), () => {
    isDue = true;
  });
  for (let steps = 1; isDue; steps += 1) {
    isDue = false; // what comes from here on is looked for again
    setCurrentDetails(`Refreshing a segment (${steps - 1} done in this run)`);
    const { isIdle } = await refreshSegment(entityId);
    if (steps === STEPS_OF_A_RUN || workflowInfo().continueAsNewSuggested)
      return continueAsNew<typeof refreshSegments>(entityId);
    setCurrentDetails(`Waiting ${IDLE} for more segments`);
    if (isIdle) await condition(() => isDue, IDLE);
    else isDue = true;
  }
}
