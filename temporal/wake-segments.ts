import type { Client } from '@temporalio/client';
import { SEGMENTS_DUE, segmentsWorkflowId, type TaskQueue } from '../domain/jobs/workflow-id.ts';

const QUEUE: TaskQueue = 'flows';

/** Tells the refresh of an entity's segments that one is due, and starts it where it has come to rest. */
export async function wakeSegments(temporal: Client, entityId: number): Promise<void> {
  await temporal.workflow.signalWithStart('refreshSegments', {
    workflowId: segmentsWorkflowId(entityId),
    taskQueue: QUEUE,
    args: [entityId],
    signal: SEGMENTS_DUE,
    signalArgs: [],
  });
}
