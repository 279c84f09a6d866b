import type { Client } from '@temporalio/client';
import { type JobKind, type JobRef, jobWorkflow, jobWorkflowId } from '../domain/jobs/job.ts';
import type { TaskQueue } from '../domain/jobs/workflow-id.ts';

const QUEUE: TaskQueue = 'flows';

/** Starts the workflow of a job, under an id made from the job's; one that is under way already is left alone. */
export async function startJob(temporal: Client, kind: JobKind, ref: JobRef): Promise<void> {
  await temporal.workflow.start(jobWorkflow(kind), {
    workflowId: jobWorkflowId(kind, ref.identifier),
    taskQueue: QUEUE,
    args: [kind === 'import' ? importRef(ref) : ref],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  });
}

/** The input that histories of imports have. */
function importRef({ entityId, runId: importId, identifier }: JobRef) {
  return { entityId, importId, identifier };
}
