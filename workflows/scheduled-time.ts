import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';

/** Temporal's own: for when a Schedule meant to start the workflow, before jitter and delays. */
const SCHEDULED_START = defineSearchAttributeKey('TemporalScheduledStartTime', SearchAttributeType.DATETIME);

/** When this workflow was due (ISO 8601, UTC): by its Schedule, else when it was started. */
export function scheduledTime(): string {
  const { typedSearchAttributes, startTime } = workflowInfo();
  return (typedSearchAttributes.get(SCHEDULED_START) ?? startTime).toISOString();
}
