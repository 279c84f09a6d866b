/** Shared by all workflows of jobs: how long Temporal waits for their steps, and how they wait. */
import {
  ActivityFailure,
  type ActivityOptions,
  ApplicationFailure,
  condition,
  continueAsNew,
  defineSignal,
  getCurrentDetails,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { RetryAfter } from '../activities/core/retry-after.ts';
import type { JobRef } from '../domain/jobs/job.ts';
import { SEND_CANCELED, type TaskQueue } from '../domain/jobs/workflow-id.ts';
import { HEARTBEAT_TIMEOUT, RETRY, SHORT_STEP_TIMEOUT } from './patience.ts';

export const SHORT_STEPS: ActivityOptions = { startToCloseTimeout: SHORT_STEP_TIMEOUT, retry: RETRY };
export const BULK_STEPS = longSteps('bulk');
export const SYNC_STEPS = longSteps('syncs');
export const SEND_STEPS = longSteps('sends');
export const MAIL_STEPS: ActivityOptions = { ...longSteps('mails'), startToCloseTimeout: '3 minutes' };

/** Options of long steps, which heartbeat each second. */
function longSteps(taskQueue: TaskQueue): ActivityOptions {
  return { taskQueue, heartbeatTimeout: HEARTBEAT_TIMEOUT, startToCloseTimeout: '7 days', retry: RETRY };
}

/** Number of waits after which a flow continues as new, so that no history grows long. */
export const WAITS_OF_A_RUN = 50;

/** Calls a step until it needs no further call, and waits between calls as it says. Temporal's page shows `doing`. */
export async function untilSettled(
  doing: string,
  step: () => Promise<RetryAfter | null>,
  wait: (ms: number) => Promise<void> = sleep,
): Promise<void> {
  for (let waits = 1; ; waits += 1) {
    setCurrentDetails(doing);
    const again = await step();
    if (!again) return;
    await pause(again.againInMs, waits, wait);
  }
}

/** Waits, and shows the end of the wait on Temporal's page. `waits`: number of waits of this kind so far. */
export async function pause(ms: number, waits: number, wait: (ms: number) => Promise<void> = sleep): Promise<void> {
  setCurrentDetails(`${getCurrentDetails()}: waits until ${new Date(Date.now() + ms).toISOString()} (wait ${waits})`);
  await wait(ms);
}

type JobFlow = (ref: JobRef, waitsOfARun: number) => Promise<void>;

/** Does the same for a step that may wait long: after WAITS_OF_A_RUN waits the job continues as new. */
export async function untilSettledInRuns(
  doing: string,
  step: () => Promise<RetryAfter | null>,
  ref: JobRef,
  waitsOfARun: number,
  wait: (ms: number) => Promise<void> = sleep,
): Promise<void> {
  let waits = 0;
  await untilSettled(doing, step, async (ms) => {
    await wait(ms);
    waits += 1;
    if (waits === waitsOfARun || workflowInfo().continueAsNewSuggested) await continueAsNew<JobFlow>(ref, waitsOfARun);
  });
}

/** Claims the job of this workflow. Returns null if another workflow run has it, or it has ended. */
export async function claimed<Claim>(
  claim: (ref: JobRef, workflowRunId: string) => Promise<Claim | null>,
  ref: JobRef,
): Promise<Claim | null> {
  setCurrentDetails('Claiming the job');
  const ours = await claim(ref, workflowInfo().firstExecutionRunId);
  if (!ours) setCurrentDetails('Nothing to do: another workflow has the job, or it has ended');
  return ours;
}

export function waitUnlessCanceled(): (ms: number) => Promise<void> {
  let isCanceled = false;
  setHandler(defineSignal(SEND_CANCELED), () => {
    isCanceled = true;
  });
  return async (ms) => {
    await condition(() => isCanceled, ms);
    isCanceled = false;
  };
}

/** Returns whether a step found that another workflow has the job, or that the job is deleted. */
export function isJobGone(error: unknown): boolean {
  const cause = error instanceof ActivityFailure ? error.cause : null;
  return cause instanceof ApplicationFailure && cause.type === 'Refusal' && cause.message === 'request_gone';
}
