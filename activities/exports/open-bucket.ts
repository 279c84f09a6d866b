import { sourceRefusal } from '../../connectors/core/source-refusal.ts';
import { type ExportBucket, openExportBucket } from '../../connectors/s3/export-bucket.ts';
import { findExternalId } from '../../store/accounts/entities.ts';
import type { ExporterSecrets } from '../../store/exports/data-exporter-record.ts';
import { openExporterSecrets } from '../../store/exports/data-exporters.ts';
import { exporterAccess } from '../../store/exports/exporter-access.ts';
import { isSameBucket } from '../../store/exports/same-bucket.ts';
import type { Dependencies } from '../dependencies.ts';
import type { ExportJob } from './job.ts';

/** How often a bucket's final refusal is tried in all: rights take a moment to spread. */
export const BUCKET_FINAL_TRIES = 3;

export type OpenBucket = { bucket: ExportBucket; secrets: ExporterSecrets };

/**
 * The bucket of a run, and its exporter's secrets. Refuses with `source_refused` where the exporter has another one by
 * now.
 */
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
