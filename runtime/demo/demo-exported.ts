import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Client, ExportRun } from '../../api/client.ts';
import { table } from '../../cli/core/table.ts';
import { type ExportManifest, manifestSchema } from '../../domain/exports/export-manifest.ts';
import { millrace } from './demo-command.ts';
import { cut } from './demo-outcome.ts';
import type { DemoBucket } from './demo-s3.ts';
import type { DemoServer } from './demo-server.ts';

/** `prefix`: the folder of its files in the bucket. */
export type DemoExporter = { identifier: string; prefix: string; encryptionType: string; encryptionKey: string };

type Say = (text: string) => void;
type Exported = { exporter: DemoExporter; bucket: DemoBucket; run: ExportRun; dataDir: string };

const SHOWN_TYPE = 'logs';
const LINES = 3;

/** Shows what a run has put into the bucket, and the command to look again. */
export async function showExported(server: DemoServer, exported: Exported, say: Say): Promise<void> {
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

/** Returns the environment for the command line. */
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

/** Returns the server's reconciliation: the rows that existed, and the rows in the bucket. */
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
