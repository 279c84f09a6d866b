import {
  type Client,
  isGrpcServiceError,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import type { Log } from '../activities/dependencies.ts';
import type { TaskQueue } from '../domain/jobs/workflow-id.ts';

/** gRPC status codes. */
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
/** How long Temporal keeps the histories of closed workflows. */
const RETENTION = msToTs('3 days');
/** The id of the schedule, and of what it starts. */
export const SWEEP = 'sweep';
const FLOWS: TaskQueue = 'flows';

export type SupervisorOptions = { temporal: Client; log: Log; sweepSeconds: number };

/**
 * Makes Temporal what the rows expect: the namespace is registered and the sweep is scheduled. Temporal
 * may have lost its database, so this is looked at again every few seconds; the sweep does the rest.
 */
export async function ensureTemporal({ temporal, sweepSeconds }: SupervisorOptions): Promise<void> {
  await ensureNamespace(temporal);
  await ensureSweep(temporal, sweepSeconds);
}

/** Looked up first: a Temporal Cloud key may see its namespace and yet register none. */
async function ensureNamespace({ workflowService, options: { namespace } }: Client): Promise<void> {
  const isFound = await workflowService.describeNamespace({ namespace }).then(() => true, unlessStatus(NOT_FOUND));
  if (isFound) return;
  await workflowService
    .registerNamespace({ namespace, workflowExecutionRetentionPeriod: RETENTION })
    .catch(unlessStatus(ALREADY_EXISTS));
}

/** Passes over one gRPC status; any other error goes on. */
function unlessStatus(status: number) {
  return (error: unknown): false => {
    if (isGrpcServiceError(error) && Number(error.code) === status) return false;
    throw error;
  };
}

/** The schedule follows the configuration: one that runs at another pace is replaced. */
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
