import type { Client } from '@temporalio/client';
import type { TaskQueue } from '../../domain/jobs/workflow-id.ts';

const QUEUE: TaskQueue = 'flows';

/** Starts the flow of a row of work, under an id made from that row's; one that is under way already is left alone. */
export async function startFlow(
  temporal: Client, workflow: 'importAttributes' | 'runSync' | 'exportDaily' | 'gdprAccess' | 'gdprDelete', workflowId: string, ref: object,
): Promise<void> {
  await temporal.workflow.start(workflow, {
    workflowId,
    taskQueue: QUEUE,
    args: [ref],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  });
}
