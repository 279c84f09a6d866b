import { Context } from '@temporalio/activity';
import type { ExportBucket } from '../../connectors/s3/export-bucket.ts';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { type ExportManifest, manifestSchema } from '../../domain/exports/export-manifest.ts';
import type { JobClaim } from '../../domain/jobs/job.ts';
import { write } from '../../store/core/database.ts';
import { listExportFiles } from '../../store/exports/export-files.ts';
import { findFinishedBefore, listRunsToClean, updateCleaned } from '../../store/exports/export-run-progress.ts';
import { findExportRunById } from '../../store/exports/export-runs.ts';
import { isSameBucket } from '../../store/exports/same-bucket.ts';
import type { Dependencies } from '../dependencies.ts';
import type { OpenAttempt } from './attempt.ts';
import { type ExportJob, findExportJob } from './job.ts';
import { openBucketOf } from './open-bucket.ts';
import { makeManifest, manifestBody, manifestKey } from './publish.ts';

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
 * Removes all of a run's folder that its manifest does not name, but for what a later run has written there: that is in
 * folders of higher numbers. Whoever reads the bucket may have moved the manifest away, or spoiled it: what counts by
 * our own notes stays, too.
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
