import { proxyActivities } from '@temporalio/workflow';
import type { ImportAttributesSteps } from '../activities/imports/import-attributes.ts';
import type { JobRef } from '../domain/jobs/job.ts';
import { BULK_STEPS, claimed, MAIL_STEPS, SHORT_STEPS, untilSettled } from './job-steps.ts';

const { claimImport, endImport } = proxyActivities<ImportAttributesSteps>(SHORT_STEPS);
const { fetchFile, loadRows } = proxyActivities<ImportAttributesSteps>(BULK_STEPS);
const { mailReport } = proxyActivities<ImportAttributesSteps>(MAIL_STEPS);

/** Brings each row of a file into a customer's profile or into the list of errors, and mails the result. */
export async function importAttributes(ref: JobRef): Promise<void> {
  const claim = await claimed(claimImport, ref);
  if (!claim) return;
  if (claim.toFetch) await untilSettled('Fetching the file', () => fetchFile(claim));
  await untilSettled('Loading the rows', () => loadRows(claim));
  const { mails } = (await endImport(claim)) ?? { mails: false }; // older runs got no answer
  if (mails) await untilSettled('Mailing the report', () => mailReport(claim));
}
