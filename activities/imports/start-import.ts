import type { Client } from '@temporalio/client';
import { importWorkflowId } from '../../domain/jobs/workflow-id.ts';
import type { ImportRef } from '../../store/jobs/across-entities.ts';
import { startFlow } from '../jobs/start-flow.ts';

/** Starts the import's workflow. */
export function startImport(temporal: Client, ref: ImportRef): Promise<void> {
  return startFlow(temporal, 'importAttributes', importWorkflowId(ref.identifier), ref);
}
