/** The workflow of an access request; its steps lie in activities/gdpr/gdpr-access.ts. */
import { patched, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { GdprAccessSteps } from '../activities/gdpr/gdpr-access.ts';
import type { JobRef } from '../domain/jobs/job.ts';
import {
  BULK_STEPS,
  claimed,
  isJobGone,
  MAIL_STEPS,
  SHORT_STEPS,
  untilSettled,
  untilSettledInRuns,
  WAITS_OF_A_RUN,
} from './job-steps.ts';

// As in gdpr-delete.ts: histories keep the names before a colon.
const { claimAccess: claimRequest } = proxyActivities<GdprAccessSteps>(SHORT_STEPS);
const {
  gatherToShow: collectIdentifiersToShow,
  writeArchives,
  writeAccessReceipt,
  discardAccess: discardRequest,
} = proxyActivities<GdprAccessSteps>(BULK_STEPS);
const { mailAboutAccess: mailAboutRequest } = proxyActivities<GdprAccessSteps>(MAIL_STEPS);

/** Shows people what is known of them: an archive for each, until the sweep discards the request. */
export async function gdprAccess(ref: JobRef, waitsOfARun = WAITS_OF_A_RUN): Promise<void> {
  const claim = await claimed(claimRequest, ref);
  if (!claim) return;
  try {
    if (!claim.isTreated) {
      await untilSettledInRuns('Collecting identifiers', () => collectIdentifiersToShow(claim), ref, waitsOfARun);
      setCurrentDetails('Writing the archives');
      await writeArchives(claim);
      setCurrentDetails('Writing the receipt');
      await writeAccessReceipt(claim);
    }
  } catch (error) {
    if (!isJobGone(error)) throw error; // another workflow has it, or its entity is deleted
    return;
  }
  await untilSettled('Mailing about the end of the request', () => mailAboutRequest(claim));
  // The sweep discards the request after its week. Runs that began to wait for that before the sweep did it go on.
  if (!patched('sweep-discards'))
    await untilSettled('Keeping the archives until the request expires', () => discardRequest(ref));
}
