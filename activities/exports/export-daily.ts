import { Context } from '@temporalio/activity';
import { sourceRefusal } from '../../connectors/core/source-refusal.ts';
import type { ExportBucket } from '../../connectors/s3/export-bucket.ts';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { exportMail, type ExportReport } from '../../domain/exports/export-mail.ts';
import { type ExportManifest, manifestSchema } from '../../domain/exports/export-manifest.ts';
import type { ExportAlert } from '../../domain/exports/exporter.ts';
import { type JobClaim, JobGone, type JobKey, type JobRef } from '../../domain/jobs/job.ts';
import { findUser } from '../../store/accounts/users.ts';
import { write } from '../../store/core/database.ts';
import { findWindowOpenMs } from '../../store/core/open-window.ts';
import type { DataExporter } from '../../store/exports/data-exporter-record.ts';
import { insertExportRecords, listExportFiles, listExportRecords } from '../../store/exports/export-files.ts';
import {
  type AttemptKey,
  findFinishedBefore,
  isAttemptCurrent,
  keepKeyHash,
  listRunsToClean,
  raiseAttempt,
  updateCleaned,
} from '../../store/exports/export-run-progress.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import { countExportedRows, exportRuns, findExportRunById, listLateRows } from '../../store/exports/export-runs.ts';
import { exportSession } from '../../store/exports/export-session.ts';
import { isSameBucket } from '../../store/exports/same-bucket.ts';
import { listJobIdentifiers } from '../../store/jobs/jobs.ts';
import { heartbeating } from '../core/heartbeat.ts';
import { inSlot } from '../core/in-slot.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import { stopIfAsked } from '../core/stop-if-asked.ts';
import type { Dependencies } from '../dependencies.ts';
import { tellWhatIsLeft } from '../gdpr/tell-exporters.ts';
import { noteWaitOf } from '../jobs/note-wait.ts';
import { claimRun, sendRunAlerts, startNextRun, waitOrFail } from '../jobs/runs.ts';
import { openStepScope, type StepScope } from '../jobs/step-scope.ts';
import { type Attempt, type OpenAttempt, writeHeld } from './attempt.ts';
import { endExportRun } from './export-end.ts';
import { type ExportJob, findExportJob, typesOf } from './job.ts';
import { lookForLateRows } from './late.ts';
import { BUCKET_FINAL_TRIES, type OpenBucket, openBucketOf } from './open-bucket.ts';
import { makeManifest, manifestBody, manifestKey, publish } from './publish.ts';
import { writeType } from './type-files.ts';

export type ExportDailySteps = ReturnType<typeof exportDailySteps>;

