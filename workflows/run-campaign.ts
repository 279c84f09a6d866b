import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { RunCampaignSteps } from '../activities/campaigns/run-campaign.ts';
import type { JobRef } from '../domain/jobs/job.ts';
import {
  BULK_STEPS,
  SEND_STEPS,
  SHORT_STEPS,
  untilSettledInRuns,
  waitUnlessCanceled,
  WAITS_OF_A_RUN,
} from './job-steps.ts';

const { claimCampaign } = proxyActivities<RunCampaignSteps>(SHORT_STEPS);
const { prepareAudience } = proxyActivities<RunCampaignSteps>(BULK_STEPS);
const { sendToAudience } = proxyActivities<RunCampaignSteps>(SEND_STEPS);

/**
 * Finds the audience of a campaign at its times, and sends to each device at its own; what is left when it is canceled
 * is not sent.
 */
export async function runCampaign(ref: JobRef, waitsOfARun = WAITS_OF_A_RUN): Promise<void> {
  const wait = waitUnlessCanceled();
  const claim = await claimCampaign(ref, workflowInfo().firstExecutionRunId);
  if (!claim) return; // another run has it, or it has ended
  await untilSettledInRuns(async () => (await prepareAudience(claim)) ?? sendToAudience(claim), ref, waitsOfARun, wait);
}
