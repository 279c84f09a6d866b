import type { Client } from '@temporalio/client';
import { startFlow } from './start-flow.ts';
import { importWorkflowId } from '../domain/workflow-id.ts';
import type { ImportRef } from '../store/across-entities.ts';

/** Starts the import's workflow. */
export function startImport(temporal: Client, ref: ImportRef): Promise<void> {
  return startFlow(temporal, 'importAttributes', importWorkflowId(ref.identifier), ref);
}
