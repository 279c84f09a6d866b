import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { ImportAttributesSteps } from '../activities/imports/import-attributes.ts';
import type { JobRef } from '../domain/jobs/job.ts';
import { BULK_STEPS, MAIL_STEPS, SHORT_STEPS, untilSettled } from './job-steps.ts';

const { claimImport, endImport } = proxyActivities<ImportAttributesSteps>(SHORT_STEPS);
const { fetchFile, loadRows } = proxyActivities<ImportAttributesSteps>(BULK_STEPS);
const { mailReport } = proxyActivities<ImportAttributesSteps>(MAIL_STEPS);

/** Brings each row of a file into a customer's profile or into the list of errors, and tells of it. */
export async function importAttributes(ref: JobRef): Promise<void> {
  const claim = await claimImport(ref, workflowInfo().firstExecutionRunId);
  if (!claim) return; // another run has it, or it has ended
  if (claim.toFetch) await untilSettled(() => fetchFile(claim));
  await untilSettled(() => loadRows(claim));
  const { mails } = (await endImport(claim)) ?? { mails: false }; // older runs got no answer
  if (mails) await untilSettled(() => mailReport(claim));
}
