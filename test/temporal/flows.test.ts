import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { startJob, tellHoldsChanged } from '../../temporal/flows.ts';
import { jobWorkflowId } from '../../domain/jobs/job.ts';
import { GDPR_HOLDS_CHANGED } from '../../domain/jobs/workflow-id.ts';
import { useStack } from '../harness/core/stack.ts';

const stack = useStack();

it('the flow of each request hears that a hold was released, whichever of them are over', async () => {
  const [open, over] = [`gdp_${randomBytes(6).toString('hex')}`, `gdp_${randomBytes(6).toString('hex')}`];
  await startJob(stack.temporal, 'delete', { entityId: 1, jobId: 2, identifier: open });
  await tellHoldsChanged(stack.temporal, [over, open]);
  const handle = stack.temporal.workflow.getHandle(jobWorkflowId('delete', open));
  const { events } = await handle.fetchHistory();
  expect(events!.flatMap((event) => event.workflowExecutionSignaledEventAttributes?.signalName ?? [])).toEqual([
    GDPR_HOLDS_CHANGED,
  ]);
  await handle.terminate();
});
