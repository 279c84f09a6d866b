/** Ends the writing of an export run: its signed manifest makes the files valid for readers. */
import { createHash } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type { ExportBucket } from '../../connectors/s3/export-bucket.ts';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { signDocument } from '../../domain/core/signed-document.ts';
import { exportColumns } from '../../domain/exports/export-columns.ts';
import { APPEND_ONLY, type ExportFormat } from '../../domain/exports/export-data-type.ts';
import { type ExportManifest, manifestSchema, type UnsignedManifest } from '../../domain/exports/export-manifest.ts';
import { type JobClaim, JobGone } from '../../domain/jobs/job.ts';
import { findEntityIdentifier } from '../../store/accounts/entities.ts';
import { write } from '../../store/core/database.ts';
import {
  type ExportFile,
  type ExportRecord,
  listExportFiles,
  listExportRecords,
} from '../../store/exports/export-files.ts';
import {
  findFinishedBefore,
  findLateRowsFound,
  listRunsToClean,
  updateCleaned,
  updatePublished,
} from '../../store/exports/export-run-progress.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import { findExportRunById } from '../../store/exports/export-runs.ts';
import { isSameBucket } from '../../store/exports/same-bucket.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Attempt, type ExportJob, findExportJob, type OpenAttempt, openBucketOf, writeHeld } from './attempt.ts';
import { endExportRun } from './export-end.ts';

/** Returns the key of a window's manifest, which names the files that count. */
function manifestKey(folder: string): string {
  return `${folder}/manifest.json`;
}

/** Puts the manifest into the bucket, by which readers see all new files at once; then the run has finished. */
export async function publish(deps: Dependencies, { run, exporter, bucket, definition, key }: Attempt): Promise<void> {
  const manifest = await makeManifest(deps, { ...run, attempt: key.attempt }, exporter.identifier);
  const published = { key: manifestKey(definition.folder), body: manifestBody(manifest) };
  deps.boundary('export: before the manifest');
  // Checked as late as possible: an attempt after a cancel, or an older attempt, must put nothing.
  await writeHeld(deps, key, async () => {});
  await bucket.put(published.key, published.body, 'application/json');
  deps.boundary('export: after the manifest');
  await endExportRun(deps, key, {
    failure: null,
    async alongside(tx, { attempt }) {
      if (attempt !== key.attempt) throw new JobGone();
      await updatePublished(tx, key, {
        key: published.key,
        sha256: createHash('sha256').update(published.body).digest(),
      });
      return { lateRows: await findLateRowsFound(tx, key) };
    },
  });
}

/** Returns the manifest as the bucket stores it. */
function manifestBody(manifest: ExportManifest): Buffer {
  return Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
}

/** Returns a signed list of the files that a run wrote. Call it once all of them are written. */
async function makeManifest(
  { db, secrets }: Pick<Dependencies, 'db' | 'secrets'>,
  run: ExportRun,
  exporter: string,
): Promise<ExportManifest> {
  const { entityId, id, identifier, cause, window, attempt } = run;
  const { name, format, includeHeaders, encryptionType } = run.definition!;
  const files = await listExportFiles(db, entityId, [id]);
  const types = (await listExportRecords(db, entityId, [id])).map((record) => typeEntry(record, format, files));
  const sum = (of: (file: ExportFile) => number) => files.reduce((total, file) => total + of(file), 0);
  const manifest: UnsignedManifest = {
    version: 1,
    exporter,
    exporter_name: name,
    entity: await findEntityIdentifier(db, entityId),
    run: identifier,
    cause,
    window: { kind: window.kind, start: window.start?.toISOString() ?? null, end: window.end.toISOString() },
    generation: attempt,
    written_at: new Date().toISOString(),
    format,
    compression: format === 'parquet' ? 'none' : 'gzip',
    include_headers: includeHeaders,
    encryption: encryptionType === null ? null : { type: encryptionType },
    types,
    rows: sum(({ rows }) => rows),
    bytes: sum(({ bytes }) => bytes),
  };
  return signDocument(manifest, (bytes) => secrets.sign(bytes));
}

function typeEntry(
  { dataType, rows, expected, ambiguousSets }: ExportRecord,
  format: ExportFormat,
  files: ExportFile[],
): UnsignedManifest['types'][number] {
  return {
    type: dataType,
    repeatable: APPEND_ONLY.has(dataType),
    columns: [...exportColumns(dataType, format)],
    rows,
    expected: expected ?? rows,
    ...(ambiguousSets === null ? {} : { ambiguous_sets: ambiguousSets }),
    files: files
      .filter((file) => file.dataType === dataType)
      .map((file) => ({
        key: file.key,
        part: file.part,
        rows: file.rows,
        bytes: file.bytes,
        sha256: file.sha256,
        content_bytes: file.contentBytes,
        content_sha256: file.contentSha256,
      })),
  };
}

type Cleaned = Pick<ExportJob, 'run' | 'exporter' | 'definition'>;

/** Cleans up after runs that ended before this one: canceled ones, failed ones, ones whose worker died. */
export async function cleanRunsBefore(
  deps: Dependencies,
  { run, exporter, bucket, scope }: OpenAttempt,
): Promise<void> {
  for (const id of await listRunsToClean(deps.db, run.entityId, run.exporterId)) {
    scope.throwIfEnding();
    const earlier = await findExportRunById(deps.db, run.entityId, id);
    if (!earlier?.definition) continue;
    const job = { run: earlier, definition: earlier.definition, exporter };
    // Only this run is running, so no other can have unfinished uploads.
    if (isSameBucket(job.definition, exporter)) {
      await bucket.abortUnfinished(job.definition.folder);
      await cleanRun(deps, job, bucket);
    }
    await write(deps.db, (tx) => updateCleaned(tx, { entityId: run.entityId, jobId: id }));
  }
}

/** Removes what an ended run leaves behind; if that fails, the exporter's next run does it. */
export async function cleanEnded(deps: Dependencies, claim: JobClaim): Promise<void> {
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
 * Removes files of a run's folder that its manifest does not name. Keeps those of later runs (in folders of higher
 * numbers), and those that our records name: a reader of the bucket may have moved the manifest.
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

/**
 * Restores the manifest of the last finished run if an unfinished run has replaced it; deletes it if there is no such
 * run.
 */
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

/** Returns the keys of the files of the folder's last finished run, up to this one. */
async function keysThatCount(deps: Dependencies, { run }: Cleaned): Promise<string[]> {
  const id = run.state === 'finished' ? run.id : await findFinishedBefore(deps.db, run);
  return id === null ? [] : (await listExportFiles(deps.db, run.entityId, [id])).map(({ key }) => key);
}

/** Returns null if there is no manifest, or another file under its key. */
async function readManifest(bucket: ExportBucket, key: string): Promise<ExportManifest | null> {
  const body = await bucket.readAll(key);
  try {
    return body && manifestSchema.parse(JSON.parse(body.toString()));
  } catch {
    return null;
  }
}
