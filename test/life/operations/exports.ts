import {
  about,
  type Answer,
  type Call,
  cancel,
  type Draw,
  type LifeOperations,
  make,
  read,
  remove,
} from '../life-operation.ts';

/** Daily exports to buckets. */

const BUCKET = 'life-exports';

export function exporterBody(
  {
    life: {
      service: { s3 },
    },
    entity,
  }: Draw,
  name: string,
) {
  return {
    name,
    export_configuration: 'aws_secret_key',
    endpoint: s3.endpoint,
    aws_region: s3.region,
    aws_access_key_id: s3.accessKeyId,
    aws_secret_access_key: s3.secretAccessKey,
    bucket_name: BUCKET,
    subfolder: entity.name,
    app_ids: [entity.app.identifier],
    sor_ids: [entity.sor.identifier],
    exported_data: ['sessions', 'logs', 'details', 'locations', 'devices', 'crashes', 'attributes'],
    include_headers: true,
    notify_emails: [],
  };
}

export { BUCKET as EXPORT_BUCKET };

function noteRun({ result }: Answer, { entity }: Draw, { item }: Call): void {
  entity.add('export run', { id: (result as { identifier: string }).identifier, of: item!.of ?? item!.id });
}

export const exportOperations: LifeOperations = {
  viewDataExporter: {
    ...read('exporter'),
    done({ result }, { entity }, { item }) {
      const { exports } = result as { exports: Record<string, { identifier: string }[]> };
      for (const { identifier } of Object.values(exports).flat())
        entity.add('export', { id: identifier, of: item!.id });
    },
  },
  createDataExporter: make({ kind: 'exporter' }, (draw) => ({
    body: {
      ...exporterBody(draw, draw.name('Export')),
      encryption_type: 'AES-128-GCM',
      encryption_key: '0123456789abcdef',
    },
  })),
  updateDataExporter: about('exporter', (draw) => ({
    body: {
      name: draw.name('Renamed'),
      format: draw.of(['csv', 'jsonl', 'parquet']),
      content_md5: draw.chance(0.5),
      server_side_encryption: draw.of(['AES256', null]),
    },
  })),
  deleteDataExporter: remove('exporter'),
  activateDataExporter: about('exporter'),
  deactivateDataExporter: about('exporter'),
  checkDataExporter: about('exporter'),
  viewDataExporterPolicy: about('exporter'),
  viewExport: about('export'),
  listExportRuns: read('exporter'),
  viewExportRun: about('export run'),
  findExportRun: about('export run'),
  cancelExportRun: cancel('export run'),
  runDataExporter: { ...about('exporter'), weight: 3, done: noteRun },
  rerunExport: { ...about('export run'), done: noteRun },
  backfillExports: { ...about('exporter', () => ({ body: { from: '2026-01-01', to: '2026-01-02' } })), done: noteRun },
  reconcileExports: about('exporter', (draw) => ({ query: draw.chance(0.5) ? { verify: true } : {} })),
  listDeletionLists: read('exporter'),
};
