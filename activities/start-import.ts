import type { Client } from '@temporalio/client';
import { importWorkflowId, type TaskQueue } from '../domain/workflow-id.ts';
import type { ImportRef } from '../store/across-entities.ts';

const QUEUE: TaskQueue = 'flows';

/** Starts the import's workflow; one that is under way already is left alone. */
export async function startImport(temporal: Client, ref: ImportRef): Promise<void> {
  await temporal.workflow.start('importAttributes', {
    workflowId: importWorkflowId(ref.identifier),
    taskQueue: QUEUE,
    args: [ref],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  });
}
