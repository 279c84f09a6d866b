import { proxyActivities } from '@temporalio/workflow';
import type { FeedAttributesSteps } from '../activities/feed/feed-attributes.ts';
import { FEED_ARRIVED } from '../domain/jobs/workflow-id.ts';
import { HEARTBEAT_TIMEOUT, RETRY } from './patience.ts';
import { untilIdle } from './until-idle.ts';

const { drainFeed } = proxyActivities<FeedAttributesSteps>({
  taskQueue: 'bulk',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  startToCloseTimeout: '10 minutes',
  retry: RETRY,
});

/** Merges the values in an entity's inbox, and those that come meanwhile, until none is left. */
export function feedAttributes(entityId: number): Promise<void> {
  return untilIdle(entityId, {
    signal: FEED_ARRIVED,
    of: 'values',
    doing: 'Merging values',
    step: async () => (await drainFeed(entityId)).isEmpty,
  });
}
