import { proxyActivities } from '@temporalio/workflow';
import type { RefreshSegmentsSteps } from '../activities/analytics/refresh-segments.ts';
import { SEGMENTS_DUE } from '../domain/jobs/workflow-id.ts';
import { HEARTBEAT_TIMEOUT, RETRY } from './patience.ts';
import { untilIdle } from './until-idle.ts';

const { refreshSegment } = proxyActivities<RefreshSegmentsSteps>({
  taskQueue: 'bulk',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  startToCloseTimeout: '2 hours',
  retry: RETRY,
});

/** Refreshes the due segments of an entity, one after the other, until none is left. */
export function refreshSegments(entityId: number): Promise<void> {
  return untilIdle(entityId, {
    signal: SEGMENTS_DUE,
    of: 'segments',
    doing: 'Refreshing a segment',
    step: async () => (await refreshSegment(entityId)).isIdle,
  });
}
