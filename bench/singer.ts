import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { readCatalog, select } from '../connectors/singer/singer.ts';
import { type EmbeddedS3, startS3 } from '../runtime/embedded/s3.ts';
import type { Line, Size } from './line.ts';
import { atLeast } from './report.ts';
import { createConnection, createSync, expectAll, runSync } from './sync-run.ts';
import { CATALOG_OPTION, COMMAND, TAP_ENVIRONMENT } from './tap.ts';

const STREAM = 'customers';
const ROWS: Record<Size, number> = { quick: 100_000, full: 1_000_000 };

const titleOf = (size: Size) => `${ROWS[size].toLocaleString('en')}-row CSV through a Singer tap`;

/**
 * A CSV file in S3 through a tap into attributes, against the tap alone, whose output goes nowhere. Without a tap there
 * is no figure.
 */
export const singerCsv: Line = {
  key: 'singer',
  titles: (size) => [titleOf(size)],

  async environment(context): Promise<Record<string, string>> {
    const tap = await context.tap();
    return tap ? { MILLRACE_TAPS: tap.tapsFile } : {};
  },

  async *measure(context) {
    const tap = await context.tap();
    if (tap === null) return;
    const service = await context.service();
    const rows = ROWS[context.size];
    const place = join(context.folder, 'singer');
    await mkdir(place);
    const [accessKeyId, secretAccessKey] = [randomBytes(8).toString('hex'), randomBytes(20).toString('hex')];
    const s3 = await startS3({ dataDir: place, say: () => undefined, accessKeyId, secretAccessKey });
    try {
      await putFile(s3, { accessKeyId, secretAccessKey }, place, rows);
      const config = {
        start_date: '2000-01-01T00:00:00Z',
        bucket: 'bench',
        aws_access_key_id: accessKeyId,
        aws_secret_access_key: secretAccessKey,
        aws_endpoint_url: s3.endpoint,
        tables: [{ table_name: STREAM, search_pattern: '\\.csv$', key_properties: ['email'], delimiter: ',' }],
      };
      const alone = await tapAlone(tap.program, config, place);
      const connection = await createConnection(service, {
        name: 'Bench tap',
        connector: 'singer',
        settings: { tap: COMMAND, config },
      });
      const outcome = await runSync(service, await createSync(service, { connection, stream: STREAM }));
      expectAll(outcome, 'written', rows);
      yield atLeast(titleOf(context.size), 'rows/s', rows / outcome.seconds, rows / alone, 0.8);
    } finally {
      await s3.stop();
    }
  },
};

type Keys = { accessKeyId: string; secretAccessKey: string };

async function putFile(
  { endpoint, region }: EmbeddedS3,
  credentials: Keys,
  folder: string,
  rows: number,
): Promise<void> {
  const path = join(folder, 'customers.csv');
  await writeCustomers(path, rows);
  const client = new S3Client({ endpoint, region, forcePathStyle: true, credentials });
  await client.send(new CreateBucketCommand({ Bucket: 'bench' }));
  const { size } = await stat(path);
  await client.send(
    new PutObjectCommand({ Bucket: 'bench', Key: 'customers.csv', Body: createReadStream(path), ContentLength: size }),
  );
  client.destroy();
}

async function writeCustomers(path: string, rows: number): Promise<void> {
  const out = createWriteStream(path);
  out.write('email,plan,score\n');
  for (let row = 0; row < rows; row += 1) {
    const customer = String((row * 7_919) % 1_000_003).padStart(7, '0');
    const line = `customer-${customer}@example.com,plan ${row % 1_013},${(((row * 31) % 100_000) / 100).toFixed(2)}\n`;
    if (!out.write(line)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
}

/** Returns the seconds of reading the stream, after its discovery. Our run discovers, too. */
async function tapAlone(program: string, config: object, folder: string): Promise<number> {
  const [configPath, catalogPath] = [join(folder, 'config.json'), join(folder, 'catalog.json')];
  await writeFile(configPath, JSON.stringify(config));
  const env = { ...process.env, ...TAP_ENVIRONMENT };
  const { stdout } = await promisify(execFile)(program, ['--config', configPath, '--discover'], { env });
  const catalog = readCatalog(JSON.parse(stdout));
  if (!catalog) throw new Error('the tap printed no catalogue');
  await writeFile(
    catalogPath,
    JSON.stringify(
      select(catalog, STREAM, { stream: STREAM, mode: 'full', cursorField: null, cursor: null, fields: null }),
    ),
  );
  const began = performance.now();
  const tap = spawn(program, ['--config', configPath, CATALOG_OPTION, catalogPath], {
    env,
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  const [code] = (await once(tap, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`the tap alone failed with status ${code}`);
  return (performance.now() - began) / 1000;
}
