import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { GDPR_HOLDS_CHANGED, gdprWorkflowId } from '../../domain/jobs/workflow-id.ts';

/** Tells the workflows of these requests that holds were released. One that is over needs no telling. */
export async function tellHoldsChanged(temporal: Client, requests: readonly string[]): Promise<void> {
  for (const identifier of requests) {
    await temporal.workflow.getHandle(gdprWorkflowId(identifier)).signal(GDPR_HOLDS_CHANGED).catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
  }
}
