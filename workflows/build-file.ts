import { proxyActivities } from '@temporalio/workflow';
import type { BuildFileSteps } from '../activities/files/build-file.ts';
import type { JobRef } from '../domain/jobs/job.ts';
import { BULK_STEPS, claimed, MAIL_STEPS, SHORT_STEPS, untilSettled } from './job-steps.ts';

const { claimFile } = proxyActivities<BuildFileSteps>(SHORT_STEPS);
const { writeFile } = proxyActivities<BuildFileSteps>(BULK_STEPS);
const { mailFile } = proxyActivities<BuildFileSteps>(MAIL_STEPS);

/** Builds a requested file, and sends its link. */
export async function buildFile(ref: JobRef): Promise<void> {
  const claim = await claimed(claimFile, ref);
  if (!claim) return;
  await untilSettled('Writing the file', () => writeFile(claim));
  await untilSettled('Mailing the link', () => mailFile(claim));
}
