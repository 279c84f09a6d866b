/**
 * An attempt at an export run's files: its run, exporter and open bucket, and writes that end if a newer one has begun.
 */
import { sourceRefusal } from '../../connectors/core/source-refusal.ts';
import { type ExportBucket, openExportBucket } from '../../connectors/s3/export-bucket.ts';
import { type JobClaim, JobGone } from '../../domain/jobs/job.ts';
import { findExternalId } from '../../store/accounts/entities.ts';
import { type Tx, write } from '../../store/core/database.ts';
import type { DataExporter, ExporterSecrets } from '../../store/exports/data-exporter-record.ts';
import { findExporterById, openExporterSecrets } from '../../store/exports/data-exporters.ts';
import { type AttemptKey, isAttemptCurrent } from '../../store/exports/export-run-progress.ts';
import type { ExportDefinition, ExportRun } from '../../store/exports/export-run-record.ts';
import { findExportRunById } from '../../store/exports/export-runs.ts';
import { exporterAccess } from '../../store/exports/exporter-access.ts';
import { isSameBucket } from '../../store/exports/same-bucket.ts';
import type { Dependencies } from '../dependencies.ts';
import type { StepScope } from '../jobs/step-scope.ts';
import type { SliceSessions } from './source.ts';

/** A run and its exporter, as they were when the attempt began. */
export type ExportJob = { run: ExportRun; definition: ExportDefinition; exporter: DataExporter };

/** Returns a claimed run, which may have ended; null if another generation has it, or its exporter is deleted. */
export async function findExportJob(
  { db }: Pick<Dependencies, 'db'>,
  { entityId, jobId, generation }: JobClaim,
): Promise<ExportJob | null> {
  const run = await findExportRunById(db, entityId, jobId);
  if (run?.generation !== generation || !run.definition) return null;
  const exporter = await findExporterById(db, entityId, run.exporterId);
  return exporter && { run, definition: run.definition, exporter };
}

/** An attempt at the files of a run, with its bucket open. */
export type OpenAttempt = ExportJob & OpenBucket & { key: AttemptKey; scope: StepScope };

/** An attempt with its two reading sessions; other queries use the first. */
export type Attempt = OpenAttempt & { sessions: SliceSessions };

/** Number of tries, in all, after a bucket's final refusal: new rights take a moment to spread. */
export const BUCKET_FINAL_TRIES = 3;

export type OpenBucket = { bucket: ExportBucket; secrets: ExporterSecrets };

/** Returns the bucket of a run with its secrets; refuses with `source_refused` if the exporter has another now. */
export async function openBucketOf(
  deps: Pick<Dependencies, 'db' | 'secrets' | 'outside'>,
  job: ExportJob,
  signal: AbortSignal,
): Promise<OpenBucket> {
  if (!isSameBucket(job.definition, job.exporter) || job.definition.encryptionType !== job.exporter.encryptionType) {
    throw sourceRefusal('source_refused', 'The exporter was changed while the run was under way: run it again');
  }
  const { entityId, id } = job.exporter;
  const secrets = await openExporterSecrets(deps.db, deps.secrets, entityId, id);
  const access = exporterAccess(job.exporter, secrets, await findExternalId(deps.db, entityId));
  return { bucket: openExportBucket(access, { ...deps.outside, signal }), secrets };
}

/** Runs `work` in a transaction that locks the run. Throws `JobGone` if another attempt has it. */
export function writeHeld<T>(
  { db }: Pick<Dependencies, 'db'>,
  key: AttemptKey,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  return write(db, async (tx) => {
    if (!(await isAttemptCurrent(tx, key, { isLocked: true }))) throw new JobGone();
    return work(tx);
  });
}
