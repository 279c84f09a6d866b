import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { ActivityInterceptorsFactory, WorkerOptions } from '@temporalio/worker';
import type { TraceRequest } from '../../server/http/request-trace.ts';

/** Joins a request, the workflow that it starts and the workflow's steps in one trace. */
export type Traces = {
  traceRequest: TraceRequest;
  client: WorkflowClientInterceptor[];
  activities: ActivityInterceptorsFactory[];
  /** Takes the spans of workflows, which have no I/O of their own. */
  sinks: NonNullable<WorkerOptions['sinks']>;
  close(): Promise<void>;
};
