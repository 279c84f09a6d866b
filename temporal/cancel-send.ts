import type { Client } from '@temporalio/client';
import { jobWorkflow, jobWorkflowId } from '../domain/jobs/job.ts';
import type { SendRef } from '../store/sends/sends.ts';
import { SEND_CANCELED, type TaskQueue } from '../domain/jobs/workflow-id.ts';

const QUEUE: TaskQueue = 'flows';

/** Wakes the workflow of a send that is canceled, and starts it where it is not there yet. */
export async function cancelSend(temporal: Client, { kind, ...ref }: SendRef): Promise<void> {
  await temporal.workflow.signalWithStart(jobWorkflow(kind), {
    workflowId: jobWorkflowId(kind, ref.identifier),
    taskQueue: QUEUE,
    args: [ref],
    signal: SEND_CANCELED,
    signalArgs: [],
  });
}
