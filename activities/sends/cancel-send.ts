import type { Client } from '@temporalio/client';
import { type JobRef, jobWorkflow, jobWorkflowId } from '../../domain/jobs/job.ts';
import { SEND_CANCELED, type TaskQueue } from '../../domain/jobs/workflow-id.ts';

const QUEUE: TaskQueue = 'flows';

/** Wakes the workflow of a send that is canceled, and starts it where it is not there yet. */
export async function cancelSend(temporal: Client, ref: JobRef): Promise<void> {
  await temporal.workflow.signalWithStart(jobWorkflow('send'), {
    workflowId: jobWorkflowId('send', ref.identifier), taskQueue: QUEUE, args: [ref], signal: SEND_CANCELED, signalArgs: [],
  });
}
