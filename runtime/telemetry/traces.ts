import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { ActivityInterceptorsFactory, WorkerOptions } from '@temporalio/worker';
import type { TraceRequest } from '../../server/http/request-trace.ts';

/** Joins into one trace a request, the workflow it starts and the steps of that. */
export type Traces = {
  traceRequest: TraceRequest;
  client: WorkflowClientInterceptor[];
  activities: ActivityInterceptorsFactory[];
  /** Where workflows, which have no way out of their own, hand over their spans. */
  sinks: NonNullable<WorkerOptions['sinks']>;
  /** Sends what is left, within some seconds. */
  close(): Promise<void>;
};
