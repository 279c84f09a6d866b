/** Keeps Temporal ready for the service: its namespace and the sweep. */
import {
  type Client,
  type Connection,
  isGrpcServiceError,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import { setTimeout as delay } from 'node:timers/promises';
import { msToTs } from '@temporalio/common/lib/time.js';
import type { Log } from '../activities/dependencies.ts';
import { internalErrorOf } from '../domain/core/internal-error.ts';
import type { TaskQueue } from '../domain/jobs/workflow-id.ts';

/** gRPC status codes. */
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
/** How long Temporal keeps the histories of closed workflows. */
const RETENTION = msToTs('3 days');
/** Id of the schedule and of the workflows that it starts. */
export const SWEEP = 'sweep';
const FLOWS: TaskQueue = 'flows';

export type SupervisorOptions = { temporal: Client; log: Log; sweepSeconds: number };

/**
 * Supervises Temporal until `stopping`. Waits while it is out of reach, and says so once. `isReachable`: its state at
 * the start.
 */
export async function superviseTemporal(
  options: SupervisorOptions,
  stopping: AbortSignal,
  isReachable = true,
): Promise<void> {
  while (!stopping.aborted) {
    try {
      await ensureTemporal(options);
      isReachable = true;
    } catch (error) {
      if (isReachable) sayUnreachable(options, error);
      isReachable = false;
    }
    await delay(options.sweepSeconds * 1000, undefined, { signal: stopping }).catch(() => {});
  }
}

/** Logs one sentence without a stack: the address or Temporal is wrong. */
export function sayUnreachable({ temporal, log }: SupervisorOptions, error: unknown): void {
  const { errorClass, code } = internalErrorOf(error);
  const { address } = (temporal.connection as Connection).options;
  log.warn(
    { errorClass, code },
    `TEMPORAL_ADDRESS: there is no Temporal at ${address}; accepted work waits until there is`,
  );
}

/**
 * Registers the namespace and schedules the sweep, as the rows expect. Repeated every few seconds, because Temporal may
 * lose its database; the sweep does the rest.
 */
export async function ensureTemporal({ temporal, sweepSeconds }: SupervisorOptions): Promise<void> {
  await ensureNamespace(temporal);
  await ensureSweep(temporal, sweepSeconds);
}

/** Looks the namespace up first: a Temporal Cloud key may see it without the right to register one. */
async function ensureNamespace({ workflowService, options: { namespace } }: Client): Promise<void> {
  const isFound = await workflowService.describeNamespace({ namespace }).then(() => true, unlessStatus(NOT_FOUND));
  if (isFound) return;
  await workflowService
    .registerNamespace({ namespace, workflowExecutionRetentionPeriod: RETENTION })
    .catch(unlessStatus(ALREADY_EXISTS));
}

/** Ignores one gRPC status; throws any other error. */
function unlessStatus(status: number) {
  return (error: unknown): false => {
    if (isGrpcServiceError(error) && Number(error.code) === status) return false;
    throw error;
  };
}

/** Makes the schedule follow the configuration: one with another interval is replaced. */
async function ensureSweep(temporal: Client, everySeconds: number): Promise<void> {
  const handle = temporal.schedule.getHandle(SWEEP);
  try {
    const { spec } = await handle.describe();
    if (spec.intervals?.[0]?.every === everySeconds * 1000) return;
    await handle.delete();
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
  await temporal.schedule
    .create({
      scheduleId: SWEEP,
      spec: { intervals: [{ every: everySeconds * 1000 }] },
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
      action: { type: 'startWorkflow', workflowType: SWEEP, workflowId: SWEEP, taskQueue: FLOWS },
    })
    .catch((error: unknown) => {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error; // another process was first
    });
}
