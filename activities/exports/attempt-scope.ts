import { Context } from '@temporalio/activity';
import { JobGone } from '../../domain/jobs/job.ts';
import { type AttemptKey, isAttemptCurrent } from '../../store/exports/export-run-progress.ts';
import type { Dependencies } from '../dependencies.ts';

const LOOK_EVERY_MS = 1_000;

/** An attempt's signal and its end, for as long as it lasts. */
export type AttemptScope = { signal: AbortSignal; throwIfEnding(): void; end(error: unknown): void; close(): void };

/**
 * Ends what an attempt has begun outside when the run is canceled or taken over, or Temporal gives the step up; a
 * process that drains still ends its file.
 */
export function openAttemptScope({ db }: Pick<Dependencies, 'db'>, key: AttemptKey): AttemptScope {
  const gone = new AbortController();
  const signal = AbortSignal.any([gone.signal, Context.current().cancellationSignal]);
  const look = async () => {
    if (!(await isAttemptCurrent(db, key))) gone.abort(new JobGone());
  };
  const timer = setInterval(() => {
    look().catch(() => {});
  }, LOOK_EVERY_MS);
  return {
    signal,
    throwIfEnding: () => signal.throwIfAborted(),
    end: (error) => gone.abort(error),
    close: () => clearInterval(timer),
  };
}
