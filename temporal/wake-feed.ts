import type { Client } from '@temporalio/client';
import { FEED_ARRIVED, feedWorkflowId, type TaskQueue } from '../domain/jobs/workflow-id.ts';

const QUEUE: TaskQueue = 'flows';

/** Tells the entity's feed that something has arrived, and starts it where it has come to rest. */
export async function wakeFeed(temporal: Client, entityId: number): Promise<void> {
  await temporal.workflow.signalWithStart('feedAttributes', {
    workflowId: feedWorkflowId(entityId),
    taskQueue: QUEUE,
    args: [entityId],
    signal: FEED_ARRIVED,
    signalArgs: [],
  });
}
