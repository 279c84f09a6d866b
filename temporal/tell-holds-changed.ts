import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { jobWorkflowId } from '../domain/jobs/job.ts';
import { GDPR_HOLDS_CHANGED } from '../domain/jobs/workflow-id.ts';

/** Tells the workflows of these requests that holds were released. One that is over needs no telling. */
export async function tellHoldsChanged(temporal: Client, requests: readonly string[]): Promise<void> {
  for (const identifier of requests) {
    await temporal.workflow
      .getHandle(jobWorkflowId('delete', identifier))
      .signal(GDPR_HOLDS_CHANGED)
      .catch((error: unknown) => {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      });
  }
}
