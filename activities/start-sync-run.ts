import type { Client } from '@temporalio/client';
import { startFlow } from './start-flow.ts';
import { syncRunWorkflowId } from '../domain/workflow-id.ts';
import type { RunRef } from '../store/sync-runs.ts';

/** Starts the run's workflow. */
export function startSyncRun(temporal: Client, ref: RunRef): Promise<void> {
  return startFlow(temporal, 'runSync', syncRunWorkflowId(ref.identifier), ref);
}
