import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { DAY_MS } from '../domain/time/durations.ts';
import { startS3 } from '../runtime/embedded/s3.ts';
import { openDatabase } from '../store/core/database.ts';
import type { ExportScope } from '../store/exports/export-sources.ts';
import { logs } from '../store/exports/export-sources/logs.ts';
import { ensurePartitions } from '../store/tracking/event-partitions.ts';
import type { Line, Size } from './line.ts';
import { peakMemory } from './peak-memory.ts';
import { atLeast, type Figure, median } from './report.ts';
import { call, type RunningService, untilNextLook } from './service.ts';

const BUCKET = 'bench';
const SUBFOLDER = 'exports';
/** Size of a part of the upload, as in ours. */
const PART_BYTES = 8 * 1024 ** 2;
const TABLES = 'events, event_messages, sessions, session_heads, devices, device_users, locations, crashes';

const EVENTS: Record<Size, number> = { quick: 200_000, full: 5_000_000 };
const CASES = [
  { encryption: '', goal: 1 },
  { encryption: 'AES-256-CBC', goal: 0.9 },
];
const PEAK_MEMORY = 'daily export, peak memory of server and worker';

type App = { identifier: string; id: number; entityId: number };
type Bucket = { client: S3Client; settings: object; stop(): Promise<void> };

const titleOf = (size: Size, encryption: string) =>
  `daily export of ${EVENTS[size].toLocaleString('en')} events to S3${encryption && `, ${encryption}`}`;

/**
 * The events of a window, from the claim of its run to its end, plain and encrypted, against COPY of the same columns
 * through `gzip -1` into one upload. A window is exported once before, and then again, so that the time has no wait for
 * the window's end in it.
 */
export const dailyExport: Line = {
  key: 'export',
  titles: (size) => [...CASES.map(({ encryption }) => titleOf(size, encryption)), PEAK_MEMORY],
  async *measure(context) {
    const [service, databaseUrl] = [await context.service(), await context.databaseUrl()];
    const events = EVENTS[context.size];
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    const bucket = await openBucket(context.folder);
    try {
      await makePartitions(databaseUrl);
      const app = await fill(client, await makeApp(service), events);
      const first = await Promise.all(
        CASES.map(({ encryption }) => firstRun(service, bucket, app, encryption, events)),
      );
      yield* peakMemory(PEAK_MEMORY, service, async function* () {
        for (const [index, { encryption, goal }] of CASES.entries()) {
          const runs: Figure[] = [];
          for (let round = 0; round < context.rounds; round += 1) {
            await client.query('CHECKPOINT');
            const seconds = await secondsOf(client, await rerun(service, first[index]!, events));
            const bareSeconds = await bareExport(client, bucket, app);
            runs.push(
              atLeast(titleOf(context.size, encryption), 'rows/s', events / seconds, events / bareSeconds, goal),
            );
          }
          yield median(runs);
        }
      });
    } finally {
      await bucket.stop();
      await client.end();
    }
  },
};

async function openBucket(folder: string): Promise<Bucket> {
  const [accessKeyId, secretAccessKey] = [randomBytes(8).toString('hex'), randomBytes(20).toString('hex')];
  const { endpoint, region, stop } = await startS3({ dataDir: folder, say: () => {}, accessKeyId, secretAccessKey });
  const client = new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  });
  await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
  return {
    client,
    settings: {
      export_configuration: 'aws_secret_key',
      aws_access_key_id: accessKeyId,
      aws_secret_access_key: secretAccessKey,
      aws_region: region,
      endpoint,
      bucket_name: BUCKET,
      subfolder: SUBFOLDER,
    },
    stop,
  };
}

async function makeApp({ url, token }: RunningService): Promise<string> {
  const name = `bench${process.hrtime.bigint()}`;
  const app = { name, package_name: `com.example.${name}`, app_type: 'Android App' };
  return (await call<{ identifier: string }>(url, token, 'POST', '/api/apps', app)).identifier;
}

/** Makes partitions of the last day; the service makes current and later ones. */
async function makePartitions(url: string): Promise<void> {
  const db = openDatabase({ url, max: 1 });
  await ensurePartitions(db, [Date.now() - 2 * DAY_MS, Date.now()]);
  await db.end();
}

