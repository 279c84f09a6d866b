import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { AggregateReportsSteps } from '../activities/sends/aggregate-reports.ts';
import { BULK_STEPS } from './job-steps.ts';

const { countAttempts, dropAttempts, deliverOutcomes } = proxyActivities<AggregateReportsSteps>(BULK_STEPS);

/** Counts the outcomes of an entity's messages, deletes old attempts, and delivers outcomes to the apps' webhooks. */
export async function aggregateReports(entityId: number): Promise<void> {
  setCurrentDetails('Counting attempts');
  await countAttempts(entityId);
  setCurrentDetails('Deleting old attempts');
  await dropAttempts(entityId);
  setCurrentDetails('Delivering outcomes to webhooks');
  await deliverOutcomes(entityId);
}
