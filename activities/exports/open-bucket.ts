import { sourceRefusal } from '../../connectors/core/source-refusal.ts';
import { type ExportBucket, openExportBucket } from '../../connectors/s3/export-bucket.ts';
import { findExternalId } from '../../store/accounts/entities.ts';
import type { ExporterSecrets } from '../../store/exports/data-exporter-record.ts';
import { openExporterSecrets } from '../../store/exports/data-exporters.ts';
import { exporterAccess } from '../../store/exports/exporter-access.ts';
import { isSameBucket } from '../../store/exports/same-bucket.ts';
import type { Needs } from '../needs.ts';
import type { ExportJob } from './job.ts';

export type OpenBucket = { bucket: ExportBucket; secrets: ExporterSecrets };

/** The bucket of a run, and its exporter's secrets. Refuses with `source_refused` where the exporter has another one by now. */
export async function openBucketOf(
  needs: Pick<Needs, 'db' | 'secrets' | 'outside'>, job: ExportJob, signal: AbortSignal,
): Promise<OpenBucket> {
  if (!isSameBucket(job.definition, job.exporter) || job.definition.encryptionType !== job.exporter.encryptionType) {
    throw sourceRefusal('source_refused', 'The exporter was changed while the run was under way: run it again');
  }
  const { entityId, id } = job.exporter;
  const secrets = await openExporterSecrets(needs.db, needs.secrets, entityId, id);
  const access = exporterAccess(job.exporter, secrets, await findExternalId(needs.db, entityId));
  return { bucket: openExportBucket(access, { allow: needs.outside.allow, signal }), secrets };
}
