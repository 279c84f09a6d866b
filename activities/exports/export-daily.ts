/** Steps of an export run: claims it, writes its files into the bucket, ends it, and sends its alerts. */
import { sourceRefusal } from '../../connectors/core/source-refusal.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import {
  APPEND_ONLY,
  EXPORT_DATA_TYPES,
  exportDataType,
  type ExportDataType,
} from '../../domain/exports/export-data-type.ts';
import { exportMail, type ExportReport } from '../../domain/exports/export-mail.ts';
import type { ExportAlert } from '../../domain/exports/exporter.ts';
import { type JobClaim, JobGone, type JobKey, type JobRef } from '../../domain/jobs/job.ts';
import { findUser } from '../../store/accounts/users.ts';
import { write } from '../../store/core/database.ts';
import { findWindowOpenMs } from '../../store/core/open-window.ts';
import type { DataExporter } from '../../store/exports/data-exporter-record.ts';
import {
  type ExportRecord,
  insertExportRecords,
  listExportRecords,
  updateLateRows,
} from '../../store/exports/export-files.ts';
import {
  addLateRowsFound,
  type AttemptKey,
  isAttemptCurrent,
  keepKeyHash,
  listLastWindows,
  raiseAttempt,
} from '../../store/exports/export-run-progress.ts';
import type { ExportDefinition, ExportRun } from '../../store/exports/export-run-record.ts';
import { countExportedRows, exportRuns, findExportRunById, listLateRows } from '../../store/exports/export-runs.ts';
import { exportSession } from '../../store/exports/export-session.ts';
import { countLate } from '../../store/exports/export-sources.ts';
import { listJobIdentifiers } from '../../store/jobs/jobs.ts';
import { heartbeating, stopIfAsked } from '../core/heartbeat.ts';
import { inSlot } from '../core/in-slot.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { tellWhatIsLeft } from '../gdpr/tell-exporters.ts';
import { noteWaitOf } from '../jobs/note-wait.ts';
import { claimRun, sendRunAlerts, startNextRun, waitOrFail } from '../jobs/runs.ts';
import { openStepScope, type StepScope } from '../jobs/step-scope.ts';
import {
  type Attempt,
  BUCKET_FINAL_TRIES,
  findExportJob,
  type OpenAttempt,
  type OpenBucket,
  openBucketOf,
  writeHeld,
} from './attempt.ts';
import { endExportRun } from './export-end.ts';
import { cleanEnded, cleanRunsBefore, publish } from './publish.ts';
import { scopeOf } from './source.ts';
import { writeType } from './type-files.ts';

export type ExportDailySteps = ReturnType<typeof exportDailySteps>;

export const exportDailySteps = (deps: Dependencies) => ({
  /** Claims a run with its window, as `claimRun`. `isCovered`: there is nothing to be written. */
  async claimExport(ref: JobRef, workflowRunId: string): Promise<(JobClaim & { isCovered: boolean }) | null> {
    const run = await claimRun(deps, exportRuns, ref, workflowRunId);
    return run && { ...ref, generation: run.generation, isCovered: run.isCovered };
  },

  /**
   * Returns when to look again; null once no transaction can write into the window. A backfill exports what there is.
   */
  async windowClosed({ entityId, jobId }: JobClaim): Promise<RetryAfter | null> {
    const run = await findExportRunById(deps.db, entityId, jobId);
    if (run?.state !== 'running' || run.window.kind === 'happened') return null;
    const openMs = await findWindowOpenMs(deps.db, run.window.end);
    return openMs > 0 ? { againInMs: openMs } : null;
  },

  /** Writes the rest of the run, and ends it. Returns when to retry; null if it is over. */
  exportFiles: (claim: JobClaim): Promise<RetryAfter | null> => heartbeating(() => exportFiles(deps, claim)),

  /** Ends a run without files and starts the one that waits for it. Returns whether there are alerts to send. */
  async endExport(claim: JobClaim): Promise<{ mails: boolean }> {
    const { entityId, jobId, generation } = claim;
    const run = await findExportRunById(deps.db, entityId, jobId);
    if (run?.isCovered) await endExportRun(deps, { entityId, jobId, generation }, { failure: null });
    if (run?.state === 'canceled') deps.countExportRuns('canceled');
    return startNextRun(deps, exportRuns, run, claim);
  },

  mailExportAlert: (claim: JobClaim): Promise<RetryAfter | null> => heartbeating(() => mailExportAlert(deps, claim)),
});

/** Sends the mail and the alerts about a run to the addresses, or else the user who made it, and the connections. */
export function mailExportAlert(deps: Dependencies, ref: Omit<JobKey, 'generation'>): Promise<RetryAfter | null> {
  return sendRunAlerts(deps, exportRuns, ref, async (exporter, run, common) => {
    const { notifyEmails, notifyConnections: connections } = exporter;
    const to = notifyEmails.length > 0 ? notifyEmails : await makerOf(deps, exporter);
    const report = await reportOf(deps, exporter, run, common);
    return { to, connections, report, mail: exportMail(report) };
  });
}

