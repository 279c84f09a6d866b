import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { readCatalog, select } from '../connectors/singer/singer-catalog.ts';
import { type EmbeddedS3, startS3 } from '../runtime/embedded/s3.ts';
import { pythonProgram } from '../test/harness/python-program.ts';
import { atLeast, type Figure } from './report.ts';
import type { RunningService } from './service.ts';
import { createConnection, createSync, expectAll, runSync } from './sync-run.ts';

/** Reads CSV files in S3. */
const TAP = { name: 'pipelinewise-tap-s3-csv', version: '3.0.1', program: 'tap-s3-csv' };
/** It asks Amazon's own machines first for who it is, which takes seconds where there are none. */
const ENVIRONMENT = { AWS_EC2_METADATA_DISABLED: 'true' };
/** What it calls the option with the catalogue: with `--catalog` it ends well, and reads nothing. */
const CATALOG_OPTION = '--properties';
const COMMAND = 's3-csv';
const STREAM = 'customers';

/** The tap's program, and the file for MILLRACE_TAPS that names it. Null, and said loudly, where PyPI is out of reach. */
export async function prepareTap(folder: string): Promise<{ program: string; tapsFile: string } | null> {
  const program = await pythonProgram(TAP);
  if (program === null) return null;
  const tapsFile = join(folder, 'taps.json');
  const command = { kind: 'singer', command: [program], env: ENVIRONMENT, catalog_option: CATALOG_OPTION };
  await writeFile(tapsFile, JSON.stringify({ [COMMAND]: command }));
  return { program, tapsFile };
}

export type SingerBench = { service: RunningService; folder: string; program: string; rows: number };

/** A CSV file in S3 through a tap into attributes, against the tap alone, whose output goes nowhere. */
export async function benchSingerCsv({ service, folder, program, rows }: SingerBench): Promise<Figure> {
  const place = join(folder, 'singer');
  await mkdir(place);
  const [accessKeyId, secretAccessKey] = [randomBytes(8).toString('hex'), randomBytes(20).toString('hex')];
  const s3 = await startS3({ dataDir: place, say: () => undefined, accessKeyId, secretAccessKey });
  try {
    await putFile(s3, { accessKeyId, secretAccessKey }, place, rows);
    const config = {
      start_date: '2000-01-01T00:00:00Z', bucket: 'bench', aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey,
      aws_endpoint_url: s3.endpoint,
      tables: [{ table_name: STREAM, search_pattern: '\\.csv$', key_properties: ['email'], delimiter: ',' }],
    };
    const alone = await tapAlone(program, config, place);
    const connection = await createConnection(service, { name: 'Bench tap', connector: 'singer', settings: { tap: COMMAND, config } });
    const outcome = await runSync(service, await createSync(service, { connection, stream: STREAM }));
    expectAll(outcome, 'written', rows);
    return atLeast(`${rows.toLocaleString('en')}-row CSV through a Singer tap`, 'rows/s', rows / outcome.seconds, rows / alone, 0.8);
  } finally {
    await s3.stop();
  }
}

type Keys = { accessKeyId: string; secretAccessKey: string };

async function putFile({ endpoint, region }: EmbeddedS3, credentials: Keys, folder: string, rows: number): Promise<void> {
  const path = join(folder, 'customers.csv');
  await writeCustomers(path, rows);
  const client = new S3Client({ endpoint, region, forcePathStyle: true, credentials });
  await client.send(new CreateBucketCommand({ Bucket: 'bench' }));
  const { size } = await stat(path);
  await client.send(new PutObjectCommand({ Bucket: 'bench', Key: 'customers.csv', Body: createReadStream(path), ContentLength: size }));
  client.destroy();
}

async function writeCustomers(path: string, rows: number): Promise<void> {
  const out = createWriteStream(path);
  out.write('email,plan,score\n');
  for (let row = 0; row < rows; row += 1) {
    const customer = String((row * 7_919) % 1_000_003).padStart(7, '0');
    const line = `customer-${customer}@example.com,plan ${row % 1_013},${((row * 31) % 100_000 / 100).toFixed(2)}\n`;
    if (!out.write(line)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
}

/** Seconds that it takes to read the stream, its streams told before. A run of ours has it tell them, too. */
async function tapAlone(program: string, config: object, folder: string): Promise<number> {
  const [configPath, catalogPath] = [join(folder, 'config.json'), join(folder, 'catalog.json')];
  await writeFile(configPath, JSON.stringify(config));
  const env = { ...process.env, ...ENVIRONMENT };
  const { stdout } = await promisify(execFile)(program, ['--config', configPath, '--discover'], { env });
  const catalog = readCatalog(JSON.parse(stdout));
  if (!catalog) throw new Error('the tap told no catalogue');
  await writeFile(catalogPath, JSON.stringify(select(catalog, STREAM, { stream: STREAM, mode: 'full', cursorField: null, cursor: null })));
  const began = performance.now();
  const tap = spawn(program, ['--config', configPath, CATALOG_OPTION, catalogPath], { env, stdio: ['ignore', 'ignore', 'ignore'] });
  const [code] = await once(tap, 'exit') as [number | null];
  if (code !== 0) throw new Error(`the tap alone failed with status ${code}`);
  return (performance.now() - began) / 1000;
}
