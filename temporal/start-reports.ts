import type { Client } from '@temporalio/client';
import { reportsWorkflowId, type TaskQueue } from '../domain/jobs/workflow-id.ts';

const QUEUE: TaskQueue = 'flows';

/** Has an entity's attempts counted, and their outcomes delivered; where that is under way, it goes on. */
export async function startReports(temporal: Client, entityId: number): Promise<void> {
  await temporal.workflow.start('aggregateReports', {
    workflowId: reportsWorkflowId(entityId),
    taskQueue: QUEUE,
    args: [entityId],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  });
}
