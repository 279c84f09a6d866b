import { sourceRefusal } from '../../connectors/core/source-refusal.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { type JobClaim, JobGone } from '../../domain/jobs/job.ts';
import { write } from '../../store/core/database.ts';
import { insertExportRecords, listExportRecords } from '../../store/exports/export-files.ts';
import {
  type AttemptKey,
  isAttemptCurrent,
  keepKeyHash,
  raiseAttempt,
} from '../../store/exports/export-run-progress.ts';
import { lockExportRun } from '../../store/exports/export-runs.ts';
import { exportSession } from '../../store/exports/export-session.ts';
import { inSlot } from '../core/in-slot.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import { stopIfAsked } from '../core/stop-if-asked.ts';
import { noteWaitOf } from '../jobs/note-wait.ts';
import { openStepScope, type StepScope } from '../jobs/step-scope.ts';
import { waitOrFail } from '../jobs/wait-or-fail.ts';
import type { Dependencies } from '../dependencies.ts';
import { tellWhatIsLeft } from '../gdpr/tell-exporters.ts';
import { type Attempt, type OpenAttempt, writeHeld } from './attempt.ts';
import { cleanEnded, cleanRunsBefore } from './clean.ts';
import { endExportRun } from './export-end.ts';
import { findExportJob, typesOf } from './job.ts';
import { lookForLateRows } from './late.ts';
import { BUCKET_FINAL_TRIES, type OpenBucket, openBucketOf } from './open-bucket.ts';
import { publish } from './publish.ts';
import { writeType } from './type-files.ts';

/**
 * Writes what is left of a run into its bucket, and ends it. Null: there is nothing left to do, or the run has failed;
 * else when to try again.
 */
export function exportFiles(deps: Dependencies, claim: JobClaim): Promise<RetryAfter | null> {
  return inSlot(
    deps.takeExportSlot,
    claim.entityId,
    async () => {
      stopIfAsked(deps);
      const again = await exportInTurn(deps, claim);
      await cleanEnded(deps, claim);
      return again;
    },
    noteWaitOf(deps, 'export', claim),
  );
}

async function exportInTurn(deps: Dependencies, claim: JobClaim): Promise<RetryAfter | null> {
  const key = await beginAttempt(deps, claim);
  const job = key && (await findExportJob(deps, claim));
  if (!job) return null;
  // A process that drains still ends its file.
  const scope = openStepScope(() => isAttemptCurrent(deps.db, key));
  let open: OpenBucket | null = null;
  try {
    open = await openBucketOf(deps, job, scope.signal);
    await refuseAnotherKey(deps, { ...job, ...open, key });
    await exportAll(deps, { ...job, ...open, key, scope });
    return null;
  } catch (thrown) {
    return await afterError(deps, claim, thrown, { scope, open });
  } finally {
    open?.bucket.close();
    scope.close();
  }
}

type Opened = { scope: StepScope; open: OpenBucket | null };

async function afterError(
  deps: Dependencies,
  claim: JobClaim,
  thrown: unknown,
  { scope, open }: Opened,
): Promise<RetryAfter | null> {
  // An aborted call only says so; the scope knows why.
  const error: unknown = scope.signal.aborted ? scope.signal.reason : thrown;
  if (error instanceof JobGone) return moved(deps, claim);
  if (!(error instanceof Refusal)) throw error;
  return waitOrFail(
    deps,
    claim,
    error,
    { ...open?.secrets },
    {
      kind: 'export',
      lock: lockExportRun,
      finalTries: BUCKET_FINAL_TRIES,
      fail: (failure) => endExportRun(deps, claim, { failure }),
    },
  );
}

/** An attempt that Temporal had given up may have woken, and taken the run: then it is taken back from there. */
async function moved(deps: Dependencies, claim: JobClaim): Promise<RetryAfter | null> {
  return (await findExportJob(deps, claim))?.run.state === 'running' ? { againInMs: 1_000 } : null;
}

/**
 * Makes the run this attempt's, and its records where there are none; null where it has ended or is another workflow's.
 */
async function beginAttempt(deps: Dependencies, claim: JobClaim): Promise<AttemptKey | null> {
  const { entityId, jobId, generation } = claim;
  const job = await findExportJob(deps, claim);
  if (job?.run.state !== 'running') return null;
  const key = await write(deps.db, async (tx) => {
    const attempt = await raiseAttempt(tx, { entityId, jobId, generation });
    if (attempt === null) return null;
    await insertExportRecords(tx, entityId, jobId, typesOf(job.definition));
    return { entityId, jobId, generation, attempt };
  });
  if (key) deps.boundary('export: attempt begun');
  return key;
}

async function exportAll(deps: Dependencies, given: OpenAttempt): Promise<void> {
  await given.bucket.abortUnfinished(given.definition.folder);
  await cleanRunsBefore(deps, given);
  await tellWhatIsLeft(deps, given);
  const one = await exportSession(deps.db);
  try {
    const other = await exportSession(deps.db);
    try {
      await writeAll(deps, { ...given, sessions: [one.session, other.session] });
    } finally {
      other.release();
    }
  } finally {
    one.release();
  }
}

async function writeAll(deps: Dependencies, attempt: Attempt): Promise<void> {
  const { entityId, jobId } = attempt.key;
  for (const record of await listExportRecords(deps.db, entityId, [jobId])) {
    if (!record.isDone) await writeType(deps, attempt, record);
  }
  await lookForLateRows(deps, attempt);
  await publish(deps, attempt);
}

/**
 * One key encrypts all files of a run: readers have one, and no manifest tells which file has which. Refuses with
 * `source_refused` where the exporter has been given another one since the run's first attempt.
 */
async function refuseAnotherKey(
  deps: Dependencies,
  { key, run, secrets }: Pick<Attempt, 'key' | 'run' | 'secrets'>,
): Promise<void> {
  if (secrets.encryptionKey === null) return;
  const hash = deps.secrets.lookup(`export_runs/${run.exporterId}/${secrets.encryptionKey}`).toString('hex');
  const isSame = await writeHeld(deps, key, (tx) => keepKeyHash(tx, key, hash));
  if (!isSame)
    throw sourceRefusal('source_refused', 'The encryption_key was changed while the run was under way: run it again');
}
