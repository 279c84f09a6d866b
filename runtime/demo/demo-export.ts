/** The demo's export: makes an exporter, runs it, decrypts a file, and verifies the manifest. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, ExportRun } from '../../api/client.ts';
import { table } from '../../cli/core/table.ts';
import { hasEnded } from '../../cli/imports/import-status.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { type ExportManifest, manifestSchema } from '../../domain/exports/export-manifest.ts';
import { keptSecret } from '../embedded/secret-key.ts';
import { millrace, type DemoServer, type DemoSor } from './demo-server.ts';
import { cut, outcome } from './demo-outcome.ts';
import { type DemoBucket, exporterTo } from './demo-s3.ts';

type Say = (text: string) => void;
type DemoFolders = { bucket: DemoBucket; dataDir: string };

const SUBFOLDER = 'demo';
const ENCRYPTION_TYPE = 'AES-256-GCM';
const KEY_BYTES = 32;
const DATA = ['sessions', 'logs', 'details', 'locations', 'devices', 'crashes', 'attributes'];

export type StartedExport = { exporter: DemoExporter; runId: string; bucket: DemoBucket; dataDir: string };

/** Starts an export of the data, encrypted. Says why and returns null if the bucket may not be reached. */
export async function startDemoExport(
  { client }: DemoServer,
  sor: DemoSor,
  { bucket, dataDir, app }: DemoFolders & { app: string },
  say: Say,
): Promise<StartedExport | null> {
  const encryptionKey = await keptSecret(join(dataDir, 'export-key'), () => randomBytes(KEY_BYTES).toString('hex'));
  try {
    const exporter = await makeExporter(client, { sor, app, bucket, encryptionKey }, say);
    return { exporter, runId: await runNow(client, exporter, say), bucket, dataDir };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    say(`\nNo export: ${error.message}`);
    return null;
  }
}

/** Waits for the export's end, decrypts a file, and verifies all of them. */
export async function showDemoExport(server: DemoServer, started: StartedExport, say: Say): Promise<void> {
  const run = await endOf(server.client, started, say);
  if (run.state === 'finished') await showExported(server, { ...started, run }, say);
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
      ...exporterTo(bucket),
      subfolder: SUBFOLDER,
      app_ids: [app],
      sor_ids: [sor.identifier],
      exported_data: DATA,
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

/** Starts the exporter's run, and returns its id. */
async function runNow(client: Client, { identifier: exporter }: DemoExporter, say: Say): Promise<string> {
  // Its window ends with the second before, and must include the latest data.
  await delay(1_020 - (Date.now() % 1_000));
  const { identifier: id } = await client.runDataExporter({ params: { exporter_id: exporter } });
  say(`Export ${id} waits until 30 s after the end of its window: then all that was received in it is there`);
  return id;
}

async function endOf(client: Client, { exporter, runId }: StartedExport, say: Say): Promise<ExportRun> {
  const view = () => client.viewExportRun({ params: { exporter_id: exporter.identifier, run_id: runId } });
  const run = await outcome(view, (status) => hasEnded(status) || status.fault !== null);
  const { state, rows, types, failure, fault } = run;
  const why = failure?.message ?? fault;
  const files = types.reduce((sum, type) => sum + type.files, 0);
  say(`\nExport ${runId} ${state}: ${rows} rows in ${files} files${why === null ? '' : `; ${why}`}`);
  return run;
}

type DemoExporter = { identifier: string; prefix: string; encryptionType: string; encryptionKey: string };

type Exported = { exporter: DemoExporter; bucket: DemoBucket; run: ExportRun; dataDir: string };

const SHOWN_TYPE = 'logs';
const LINES = 3;

async function showExported(server: DemoServer, exported: Exported, say: Say): Promise<void> {
  const { exporter, bucket, run, dataDir } = exported;
  const manifest = manifestSchema.parse(JSON.parse((await bucket.read(run.manifest_key!)).toString('utf8')));
  say(`\n${filesTable(manifest)}\n`);
  const env = environment(server, exported);
  const file = await download(manifest, exported);
  const decrypted = file.replace(/\.gz\.enc$/, '');
  await millrace(env, ['decrypt', file, '--type', exporter.encryptionType, '--gunzip', '--out', decrypted]);
  const lines = (await readFile(decrypted, 'utf8')).split('\n').slice(0, LINES);
  say(`Decrypted, ${basename(file)} begins:\n${lines.map((line) => `  ${cut(line, 130)}`).join('\n')}\n`);
  const verify = [
    'exporters',
    'verify',
    '--bucket',
    bucket.name,
    '--prefix',
    exporter.prefix,
    '--jwks',
    `${server.url}/.well-known/jwks.json`,
    '--deep',
  ];
  say(await millrace(env, verify));
  say(await reconciled(server.client, exporter));
  const envPath = join(dataDir, 'demo.env');
  await writeFile(
    envPath,
    Object.entries(env)
      .map(([name, value]) => `export ${name}=${value}\n`)
      .join(''),
    { mode: 0o600 },
  );
  say(
    [
      `\nThe files lie in ${join(bucket.folder, exporter.prefix)}. To look again, in another terminal in this folder:`,
      `. ${envPath}`,
      `npx --no-install millrace exporters runs ${exporter.identifier}`,
      `npx --no-install millrace decrypt ${file} --type ${exporter.encryptionType} --gunzip --out - | head -n ${LINES}`,
      `npx --no-install millrace ${verify.join(' ')}`,
    ].join('\n  '),
  );
}

function environment({ url, token }: DemoServer, { bucket, exporter }: Exported): Record<string, string> {
  return {
    MILLRACE_URL: url,
    MILLRACE_TOKEN: token,
    MILLRACE_EXPORT_KEY: exporter.encryptionKey,
    AWS_ACCESS_KEY_ID: bucket.accessKeyId,
    AWS_SECRET_ACCESS_KEY: bucket.secretAccessKey,
    AWS_ENDPOINT_URL: bucket.endpoint,
    AWS_REGION: bucket.region,
  };
}

function filesTable({ types }: ExportManifest): string {
  return table(
    ['type', 'file', 'rows', 'bytes'],
    types.flatMap(({ type, files }) =>
      files.map((file) => [type, basename(file.key), String(file.rows), String(file.bytes)]),
    ),
  );
}

async function download({ types }: ExportManifest, { bucket, run, dataDir }: Exported): Promise<string> {
  const { key } = types.find(({ type }) => type === SHOWN_TYPE)!.files[0]!;
  const folder = join(dataDir, 'downloaded', run.identifier);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, basename(key));
  await writeFile(path, await bucket.read(key), { mode: 0o600 });
  return path;
}

async function reconciled(client: Client, { identifier }: DemoExporter): Promise<string> {
  const { items } = await client.reconcileExports({ params: { exporter_id: identifier }, query: { verify: true } });
  return items
    .map(({ state, rows, types, manifest }) => {
      const expected = types.reduce((sum, type) => sum + (type.expected ?? 0), 0);
      const files = types.flatMap((type) => type.files);
      const good = files.filter((file) => file.state === 'ok').length;
      return (
        `Reconciliation: ${state}, ${expected} rows expected = ${rows} written, ${good} of ${files.length} files ok in the bucket, ` +
        `its manifest ${manifest?.state ?? 'missing'}`
      );
    })
    .join('\n');
}
