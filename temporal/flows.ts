// Starts, signals and describes workflows.
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { type JobKind, type JobRef, jobWorkflow, jobWorkflowId } from '../domain/jobs/job.ts';
import {
  FEED_ARRIVED,
  feedWorkflowId,
  GDPR_HOLDS_CHANGED,
  reportsWorkflowId,
  SEGMENTS_DUE,
  segmentsWorkflowId,
  SEND_CANCELED,
  type TaskQueue,
} from '../domain/jobs/workflow-id.ts';
import type { Database } from '../store/core/database.ts';
import type { DataExporter } from '../store/exports/data-exporter-record.ts';
import type { SendRef } from '../store/sends/sends.ts';
import type { Sync } from '../store/syncs/sync-record.ts';
import { followExporter, followSync } from './schedules.ts';

const QUEUE: TaskQueue = 'flows';

export type Flows = ReturnType<typeof flowsOver>;

/** Returns what requests ask of Temporal. Calls fail after `withinMs`: no request waits while Temporal is away. */
export function flowsOver({ db, temporal }: { db: Database; temporal: Client }, withinMs: number) {
  const within = (call: () => Promise<void>) => temporal.connection.withDeadline(Date.now() + withinMs, call);
  return {
    startJob: (kind: JobKind, ref: JobRef) => within(() => startJob(temporal, kind, ref)),
    cancelSend: (ref: SendRef) => within(() => cancelSend(temporal, ref)),
    wakeFeed: (entityId: number) => within(() => wakeFeed(temporal, entityId)),
    wakeSegments: (entityId: number) => within(() => wakeSegments(temporal, entityId)),
    tellHoldsChanged: (requests: readonly string[]) => within(() => tellHoldsChanged(temporal, requests)),
    followExporter: (exporter: DataExporter) => within(() => followExporter({ db, temporal }, exporter)),
    followSync: (sync: Sync) => within(() => followSync({ db, temporal }, sync)),
  };
}

/** Starts the workflow of a job, unless it is running. */
export function startJob(temporal: Client, kind: JobKind, ref: JobRef): Promise<void> {
  return start(temporal, jobWorkflow(kind), jobWorkflowId(kind, ref.identifier), ref);
}

export function startReports(temporal: Client, entityId: number): Promise<void> {
  return start(temporal, 'aggregateReports', reportsWorkflowId(entityId), entityId);
}

/** Wakes the workflow of a send that is canceled, and starts it if it is not running. */
export function cancelSend(temporal: Client, { kind, ...ref }: SendRef): Promise<void> {
  return signal(temporal, jobWorkflow(kind), jobWorkflowId(kind, ref.identifier), ref, SEND_CANCELED);
}

export function wakeFeed(temporal: Client, entityId: number): Promise<void> {
  return signal(temporal, 'feedAttributes', feedWorkflowId(entityId), entityId, FEED_ARRIVED);
}

export function wakeSegments(temporal: Client, entityId: number): Promise<void> {
  return signal(temporal, 'refreshSegments', segmentsWorkflowId(entityId), entityId, SEGMENTS_DUE);
}

/** Signals the workflows of these requests that holds were released; skips those that are over. */
export async function tellHoldsChanged(temporal: Client, requests: readonly string[]): Promise<void> {
  for (const identifier of requests) {
    await temporal.workflow
      .getHandle(jobWorkflowId('delete', identifier))
      .signal(GDPR_HOLDS_CHANGED)
      .catch((error: unknown) => {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      });
  }
}

/** Returns whether the very workflow run that claimed a job is open. */
export async function isJobHeld(
  temporal: Client,
  kind: JobKind,
  { identifier, workflowRunId }: { identifier: string; workflowRunId: string },
): Promise<boolean> {
  try {
    const { status, raw } = await temporal.workflow.getHandle(jobWorkflowId(kind, identifier)).describe();
    return status.name === 'RUNNING' && raw.workflowExecutionInfo?.firstRunId === workflowRunId;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

async function start(temporal: Client, workflow: string, workflowId: string, input: unknown): Promise<void> {
  await temporal.workflow.start(workflow, {
    workflowId,
    taskQueue: QUEUE,
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  });
}

async function signal(
  temporal: Client,
  workflow: string,
  workflowId: string,
  input: unknown,
  name: string,
): Promise<void> {
  await temporal.workflow.signalWithStart(workflow, {
    workflowId,
    taskQueue: QUEUE,
    args: [input],
    signal: name,
    signalArgs: [],
  });
}
