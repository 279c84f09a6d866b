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
const RETENTION = msToTs('3 days');
export const SWEEP = 'sweep';
const FLOWS: TaskQueue = 'flows';

export type SupervisorOptions = { temporal: Client; log: Log; sweepSeconds: number };

/** Supervises Temporal until `stopping`. Says once that it is out of reach. `isReachable`: at the start. */
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

export function sayUnreachable({ temporal, log }: SupervisorOptions, error: unknown): void {
  const { errorClass, code } = internalErrorOf(error);
  const { address } = (temporal.connection as Connection).options;
  log.warn(
    { errorClass, code },
    `TEMPORAL_ADDRESS: there is no Temporal at ${address}; accepted work waits until there is`,
  );
}

/** Registers the namespace and schedules the sweep. Repeated, because Temporal may lose its database. */
export async function ensureTemporal({ temporal, sweepSeconds }: SupervisorOptions): Promise<void> {
  await ensureNamespace(temporal);
  await ensureSweep(temporal, sweepSeconds);
}

/** Looks the namespace up first: a Temporal Cloud key may lack the right to register one. */
async function ensureNamespace({ workflowService, options: { namespace } }: Client): Promise<void> {
  const isFound = await workflowService.describeNamespace({ namespace }).then(() => true, unlessStatus(NOT_FOUND));
  if (isFound) return;
  await workflowService
    .registerNamespace({ namespace, workflowExecutionRetentionPeriod: RETENTION })
    .catch(unlessStatus(ALREADY_EXISTS));
}

function unlessStatus(status: number) {
  return (error: unknown): false => {
    if (isGrpcServiceError(error) && Number(error.code) === status) return false;
    throw error;
  };
}

/** Replaces a schedule with another interval. */
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