async function makerOf({ db }: Dependencies, { createdBy }: DataExporter): Promise<string[]> {
  const user = createdBy && (await findUser(db, createdBy.id));
  return user ? [user.email] : [];
}

async function reportOf(
  { db, publicUrl }: Dependencies,
  exporter: DataExporter,
  run: ExportRun & { alert: ExportAlert },
  common: Pick<ExportReport, 'runId' | 'failure' | 'startedAt' | 'endedAt'>,
): Promise<ExportReport> {
  const { entityId, id, cause, alert, days, window, startedAt, receivedAt } = run;
  const late = alert === 'late' ? await listLateRows(db, entityId, exporter.id, startedAt ?? receivedAt) : [];
  return {
    ...common,
    exporterId: exporter.identifier,
    cause,
    alert,
    window: sayWindow(window),
    days,
    rows: await countExportedRows(db, entityId, id),
    isPaused: exporter.paused !== null,
    rerunOf: await identifierOf(db, run),
    late: late.map(({ runIdentifier, dataType, rows, ...of }) => ({
      runId: runIdentifier,
      window: sayWindow(of.window),
      type: dataType,
      rows,
    })),
    link: `${publicUrl}/api/data_exporters/${exporter.identifier}/runs/${common.runId}`,
  };
}

/** Returns the identifier of the run whose window it exports again. */
async function identifierOf(db: Dependencies['db'], { entityId, rerunOf }: ExportRun): Promise<string | null> {
  return rerunOf === null ? null : ((await listJobIdentifiers(db, 'export', entityId, [rerunOf])).get(rerunOf) ?? null);
}

function sayWindow({ start, end }: ExportRun['window']): ExportReport['window'] {
  return { start: start?.toISOString() ?? null, end: end.toISOString() };
}

/** Writes the rest of a run into its bucket and ends it. Returns when to retry; null if it is over. */
function exportFiles(deps: Dependencies, claim: JobClaim): Promise<RetryAfter | null> {
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
  // A draining process still finishes its file.
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
    exportRuns,
    claim,
    error,
    { ...open?.secrets },
    {
      finalTries: BUCKET_FINAL_TRIES,
      fail: (failure) => endExportRun(deps, claim, { failure }),
    },
  );
}

/** Returns when to retry if an attempt that Temporal had given up has taken the run: this one then takes it back. */
async function moved(deps: Dependencies, claim: JobClaim): Promise<RetryAfter | null> {
  return (await findExportJob(deps, claim))?.run.state === 'running' ? { againInMs: 1_000 } : null;
}

/**
 * Begins an attempt at the run, and makes missing records. Returns null if the run has ended or another workflow has
 * it.
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

/** Returns the types of data that a run writes, each once, in the order in which it writes them. */
function typesOf({ exportedData }: Pick<ExportDefinition, 'exportedData'>): ExportDataType[] {
  const types = new Set(exportedData.map(exportDataType));
  return EXPORT_DATA_TYPES.filter((type) => types.has(type));
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

/** Number of an exporter's last windows that are read again. */
const WINDOWS = 7;

/**
 * Counts rows of earlier windows that came too late for their export: committed after the limit of a write transaction,
 * or by other ways. The run shows how many; export these windows again.
 */
async function lookForLateRows(deps: Dependencies, attempt: Attempt): Promise<void> {
  const { run } = attempt;
  if (run.window.kind === 'happened') return;
  const ids = await listLastWindows(deps.db, run.entityId, run.exporterId, { before: run.window.end, limit: WINDOWS });
  for (const id of ids) {
    const earlier = await findExportRunById(deps.db, run.entityId, id);
    // This run exports the window again, so it is complete.
    if (earlier && !isSameWindow(earlier, run)) await lookAtRun(deps, attempt, earlier);
  }
}

function isSameWindow({ window: one }: ExportRun, { window: other }: ExportRun): boolean {
  return one.start?.getTime() === other.start?.getTime() && one.end.getTime() === other.end.getTime();
}

async function lookAtRun(deps: Dependencies, attempt: Attempt, earlier: ExportRun): Promise<void> {
  const scope = await scopeOf(deps.db, earlier);
  for (const record of await listExportRecords(deps.db, earlier.entityId, [earlier.id])) {
    if (record.snapshot === null || !APPEND_ONLY.has(record.dataType)) continue;
    attempt.scope.throwIfEnding();
    await noteLate(
      deps,
      attempt,
      record,
      await countLate(attempt.sessions[0], record.dataType, scope, record.snapshot),
    );
  }
}

async function noteLate(
  deps: Dependencies,
  { key }: Attempt,
  record: ExportRecord,
  lateRows: number | null,
): Promise<void> {
  await writeHeld(deps, key, async (tx) => {
    const more = await updateLateRows(tx, key.entityId, record, lateRows);
    if (more > 0) await addLateRowsFound(tx, key, more);
  });
}

/** Refuses with `source_refused` if the exporter's key changed since the first attempt: one key fits all files. */
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
