import type { Client } from '@temporalio/client';
import { exportRunWorkflowId } from '../../domain/jobs/workflow-id.ts';
import type { RunRef } from '../../store/syncs/sync-runs.ts';
import { startFlow } from '../jobs/start-flow.ts';

/** Starts the run's workflow. */
export function startExportRun(temporal: Client, ref: RunRef): Promise<void> {
  return startFlow(temporal, 'exportDaily', exportRunWorkflowId(ref.identifier), ref);
}
