import { Context } from '@temporalio/activity';
import type { Dependencies } from '../dependencies.ts';

/** Heartbeat timeout of a step whose caller sets none. */
const DEFAULT_TIMEOUT_MS = 5_000;
/** The time between two heartbeats, as a share of the step's timeout. */
const SHARE_OF_TIMEOUT = 0.2;

/** Heartbeats while `work` runs, each second if the step's timeout is 5 s. */
export async function heartbeating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(
    () => context.heartbeat(),
    (context.info.heartbeatTimeoutMs ?? DEFAULT_TIMEOUT_MS) * SHARE_OF_TIMEOUT,
  );
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/**
 * Throws if the worker drains, or Temporal has given the step up: another worker continues. Call it between commits.
 */
export function stopIfAsked({ draining }: Pick<Dependencies, 'draining'>): void {
  draining.throwIfAborted();
  Context.current().cancellationSignal.throwIfAborted();
}
