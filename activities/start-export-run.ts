import type { Client } from '@temporalio/client';
import { startFlow } from './start-flow.ts';
import { exportRunWorkflowId } from '../domain/workflow-id.ts';
import type { RunRef } from '../store/sync-runs.ts';

/** Starts the run's workflow. */
export function startExportRun(temporal: Client, ref: RunRef): Promise<void> {
  return startFlow(temporal, 'exportDaily', exportRunWorkflowId(ref.identifier), ref);
}
