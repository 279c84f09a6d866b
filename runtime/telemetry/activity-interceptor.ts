/** Wraps every step: metrics, one log line for each failure, and errors without values (law 1). */
import type { Context } from '@temporalio/activity';
import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import type { ActivityInterceptors } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import type { Log } from '../../activities/dependencies.ts';
import { internalErrorOf, isInternal } from '../../domain/core/internal-error.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { TooManyWait } from '../../domain/core/semaphore.ts';
import type { InternalErrorKind } from '../../domain/jobs/attention.ts';
import { jobKindOf, type JobRef } from '../../domain/jobs/job.ts';
import type { Database } from '../../store/core/database.ts';
import {
  type FailedStep,
  deleteInternalError,
  listFailedSteps,
  upsertInternalError,
} from '../../store/jobs/internal-errors.ts';
import type { JobStep } from '../../store/jobs/step-attempts.ts';
import type { Metrics } from './metrics.ts';

/** Flows without jobs: the input of their steps is an entity's id. */
const FLOWS_OF_ENTITIES: Record<string, InternalErrorKind> = {
  feedAttributes: 'feed',
  refreshSegments: 'segments',
  aggregateReports: 'reports',
};

export type Watch = {
  faults: FaultRecord;
  attempts: StepAttempts;
  /** Ends the job of a step that kills its process. Returns true if its workflow continues, to mail the end. */
  giveUp(job: JobStep, step: string, reason: string): Promise<boolean>;
};

const NEXT_TURN_MS = 2_000;

function sayGivenUp(step: string, { kind, location }: JobStep, errorId: string): string {
  const name = location === undefined ? step : `${step} (${location})`;
  const orStopped = kind === 'sync' ? ', or stopped answering,' : '';
  return `an error in Millrace: the step ${name} ended its process several times${orStopped} without progress (error ${errorId})`;
}

/**
 * Wraps every step: measures it, logs each failure, and keeps values out of errors (law 1). A refusal becomes a
 * non-retryable failure with its code; any other error one with its class and an id, under which the log says more. An
 * internal error is counted and recorded, and a job ends if one of its steps keeps killing its process (law 11).
 */
export function activityInterceptor(log: Log, metrics: Metrics, { faults, attempts, giveUp }: Watch) {
  const giveUpStep = async (step: FailedStep, jobStep: JobStep): Promise<null> => {
    const errorId = randomUUID();
    log.error(
      { activity: step.step, [step.kind]: step.job, errorId },
      'a step killed its process again and again, and is given up',
    );
    metrics.countInternalError({ kind: step.kind, step: step.step });
    await faults.gaveUp(step, errorId);
    const reason = sayGivenUp(step.step, jobStep, errorId);
    const doesFlowContinue = await giveUp(jobStep, step.step, reason);
    await attempts.ended(jobStep, 'given up');
    if (doesFlowContinue) return null;
    throw ApplicationFailure.nonRetryable('request_gone', 'Refusal');
  };
  return ({ info, cancellationSignal }: Context): ActivityInterceptors => ({
    inbound: {
      async execute({ args: given, headers }, next) {
        const args = given.map(withJobId);
        const start = performance.now();
        const observe = (outcome: 'ok' | 'refused' | 'failed') =>
          metrics.observeActivity({
            activity: info.activityType,
            outcome,
            seconds: (performance.now() - start) / 1000,
          });
        const step = stepOf(info, args[0]);
        const jobStep = jobStepOf(step, info, args[1]);
        const verdict = jobStep === null ? 'runs' : await attempts.begin(jobStep);
        if (verdict === 'waits') throw waits();
        try {
          if (verdict === 'given up') return await giveUpStep(step, jobStep!);
          const result = await next({ args, headers });
          observe('ok');
          if (jobStep) await attempts.ended(jobStep, 'done');
          await faults.settled(step, info.attempt);
          return result;
        } catch (error) {
          const isWaiting = error instanceof TooManyWait;
          if (!isWaiting) observe(error instanceof Refusal ? 'refused' : 'failed');
          if (jobStep && verdict === 'runs')
            await attempts.ended(jobStep, error instanceof Refusal ? 'done' : 'failed');
          const where = {
            activity: info.activityType,
            attempt: info.attempt,
            workflowId: info.workflowExecution?.workflowId,
            runId: info.workflowExecution?.runId,
          };
          if (isWaiting) throw waits();
          if (error instanceof TemporalFailure) throw error;
          if (error instanceof Refusal) {
            log.warn({ ...where, code: error.status }, 'a step was refused');
            await faults.settled(step, info.attempt);
            throw ApplicationFailure.nonRetryable(String(error.status), 'Refusal');
          }
          const errorId = randomUUID();
          const shown = internalErrorOf(error);
          // A canceled step may fail in any way.
          if (isInternal(error, info.attempt) && !cancellationSignal.aborted) {
            log.error({ ...where, errorId, ...shown }, 'a step failed');
            metrics.countInternalError({ kind: step.kind, step: step.step });
            await faults.failed(step, errorId);
          } else {
            log.warn({ ...where, errorId, ...shown }, 'a step could not be done now');
          }
          throw ApplicationFailure.retryable(errorId, shown.errorClass);
        }
      },
    },
  });
}

