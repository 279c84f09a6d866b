import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, ExportRun } from '../../api/client.ts';
import { hasEnded } from '../../cli/imports/import-status.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { keptSecret } from '../embedded/kept-secret.ts';
import { type DemoExporter, showExported } from './demo-exported.ts';
import type { DemoBucket } from './demo-s3.ts';
import type { DemoServer } from './demo-server.ts';
import type { DemoSor } from './demo-sor.ts';

type Say = (text: string) => void;
/** The bucket, and the demo's files. */
type DemoFolders = { bucket: DemoBucket; dataDir: string };

const SUBFOLDER = 'demo';
const ENCRYPTION_TYPE = 'AES-256-GCM';
const KEY_BYTES = 32;
const DATA = ['sessions', 'logs', 'details', 'locations', 'devices', 'crashes', 'attributes'];
/** Time from the end of a run's window to its start: docs/exports.md. */
const CLOSED_AFTER_MS = 30_000;
const POLL_MS = 500;
const POLLS_BETWEEN_WORDS = 20;

/**
 * Exports the app's data and that of the other flows, encrypted, into a bucket; decrypts and verifies it. If the bucket
 * may not be reached, says why.
 */
export async function demoExport(
  server: DemoServer,
  sor: DemoSor,
  { bucket, dataDir, app }: DemoFolders & { app: string },
  say: Say,
): Promise<void> {
  const encryptionKey = await keptSecret(join(dataDir, 'export-key'), () => randomBytes(KEY_BYTES).toString('hex'));
  try {
    const exporter = await makeExporter(server.client, { sor, app, bucket, encryptionKey }, say);
    const run = await runNow(server.client, exporter, say);
    if (run.state === 'finished') await showExported(server, { exporter, bucket, run, dataDir }, say);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    say(`\nNo export: ${error.message}`);
  }
}

type Parts = { sor: DemoSor; app: string; bucket: DemoBucket; encryptionKey: string };

async function makeExporter(
  client: Client,
  { sor, app, bucket, encryptionKey }: Parts,
  say: Say,
): Promise<DemoExporter> {
  const { identifier } = await client.createDataExporter({
    body: {
      name: `Demo export of ${app}`,
      export_configuration: 'aws_secret_key',
      endpoint: bucket.endpoint,
      aws_region: bucket.region,
      aws_access_key_id: bucket.accessKeyId,
      aws_secret_access_key: bucket.secretAccessKey,
      bucket_name: bucket.name,
      subfolder: SUBFOLDER,
      app_ids: [app],
      sor_ids: [sor.identifier],
      exported_data: DATA,
      include_headers: true,
      encryption_type: ENCRYPTION_TYPE,
      encryption_key: encryptionKey,
      check: true,
    },
  });
  await client.activateDataExporter({ params: { exporter_id: identifier } });
  say(
    `\nExporter ${identifier} of ${DATA.length} types of data, as CSV encrypted by ${ENCRYPTION_TYPE}, into the bucket ${bucket.name}\n` +
      `of the S3 at ${bucket.endpoint}: checked, and active. It runs each night, and now since it is asked to`,
  );
  return { identifier, prefix: `${SUBFOLDER}/${identifier}`, encryptionType: ENCRYPTION_TYPE, encryptionKey };
}

async function runNow(client: Client, { identifier: exporter }: DemoExporter, say: Say): Promise<ExportRun> {
  // its window ends with the second before, and must include the latest data
  await delay(1_020 - (Date.now() % 1_000));
  const { identifier: id } = await client.runDataExporter({ params: { exporter_id: exporter } });
  say(`Export ${id} waits until 30 s after the end of its window: then all that was received in it is there`);
  const run = await followed(() => client.viewExportRun({ params: { exporter_id: exporter, run_id: id } }), say);
  const { state, rows, types, failure, fault } = run;
  const why = failure?.message ?? fault;
  const files = types.reduce((sum, type) => sum + type.files, 0);
  say(`Export ${id} ${state}: ${rows} rows in ${files} files${why === null ? '' : `; ${why}`}`);
  return run;
}

async function followed(view: () => Promise<ExportRun>, say: Say): Promise<ExportRun> {
  for (let polls = 1; ; polls += 1) {
    const run = await view();
    if (hasEnded(run) || run.fault !== null) return run;
    if (polls % POLLS_BETWEEN_WORDS === 0) say(`  ${progressOf(run)}`);
    await delay(POLL_MS);
  }
}

function progressOf({ rows, types, window }: ExportRun): string {
  if (types.length > 0) return `${rows} rows so far`;
  const seconds = Math.ceil((Date.parse(window.end) + CLOSED_AFTER_MS - Date.now()) / 1_000);
  return seconds > 0 ? `waits, ${seconds} s to go` : 'waits for those who still write into its window';
}
