import { Context } from '@temporalio/activity';
import { Refusal } from '../../domain/core/refusal.ts';
import { write } from '../../store/core/database.ts';
import { insertExportRecords, listExportRecords } from '../../store/exports/export-files.ts';
import { type AttemptKey, raiseAttempt } from '../../store/exports/export-run-progress.ts';
import { exportSession } from '../../store/exports/export-session.ts';
import type { Again } from '../core/again.ts';
import { tellWhatIsLeft } from '../gdpr/tell-exporters.ts';
import type { Needs } from '../needs.ts';
import { type AttemptScope, ExportGone, openAttemptScope } from './attempt-scope.ts';
import type { Attempt, OpenAttempt } from './attempt.ts';
import type { ExportClaim } from './claim.ts';
import { cleanEnded, cleanRunsBefore } from './clean.ts';
import { waitOrFailExport } from './fault.ts';
import { findExportJob, typesOf } from './job.ts';
import { lookForLateRows } from './late.ts';
import { type OpenBucket, openBucketOf } from './open-bucket.ts';
import { publish } from './publish.ts';
import { refuseAnotherKey } from './same-key.ts';
import { writeType } from './type-files.ts';

/**
 * Writes what is left of a run into its bucket, and ends it. Null: there is nothing left to do, or the run has failed; else
 * when to try again.
 */
export async function exportFiles(needs: Needs, claim: ExportClaim): Promise<Again | null> {
  const endTurn = await needs.exportTurn();
  try {
    Context.current().cancellationSignal.throwIfAborted();
    needs.draining.throwIfAborted();
    const again = await exportInTurn(needs, claim);
    await cleanEnded(needs, claim);
    return again;
  } finally {
    endTurn();
  }
}

async function exportInTurn(needs: Needs, claim: ExportClaim): Promise<Again | null> {
  const key = await beginAttempt(needs, claim);
  const job = key && await findExportJob(needs, claim);
  if (!job) return null;
  const scope = openAttemptScope(needs, key);
  let open: OpenBucket | null = null;
  try {
    open = await openBucketOf(needs, job, scope.signal);
    await refuseAnotherKey(needs, { ...job, ...open, key });
    await exportAll(needs, { ...job, ...open, key, scope });
    return null;
  } catch (thrown) {
    return await afterFault(needs, claim, thrown, { scope, open });
  } finally {
    open?.bucket.close();
    scope.close();
  }
}

type Opened = { scope: AttemptScope; open: OpenBucket | null };

async function afterFault(needs: Needs, claim: ExportClaim, thrown: unknown, { scope, open }: Opened): Promise<Again | null> {
  // What was aborted tells that alone; why, the scope knows.
  const error: unknown = scope.signal.aborted ? scope.signal.reason : thrown;
  if (error instanceof ExportGone) return moved(needs, claim);
  if (error instanceof Refusal) return waitOrFailExport(needs, claim, error, open && open.secrets);
  throw error;
}

/** An attempt that Temporal had given up may have woken, and taken the run: then it is taken back from there. */
async function moved(needs: Needs, claim: ExportClaim): Promise<Again | null> {
  return (await findExportJob(needs, claim))?.run.state === 'running' ? { againInMs: 1_000 } : null;
}

/** Makes the run this attempt's, and its records where there are none; null where it has ended or is another workflow's. */
async function beginAttempt(needs: Needs, claim: ExportClaim): Promise<AttemptKey | null> {
  const { entityId, runId, generation } = claim;
  const job = await findExportJob(needs, claim);
  if (job?.run.state !== 'running') return null;
  const key = await write(needs.db, async (tx) => {
    const attempt = await raiseAttempt(tx, { entityId, runId, generation });
    if (attempt === null) return null;
    await insertExportRecords(tx, entityId, runId, typesOf(job.definition));
    return { entityId, runId, generation, attempt };
  });
  if (key) needs.boundary('export: attempt begun');
  return key;
}

async function exportAll(needs: Needs, given: OpenAttempt): Promise<void> {
  await given.bucket.abortUnfinished(given.definition.folder);
  await cleanRunsBefore(needs, given);
  await tellWhatIsLeft(needs, given);
  const one = await exportSession(needs.db);
  try {
    const other = await exportSession(needs.db);
    try {
      await writeAll(needs, { ...given, sessions: [one.session, other.session] });
    } finally {
      other.release();
    }
  } finally {
    one.release();
  }
}

async function writeAll(needs: Needs, attempt: Attempt): Promise<void> {
  const { entityId, runId } = attempt.key;
  for (const record of await listExportRecords(needs.db, entityId, [runId])) {
    if (!record.isDone) await writeType(needs, attempt, record);
  }
  await lookForLateRows(needs, attempt);
  await publish(needs, attempt);
}
