import { Context } from '@temporalio/activity';
import type { Dependencies } from '../dependencies.ts';

/**
 * Throws if the worker drains, or Temporal has given the step up: another worker continues. Call it between commits.
 */
export function stopIfAsked({ draining }: Pick<Dependencies, 'draining'>): void {
  draining.throwIfAborted();
  Context.current().cancellationSignal.throwIfAborted();
}
