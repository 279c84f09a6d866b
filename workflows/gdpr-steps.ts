import { ActivityFailure, ApplicationFailure, sleep } from '@temporalio/workflow';
import type { RetryAfter } from '../activities/core/retry-after.ts';

/** Takes a step until it wants no more. */
export async function repeat(step: () => Promise<RetryAfter | null>): Promise<void> {
  for (let again = await step(); again; again = await step()) await sleep(again.againInMs);
}

/** Whether a step found that another workflow has the request, or that it is no more. */
export function isRequestGone(error: unknown): boolean {
  const cause = error instanceof ActivityFailure ? error.cause : null;
  return cause instanceof ApplicationFailure && cause.type === 'Refusal' && cause.message === 'request_gone';
}
