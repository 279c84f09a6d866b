import type { Client } from '@temporalio/client';
import { startFlow } from './start-flow.ts';
import { gdprWorkflowId } from '../domain/workflow-id.ts';
import type { GdprRef, GdprRequestType } from '../store/gdpr/request-record.ts';

/** Starts the request's workflow. */
export function startGdprRequest(temporal: Client, ref: GdprRef, type: GdprRequestType): Promise<void> {
  return startFlow(temporal, type === 'access' ? 'gdprAccess' : 'gdprDelete', gdprWorkflowId(ref.identifier), ref);
}
