import type { Tx } from '../../../store/core/database.ts';
import type { Secrets } from '../../../store/core/secrets.ts';
import { sharedS3 } from '../../harness/core/s3.ts';
import type { World } from '../../harness/core/world.ts';
import { storedExporter } from '../../harness/exports/stored-exporters.ts';
import { insertSampleExportRuns, type SampleExportRuns } from './sample-export-runs.ts';

/** An exporter of the sample's app. */
export type SampleExporter = SampleExportRuns & { identifier: string };

/** Reaches a real bucket where `path` is of a route that does. */
export async function insertSampleExporter(
  tx: Tx,
  secrets: Secrets,
  world: World,
  path: string,
  appId: number,
): Promise<SampleExporter> {
  const s3 = /data_exporters\/.*\/(?:activate|check)$/.test(path) ? (await sharedS3()).settings : undefined;
  const exporter = await storedExporter(tx, secrets, world, {
    appIds: [appId],
    sorIds: [world.sor.id],
    exportedData: ['logs', 'attributes'],
    name: `Exporter of ${world.entity.identifier}`,
    ...(s3
      ? {
          endpoint: s3.endpoint,
          region: s3.region,
          bucketName: s3.bucket,
          secrets: { accessKeyId: s3.access_key_id, secretAccessKey: s3.secret_access_key, encryptionKey: null },
        }
      : {}),
  });
  return { identifier: exporter.identifier, ...(await insertSampleExportRuns(tx, exporter)) };
}

/** All that an exporter takes but for `check`. */
export function anotherExporter({ app, sor }: Pick<World, 'sor'> & { app: { identifier: string } }) {
  return {
    name: 'Another',
    export_configuration: 'aws_secret_key',
    bucket_name: 'another',
    subfolder: 'daily',
    aws_region: 'eu-central-1',
    aws_access_key_id: 'AKIDANOTHER',
    aws_secret_access_key: 'another secret key',
    endpoint: 'https://minio.example.com',
    app_ids: [app.identifier],
    sor_ids: [sor.identifier],
    exported_data: ['logs', 'attributes'],
    format: 'jsonl',
    include_headers: true,
    encryption_type: 'AES-128-GCM',
    encryption_key: '0123456789abcdef',
    part_bytes: 1_048_576,
    export_since: '2026-01-01',
    notify_emails: ['data@example.com'],
    server_side_encryption: 'aws:kms',
    kms_key_id: 'alias/exports',
    content_md5: true,
  };
}
