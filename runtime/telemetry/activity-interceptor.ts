import { randomUUID } from 'node:crypto';
import type { Context } from '@temporalio/activity';
import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import type { ActivityInterceptors } from '@temporalio/worker';
import type { Log } from '../../activities/dependencies.ts';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import type { Metrics } from './metrics.ts';

/**
 * Around every step: its time and outcome as metrics, one line of log for each that fails, and law 1.
 * A refusal becomes a non-retryable failure that carries its code; anything else one that carries its
 * class and an id, under which the log tells more.
 */
export function activityInterceptor(log: Log, metrics: Metrics) {
  return ({ info }: Context): ActivityInterceptors => ({
    inbound: {
      async execute(input, next) {
        const start = performance.now();
        const observe = (outcome: 'ok' | 'refused' | 'failed') =>
          metrics.observeActivity({ activity: info.activityType, outcome, seconds: (performance.now() - start) / 1000 });
        try {
          const result = await next(input);
          observe('ok');
          return result;
        } catch (error) {
          observe(error instanceof Refusal ? 'refused' : 'failed');
          throw toFailure(error, log, {
            activity: info.activityType, attempt: info.attempt,
            workflowId: info.workflowExecution?.workflowId, runId: info.workflowExecution?.runId,
          });
        }
      },
    },
  });
}

function toFailure(error: unknown, log: Log, where: object): TemporalFailure {
  if (error instanceof TemporalFailure) return error;
  if (error instanceof Refusal) {
    log.warn({ ...where, code: error.status }, 'a step was refused');
    return ApplicationFailure.nonRetryable(String(error.status), 'Refusal');
  }
  const errorId = randomUUID();
  const internal = internalErrorOf(error);
  log.error({ ...where, errorId, ...internal }, 'a step failed');
  return ApplicationFailure.retryable(errorId, internal.errorClass);
}
