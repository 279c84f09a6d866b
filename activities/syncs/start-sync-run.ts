import type { Client } from '@temporalio/client';
import { syncRunWorkflowId } from '../../domain/jobs/workflow-id.ts';
import type { RunRef } from '../../store/syncs/sync-runs.ts';
import { startFlow } from '../jobs/start-flow.ts';

/** Starts the run's workflow. */
export function startSyncRun(temporal: Client, ref: RunRef): Promise<void> {
  return startFlow(temporal, 'runSync', syncRunWorkflowId(ref.identifier), ref);
}
