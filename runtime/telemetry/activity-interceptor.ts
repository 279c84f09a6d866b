import { randomUUID } from 'node:crypto';
import type { Context } from '@temporalio/activity';
import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import type { ActivityInterceptors } from '@temporalio/worker';
import type { Log } from '../../activities/dependencies.ts';
import { internalErrorOf, isInternal } from '../../domain/core/internal-error.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import type { InternalErrorKind } from '../../domain/jobs/attention.ts';
import { jobKindOf, type JobRef } from '../../domain/jobs/job.ts';
import type { FailedStep } from '../../store/jobs/internal-errors.ts';
import type { FaultRecord } from './fault-record.ts';
import type { Metrics } from './metrics.ts';

/** Flows that are no jobs: each has the id of an entity as the input of its steps. */
const FLOWS_OF_ENTITIES: Record<string, InternalErrorKind> = {
  feedAttributes: 'feed', refreshSegments: 'segments', aggregateReports: 'reports',
};

/**
 * Around every step: its time and outcome as metrics, one line of log for each that fails, and law 1.
 * A refusal becomes a non-retryable failure that carries its code; anything else one that carries its
 * class and an id, under which the log tells more. An internal error is counted and recorded (law 11).
 */
export function activityInterceptor(log: Log, metrics: Metrics, faults: FaultRecord) {
  return ({ info, cancellationSignal }: Context): ActivityInterceptors => ({
    inbound: {
      async execute(input, next) {
        const start = performance.now();
        const observe = (outcome: 'ok' | 'refused' | 'failed') =>
          metrics.observeActivity({ activity: info.activityType, outcome, seconds: (performance.now() - start) / 1000 });
        const step = stepOf(info, input.args[0]);
        try {
          const result = await next(input);
          observe('ok');
          await faults.settled(step, info.attempt);
          return result;
        } catch (error) {
          observe(error instanceof Refusal ? 'refused' : 'failed');
          const where = {
            activity: info.activityType, attempt: info.attempt,
            workflowId: info.workflowExecution?.workflowId, runId: info.workflowExecution?.runId,
          };
          if (error instanceof TemporalFailure) throw error;
          if (error instanceof Refusal) {
            log.warn({ ...where, code: error.status }, 'a step was refused');
            await faults.settled(step, info.attempt);
            throw ApplicationFailure.nonRetryable(String(error.status), 'Refusal');
          }
          const errorId = randomUUID();
          const told = internalErrorOf(error);
          // A step that was told to end may fail in any way.
          if (isInternal(error, info.attempt) && !cancellationSignal.aborted) {
            log.error({ ...where, errorId, ...told }, 'a step failed');
            metrics.countInternalError({ kind: step.kind, step: step.step });
            await faults.failed(step, errorId);
          } else {
            log.warn({ ...where, errorId, ...told }, 'a step could not be done now');
          }
          throw ApplicationFailure.retryable(errorId, told.errorClass);
        }
      },
    },
  });
}

/** What a step works for, by the type of its workflow and its first argument. */
function stepOf(
  { activityType: step, workflowType = '' }: Pick<Context['info'], 'activityType' | 'workflowType'>, input: unknown,
): FailedStep {
  const job = jobKindOf(workflowType);
  if (job !== null && isRef(input)) return { entityId: input.entityId, kind: job, job: input.identifier, step };
  const flow = FLOWS_OF_ENTITIES[workflowType];
  if (flow !== undefined && typeof input === 'number') return { entityId: input, kind: flow, job: '', step };
  return { entityId: null, kind: 'upkeep', job: '', step };
}

function isRef(input: unknown): input is Pick<JobRef, 'entityId' | 'identifier'> {
  return typeof input === 'object' && input !== null && 'identifier' in input && 'entityId' in input;
}
