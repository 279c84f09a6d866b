import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { importWorkflowId } from '../domain/workflow-id.ts';
import {
  deleteExpiredTokens, deleteImport, deleteRemains, listExpiredImports, listRunningImports, listUnclaimedImports,
  resetImport, type RunningImport,
} from '../store/across-entities.ts';
import { deleteOldAttempts } from '../store/login-attempts.ts';
import type { Needs } from './needs.ts';
import { startImport } from './start-import.ts';

/** A row younger than this is left to the request that is just starting its workflow. */
const GRACE_SECONDS = 5;

export type SweepSteps = ReturnType<typeof sweepSteps>;

export const sweepSteps = ({ db, files, temporal, log, boundary }: Needs) => ({
  /** Takes running rows back from workflows that Temporal does not know, or has closed. */
  async resetLostRuns(): Promise<void> {
    for (const run of await listRunningImports(db)) {
      if (await isAlive(temporal, run)) continue;
      if (await resetImport(db, run)) log.warn({ import: run.identifier, lostRun: run.runId }, 'a lost import starts again');
      boundary('sweep: between resets');
    }
  },

  /** Starts what was accepted and never began. */
  async startUnclaimed(): Promise<void> {
    for (const ref of await listUnclaimedImports(db, GRACE_SECONDS)) {
      await startImport(temporal, ref);
      boundary('sweep: between starts');
    }
  },

  /** Enforces retention: jobs and errors of more than a week, dead tokens, remains of deleted objects. */
  async deleteExpired(): Promise<void> {
    for (const expired of await listExpiredImports(db)) {
      await files.delete(expired.fileKey);
      boundary('sweep: between file and job');
      await deleteImport(db, expired);
    }
    await deleteRemains(db);
    await deleteExpiredTokens(db);
    await deleteOldAttempts(db);
  },
});

/** True while the very run that claimed the row is open. */
async function isAlive(temporal: Client, { identifier, runId }: RunningImport): Promise<boolean> {
  try {
    const { status, raw } = await temporal.workflow.getHandle(importWorkflowId(identifier)).describe();
    return status.name === 'RUNNING' && raw.workflowExecutionInfo?.firstRunId === runId;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
