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
import type { JobStep } from '../../store/jobs/step-attempts.ts';
import type { StepAttempts } from '../step-attempts.ts';
import type { FaultRecord } from './fault-record.ts';
import type { Metrics } from './metrics.ts';

/** Flows that are no jobs: each has the id of an entity as the input of its steps. */
const FLOWS_OF_ENTITIES: Record<string, InternalErrorKind> = {
  feedAttributes: 'feed', refreshSegments: 'segments', aggregateReports: 'reports',
};

/** What steps are watched with. `giveUp` ends the job of a step that kills its process. */
export type Watch = { faults: FaultRecord; attempts: StepAttempts; giveUp(step: JobStep, reason: string): Promise<void> };

/** How soon a step looks again whether it may run alone. */
const NEXT_TURN_MS = 2_000;

/**
 * Around every step: its time and outcome as metrics, one line of log for each that fails, and law 1.
 * A refusal becomes a non-retryable failure that carries its code; anything else one that carries its
 * class and an id, under which the log tells more. An internal error is counted and recorded, and a job ends of which a step
 * kills its process again and again (law 11).
 */
export function activityInterceptor(log: Log, metrics: Metrics, { faults, attempts, giveUp }: Watch) {
  const giveUpStep = async (step: FailedStep, jobStep: JobStep): Promise<never> => {
    const errorId = randomUUID();
    log.error({ activity: step.step, [step.kind]: step.job, errorId }, 'a step killed its process again and again, and is given up');
    metrics.countInternalError({ kind: step.kind, step: step.step });
    await faults.failed(step, errorId);
    await giveUp(jobStep, `an error in Millrace: the step ${step.step} ended its process several times (error ${errorId})`);
    await attempts.ended(jobStep, 'done');
    throw ApplicationFailure.nonRetryable('request_gone', 'Refusal');
  };
  return ({ info, cancellationSignal }: Context): ActivityInterceptors => ({
    inbound: {
      async execute(input, next) {
        const start = performance.now();
        const observe = (outcome: 'ok' | 'refused' | 'failed') =>
          metrics.observeActivity({ activity: info.activityType, outcome, seconds: (performance.now() - start) / 1000 });
        const step = stepOf(info, input.args[0]);
        const jobStep = jobStepOf(step, info);
        if (jobStep) {
          const verdict = await attempts.begin(jobStep);
          if (verdict === 'waits') throw ApplicationFailure.create({ type: 'Waits', nonRetryable: false, nextRetryDelay: NEXT_TURN_MS });
          if (verdict === 'given up') await giveUpStep(step, jobStep);
        }
        try {
          const result = await next(input);
          observe('ok');
          if (jobStep) await attempts.ended(jobStep, 'done');
          await faults.settled(step, info.attempt);
          return result;
        } catch (error) {
          observe(error instanceof Refusal ? 'refused' : 'failed');
          if (jobStep) await attempts.ended(jobStep, error instanceof Refusal ? 'done' : 'failed');
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

/** Null for a step that works for no job. */
function jobStepOf(
  { entityId, job }: FailedStep,
  { workflowType = '', workflowExecution, activityId, attempt }: Pick<Context['info'],
    'workflowType' | 'workflowExecution' | 'activityId' | 'attempt'>,
): JobStep | null {
  const kind = jobKindOf(workflowType);
  if (kind === null || entityId === null) return null;
  return { entityId, kind, job, activity: `${workflowExecution?.runId ?? ''}/${activityId}`, attempt };
}

function isRef(input: unknown): input is Pick<JobRef, 'entityId' | 'identifier'> {
  return typeof input === 'object' && input !== null && 'identifier' in input && 'entityId' in input;
}
