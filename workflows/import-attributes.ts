import { proxyActivities, sleep, workflowInfo } from '@temporalio/workflow';
import type { RetryAfter } from '../activities/core/retry-after.ts';
import type { ImportAttributesSteps, ImportRef } from '../activities/imports/import-attributes.ts';
import { CLAIM_TIMEOUT, HEARTBEAT_TIMEOUT, RETRY } from './patience.ts';

const { claimImport, endImport } = proxyActivities<ImportAttributesSteps>({
  startToCloseTimeout: CLAIM_TIMEOUT,
  retry: RETRY,
});

const { fetchFile, loadRows } = proxyActivities<ImportAttributesSteps>({
  taskQueue: 'bulk',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  startToCloseTimeout: '7 days',
  retry: RETRY,
});

const { mailReport } = proxyActivities<ImportAttributesSteps>({
  taskQueue: 'sends',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  startToCloseTimeout: '3 minutes',
  retry: RETRY,
});

/** Brings each row of a file into a customer's profile or into the list of errors, and tells of it. */
export async function importAttributes(ref: ImportRef): Promise<void> {
  const claim = await claimImport(ref, workflowInfo().firstExecutionRunId);
  if (!claim) return;               // another run has it, or it has ended
  if (claim.toFetch) await untilSettled(() => fetchFile(claim));
  await loadRows(claim);
  const { mails } = await endImport(claim) ?? { mails: false };      // older runs got no answer
  if (mails) await untilSettled(() => mailReport(claim));
}

/** As often as the step asks for, which says how long to wait. */
async function untilSettled(step: () => Promise<RetryAfter | null>): Promise<void> {
  for (let outcome = await step(); outcome; outcome = await step()) await sleep(outcome.againInMs);
}
