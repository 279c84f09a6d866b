import type { Client } from '@temporalio/client';
import { gdprWorkflowId } from '../../domain/jobs/workflow-id.ts';
import type { GdprRef, GdprRequestType } from '../../store/gdpr/request-record.ts';
import { startFlow } from '../jobs/start-flow.ts';

/** Starts the request's workflow. */
export function startGdprRequest(temporal: Client, ref: GdprRef, type: GdprRequestType): Promise<void> {
  return startFlow(temporal, type === 'access' ? 'gdprAccess' : 'gdprDelete', gdprWorkflowId(ref.identifier), ref);
}
