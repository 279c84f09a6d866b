import { Context } from '@temporalio/activity';
import { JobGone } from '../../domain/jobs/job.ts';

const LOOK_EVERY_MS = 1_000;

/** A step's access to its run, for as long as the step lasts. */
export type StepScope = ReturnType<typeof openStepScope>;

/**
 * Aborts a step's work outside once its run is canceled or taken over, Temporal gives the step up, or one of `signals`
 * aborts. It checks every second, and calls `work` then.
 */
export function openStepScope(isCurrent: () => Promise<boolean>, signals: AbortSignal[] = [], work = async () => {}) {
  const gone = new AbortController();
  const signal = AbortSignal.any([gone.signal, ...signals, Context.current().cancellationSignal]);
  const look = async () => {
    if (!(await isCurrent())) gone.abort(new JobGone());
  };
  const timer = setInterval(() => {
    for (const task of [work, look]) task().catch(() => {});
  }, LOOK_EVERY_MS);
  return {
    signal,
    throwIfEnding: () => signal.throwIfAborted(),
    end: (error: unknown = new JobGone()) => gone.abort(error),
    close: () => clearInterval(timer),
  };
}
