import { condition, continueAsNew, defineSignal, proxyActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import type { SendTransactionalSteps } from '../activities/sends/send-transactional.ts';
import type { JobRef } from '../domain/jobs/job.ts';
import { SEND_CANCELED } from '../domain/jobs/workflow-id.ts';
import { SEND_STEPS, SHORT_STEPS, WAITS_OF_A_RUN } from './job-steps.ts';

const { claimSend } = proxyActivities<SendTransactionalSteps>(SHORT_STEPS);
const { sendMessages } = proxyActivities<SendTransactionalSteps>(SEND_STEPS);

/** Sends the messages of a request at their time, each device's once; what is left when it is canceled is recorded as canceled. */
export async function sendTransactional(ref: JobRef, waitsOfARun = WAITS_OF_A_RUN): Promise<void> {
  let isCanceled = false;
  setHandler(defineSignal(SEND_CANCELED), () => { isCanceled = true; });
  const claim = await claimSend(ref, workflowInfo().firstExecutionRunId);
  if (!claim) return;               // another run has it, or it has ended
  for (let waits = 1; ; waits += 1) {
    const again = await sendMessages(claim);
    if (!again) return;
    await condition(() => isCanceled, again.againInMs);
    isCanceled = false;
    if (waits === waitsOfARun || workflowInfo().continueAsNewSuggested) return continueAsNew<typeof sendTransactional>(ref, waitsOfARun);
  }
}