export const exportDailySteps = (deps: Dependencies) => ({
  /** Claims a run with its window, as `claimRun`. `isCovered`: there is nothing to be written. */
  async claimExport(ref: JobRef, workflowRunId: string): Promise<(JobClaim & { isCovered: boolean }) | null> {
    const run = await claimRun(deps, exportRuns, ref, workflowRunId);
    return run && { ...ref, generation: run.generation, isCovered: run.isCovered };
  },

  /**
   * Null once no transaction writes into the window any more; else when to look again. A backfill takes what is there.
   */
  async windowClosed({ entityId, jobId }: JobClaim): Promise<RetryAfter | null> {
    const run = await findExportRunById(deps.db, entityId, jobId);
    if (run?.state !== 'running' || run.window.kind === 'happened') return null;
    const openMs = await findWindowOpenMs(deps.db, run.window.end);
    return openMs > 0 ? { againInMs: openMs } : null;
  },

  /** Writes what is left, and ends the run; null where nothing is left to do. */
  exportFiles: (claim: JobClaim): Promise<RetryAfter | null> => heartbeating(() => exportFiles(deps, claim)),

  /**
   * Ends a run that had nothing to write, and starts the one that waits for it. Returns whether there are alerts to
   * send.
   */
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

/**
 * Writes what is left of a run into its bucket, and ends it. Null: there is nothing left to do, or the run has failed;
 * else when to try again.
 */
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

type Cleaned = Pick<ExportJob, 'run' | 'exporter' | 'definition'>;

/** Cleans up after runs that ended before this one: canceled ones, failed ones, ones whose worker died. */
async function cleanRunsBefore(deps: Dependencies, { run, exporter, bucket, scope }: OpenAttempt): Promise<void> {
  for (const id of await listRunsToClean(deps.db, run.entityId, run.exporterId)) {
    scope.throwIfEnding();
    const earlier = await findExportRunById(deps.db, run.entityId, id);
    if (!earlier?.definition) continue;
    const job = { run: earlier, definition: earlier.definition, exporter };
    // Nothing of another run's can be unfinished: this one is the only one that runs.
    if (isSameBucket(job.definition, exporter)) {
      await bucket.abortUnfinished(job.definition.folder);
      await cleanRun(deps, job, bucket);
    }
    await write(deps.db, (tx) => updateCleaned(tx, { entityId: run.entityId, jobId: id }));
  }
}

/**
 * Removes what a run that has ended leaves behind. Where that can't be done now, the exporter's next run does it: the
 * run stays as it ended.
 */
async function cleanEnded(deps: Dependencies, claim: JobClaim): Promise<void> {
  const job = await findExportJob(deps, claim);
  if (!job || job.run.state === 'running' || job.run.attempt === 0) return;
  const { entityId, jobId } = claim;
  const open = await openBucketOf(deps, job, Context.current().cancellationSignal).catch(nullWhereRefused);
  if (!open) return;
  try {
    await cleanRun(deps, job, open.bucket);
    deps.boundary('export: after the old was removed');
    await write(deps.db, (tx) => updateCleaned(tx, { entityId, jobId }));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    deps.log.warn(
      { entityId, run: job.run.identifier, ...internalErrorOf(error) },
      'what an export left behind stays for now',
    );
  } finally {
    open.bucket.close();
  }
}

function nullWhereRefused(error: unknown): null {
  if (error instanceof Refusal) return null;
  throw error;
}

/**
 * Removes the files of a run's folder that its manifest does not name. Files of later runs stay: they are in folders of
 * higher numbers. Files that count by our own notes stay, too: a reader of the bucket may have moved or damaged the
 * manifest.
 */
async function cleanRun(deps: Dependencies, job: Cleaned, bucket: ExportBucket): Promise<void> {
  const { folder } = job.definition;
  if (job.run.state !== 'finished') await takeManifestBack(deps, job, bucket);
  const named = new Set([...(await keysNamed(bucket, folder)), ...(await keysThatCount(deps, job))]);
  const old: string[] = [];
  for await (const { key } of bucket.list(folder)) {
    const generation = Number(/^\/(\d{4,})\//.exec(key.slice(folder.length))?.[1] ?? Number.POSITIVE_INFINITY);
    if (generation <= job.run.attempt && !named.has(key)) old.push(key);
  }
  if (old.length > 0) await bucket.delete(old);
}

/** A run that ended between its manifest and its end has not taken the place of what was there before. */
async function takeManifestBack(
  deps: Dependencies,
  { run, exporter, definition }: Cleaned,
  bucket: ExportBucket,
): Promise<void> {
  const key = manifestKey(definition.folder);
  if ((await readManifest(bucket, key))?.run !== run.identifier) return;
  const before = await findFinishedBefore(deps.db, run);
  const earlier = before === null ? null : await findExportRunById(deps.db, run.entityId, before);
  if (!earlier) {
    await bucket.delete([key]);
    return;
  }
  const manifest = await makeManifest(deps, earlier, exporter.identifier);
  await bucket.put(key, manifestBody(manifest), 'application/json');
}

async function keysNamed(bucket: ExportBucket, folder: string): Promise<Set<string>> {
  const manifest = await readManifest(bucket, manifestKey(folder));
  return new Set(manifest?.types.flatMap(({ files }) => files.map(({ key }) => key)));
}

/** The files of the last run that finished in the folder, up to this one. */
async function keysThatCount(deps: Dependencies, { run }: Cleaned): Promise<string[]> {
  const id = run.state === 'finished' ? run.id : await findFinishedBefore(deps.db, run);
  return id === null ? [] : (await listExportFiles(deps.db, run.entityId, [id])).map(({ key }) => key);
}

/** Null where there is none, or something else lies in its place. */
async function readManifest(bucket: ExportBucket, key: string): Promise<ExportManifest | null> {
  const body = await bucket.readAll(key);
  try {
    return body && manifestSchema.parse(JSON.parse(body.toString()));
  } catch {
    return null;
  }
}
