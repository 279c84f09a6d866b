import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { ImportAttributesSteps, ImportRef } from '../activities/import-attributes.ts';

const RETRY = { initialInterval: '1 second', maximumInterval: '30 seconds' };

const { claimImport, endImport } = proxyActivities<ImportAttributesSteps>({
  startToCloseTimeout: '10 seconds',
  retry: RETRY,
});

const { loadRows } = proxyActivities<ImportAttributesSteps>({
  taskQueue: 'bulk',
  heartbeatTimeout: '5 seconds',
  startToCloseTimeout: '7 days',
  retry: RETRY,
});

/** Brings each row of a pinned file into a customer's profile or into the list of errors. */
export async function importAttributes(ref: ImportRef): Promise<void> {
  const claim = await claimImport(ref, workflowInfo().firstExecutionRunId);
  if (!claim) return;               // another run has it, or it has ended
  await loadRows(claim);
  await endImport(claim);
}
