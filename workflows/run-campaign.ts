import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { RunCampaignSteps } from '../activities/campaigns/run-campaign.ts';
import type { JobRef } from '../domain/jobs/job.ts';
import {
  BULK_STEPS,
  claimed,
  SEND_STEPS,
  SHORT_STEPS,
  untilSettledInRuns,
  WAITS_OF_A_RUN,
  waitUnlessCanceled,
} from './job-steps.ts';

const { claimCampaign } = proxyActivities<RunCampaignSteps>(SHORT_STEPS);
const { prepareAudience } = proxyActivities<RunCampaignSteps>(BULK_STEPS);
const { sendToAudience } = proxyActivities<RunCampaignSteps>(SEND_STEPS);

/** Finds a campaign's audience at its times, and sends to each device at its own. After a cancel, sends no more. */
export async function runCampaign(ref: JobRef, waitsOfARun = WAITS_OF_A_RUN): Promise<void> {
  const wait = waitUnlessCanceled();
  const claim = await claimed(claimCampaign, ref);
  if (!claim) return;
  const prepareAndSend = async () => {
    const early = await prepareAudience(claim);
    if (early) return early;
    setCurrentDetails('Sending to the audience');
    return sendToAudience(claim);
  };
  await untilSettledInRuns('Preparing the audience', prepareAndSend, ref, waitsOfARun, wait);
}
