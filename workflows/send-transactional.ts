import { proxyActivities } from '@temporalio/workflow';
import type { SendTransactionalSteps } from '../activities/sends/send-transactional.ts';
import type { JobRef } from '../domain/jobs/job.ts';
import {
  claimed,
  SEND_STEPS,
  SHORT_STEPS,
  untilSettledInRuns,
  WAITS_OF_A_RUN,
  waitUnlessCanceled,
} from './job-steps.ts';

const { claimSend } = proxyActivities<SendTransactionalSteps>(SHORT_STEPS);
const { sendMessages } = proxyActivities<SendTransactionalSteps>(SEND_STEPS);

/** Sends a request's messages at their time, to each device once. After a cancel, records the rest as canceled. */
export async function sendTransactional(ref: JobRef, waitsOfARun = WAITS_OF_A_RUN): Promise<void> {
  const wait = waitUnlessCanceled();
  const claim = await claimed(claimSend, ref);
  if (!claim) return;
  await untilSettledInRuns('Sending the messages', () => sendMessages(claim), ref, waitsOfARun, wait);
}