/** Inserts events of the last day in order, five thousand devices at a time, five events a session. */
async function fill(client: pg.Client, identifier: string, events: number): Promise<App> {
  const {
    rows: [app],
  } = await client.query<{ id: number; entity_id: number }>('SELECT id, entity_id FROM apps WHERE identifier = $1', [
    identifier,
  ]);
  await client.query(`TRUNCATE ${TABLES}`);
  await client.query(
    `INSERT INTO events (entity_id, app_id, happened_at, received_at, session_id, log_type, utc_offset, device_id, user_id, name, detail)
     SELECT $1, $2, came - interval '2 seconds', came, n / 25000 * 5000 + n % 5000, 2, 60,
       'device-' || lpad((n % 5000 * 7919::bigint % 1000003)::text, 12, '0'),
       CASE n % 2 WHEN 0 THEN 'user-' || lpad((n % 5000 * 7919::bigint % 1000003)::text, 12, '0') END,
       'Product ' || (ARRAY['Viewed', 'Added', 'Removed', 'Shared'])[1 + n % 4],
       jsonb_build_object('product_id', 'p-' || n % 977, 'price', n % 100 + 0.5, 'currency', 'EUR', 'in_stock', true)
     FROM (SELECT n, now() - interval '1 day' * (1 - n / ${events}.0) AS came FROM generate_series(0, ${events - 1}) n) AS sent`,
    [app!.entity_id, app!.id],
  );
  await client.query('VACUUM (ANALYZE) events');
  return { identifier, id: app!.id, entityId: app!.entity_id };
}

type Run = { exporter: string; identifier: string };
type RunState = { state: string; rows: number; failure: { message: string } | null; fault: string | null };

/** Exports all events, once the window is closed. */
async function firstRun(
  service: RunningService,
  { settings }: Bucket,
  app: App,
  encryption: string,
  events: number,
): Promise<Run> {
  const encrypted =
    encryption === '' ? {} : { encryption_type: encryption, encryption_key: randomBytes(32).toString('hex') };
  const exporter = await call<{ identifier: string }>(service.url, service.token, 'POST', '/api/data_exporters', {
    ...settings,
    ...encrypted,
    name: `bench ${encryption}`,
    app_ids: [app.identifier],
    exported_data: ['logs'],
  });
  const { identifier } = await call<{ identifier: string }>(
    service.url,
    service.token,
    'POST',
    `/api/data_exporters/${exporter.identifier}/runs`,
    {},
  );
  await ended(service, identifier, events);
  return { exporter: exporter.identifier, identifier };
}

/** Exports the window of a run again. Returns the new run. */
async function rerun({ url, token }: RunningService, run: Run, events: number): Promise<string> {
  const { identifier } = await call<{ identifier: string }>(
    url,
    token,
    'POST',
    `/api/data_exporters/${run.exporter}/runs/${run.identifier}/rerun`,
    {},
  );
  await ended({ url, token }, identifier, events);
  return identifier;
}

async function secondsOf(client: pg.Client, run: string): Promise<number> {
  const {
    rows: [took],
  } = await client.query<{ seconds: string }>(
    'SELECT extract(epoch FROM ended_at - started_at) AS seconds FROM export_runs WHERE identifier = $1',
    [run],
  );
  return Number(took!.seconds);
}

async function ended(
  { url, token }: Pick<RunningService, 'url' | 'token'>,
  run: string,
  events: number,
): Promise<void> {
  for (const began = performance.now(); ; await delay(untilNextLook(began))) {
    const { state, rows, failure, fault } = await call<RunState>(url, token, 'GET', `/api/export_runs/${run}`);
    if (state === 'accepted' || state === 'running') continue;
    if (state !== 'finished' || rows !== events)
      throw new Error(`a run ${state} with ${rows} rows: ${failure?.message ?? fault}`);
    return;
  }
}

/** Exports as hand-written code would. Returns the seconds it took. */
async function bareExport(client: pg.Client, bucket: Bucket, app: App): Promise<number> {
  const scope: ExportScope = {
    entityId: app.entityId,
    apps: [app],
    sors: [],
    window: { kind: 'received', start: null, end: new Date() },
    format: 'csv',
  };
  await client.query('CHECKPOINT');
  const began = performance.now();
  const rows = client.query(
    copyTo(`COPY (SELECT ${logs.columns(scope)} FROM events r WHERE ${logs.condition(scope)}) TO STDOUT (FORMAT csv)`),
  );
  const gzip = spawn('gzip', ['-1'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const params = { Bucket: BUCKET, Key: `bare/${process.hrtime.bigint()}.csv.gz`, Body: gzip.stdout };
  await Promise.all([
    pipeline(rows, gzip.stdin),
    new Upload({ client: bucket.client, params, partSize: PART_BYTES, queueSize: 2 }).done(),
  ]);
  return (performance.now() - began) / 1000;
}