/** Returns a step's job or flow, by its workflow's type and first argument. */
function stepOf(
  { activityType: step, workflowType = '' }: Pick<Context['info'], 'activityType' | 'workflowType'>,
  input: unknown,
): FailedStep {
  const job = jobKindOf(workflowType);
  if (job !== null && isRef(input)) return { entityId: input.entityId, kind: job, job: input.identifier, step };
  const flow = FLOWS_OF_ENTITIES[workflowType];
  if (flow !== undefined && typeof input === 'number') return { entityId: input, kind: flow, job: '', step };
  return { entityId: null, kind: 'upkeep', job: '', step };
}

function waits(): ApplicationFailure {
  return ApplicationFailure.create({ type: 'Waits', nonRetryable: false, nextRetryDelay: NEXT_TURN_MS });
}

/** Returns null without a job. A step with limited attempts erases a location, its second argument. */
function jobStepOf(
  { entityId, job, step }: FailedStep,
  {
    workflowType = '',
    workflowExecution,
    activityId,
    attempt,
    retryPolicy,
  }: Pick<Context['info'], 'workflowType' | 'workflowExecution' | 'activityId' | 'attempt' | 'retryPolicy'>,
  location: unknown,
): JobStep | null {
  const kind = jobKindOf(workflowType);
  if (kind === null || entityId === null) return null;
  const isOfLocation = (retryPolicy?.maximumAttempts ?? 0) > 0 && typeof location === 'string';
  return isOfLocation
    ? { entityId, kind, job, activity: `${step}/${location}`, attempt, location }
    : { entityId, kind, job, activity: `${workflowExecution?.runId ?? ''}/${activityId}`, attempt };
}

/** Renames the id of old workflows (`runId`, `importId`), which hand on inputs unread. No other place does. */
function withJobId(input: unknown): unknown {
  if (!isRef(input)) return input;
  const { runId, importId, ...rest }: Record<string, unknown> = input;
  const jobId = runId ?? importId;
  return jobId === undefined ? input : { ...rest, jobId };
}

function isRef(input: unknown): input is Pick<JobRef, 'entityId' | 'identifier'> {
  return typeof input === 'object' && input !== null && 'identifier' in input && 'entityId' in input;
}

/** Records internal errors of steps and requests in the database while they last (law 11). */
type FaultRecord = {
  failed(step: FailedStep, id: string): Promise<void>;
  /** Records a step that is not retried by itself. */
  gaveUp(step: FailedStep, id: string): Promise<void>;
  /** Ends a failure, after success or another reason. */
  settled(step: FailedStep, attempt: number): Promise<void>;
};

const LOOK_EVERY_MS = 10_000;

/** Records errors. Without the database only the log has them, until the next attempt. */
export function faultRecord(db: Database, log: Log): FaultRecord {
  let open = new Set<string>();
  let lookedAt = -Infinity;
  const unlessAway = (work: () => Promise<void>) =>
    work().catch((error: unknown) => log.warn({ ...internalErrorOf(error) }, 'internal errors are not recorded now'));
  return {
    failed: (step, id) =>
      unlessAway(async () => {
        open.add(keyOf(step));
        await upsertInternalError(db, step, id);
      }),
    gaveUp: (step, id) => unlessAway(() => upsertInternalError(db, step, id, true)),
    settled: (step, attempt) =>
      unlessAway(async () => {
        if (performance.now() - lookedAt > LOOK_EVERY_MS) {
          lookedAt = performance.now();
          open = new Set((await listFailedSteps(db)).map(keyOf));
        }
        // An earlier attempt may have failed in another process.
        if (!open.delete(keyOf(step)) && attempt === 1) return;
        await deleteInternalError(db, step);
      }),
  };
}

function keyOf({ entityId, kind, job, step }: FailedStep): string {
  return JSON.stringify([entityId, kind, job, step]);
}

/** Finds steps that kill their process (law 11). A first success costs nothing, the erasure of a location one query. */
export type StepAttempts = {
  /** `waits`: another suspected step is running. */
  begin(step: JobStep): Promise<'runs' | 'waits' | 'given up'>;
  ended(step: JobStep, outcome: 'done' | 'failed' | 'given up'): Promise<void>;
  close(): Promise<void>;
};
