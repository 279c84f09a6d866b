import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { Pool } from 'undici';
import { DAY_MS, MINUTE_MS } from '../domain/time/durations.ts';
import type { BenchContext, Line, Size } from './line.ts';
import { atLeast, atMost, type Figure, median } from './report.ts';
import { call, type RunningService } from './service.ts';

/** Calls of a request, and their devices. */
const PER_BATCH = 100;
const DEVICES_PER_BATCH = 5;
/** Number of events of a device, over some sessions. */
const PER_DEVICE = 200;
/** Requests under way at once. */
const CLIENTS = 32;

/** Tables that a batch writes to. */
const TABLES = [
  'events',
  'event_messages',
  'sessions',
  'session_heads',
  'devices',
  'device_users',
  'event_definitions',
  'ingested_batches',
  'tracked_counts',
];

const EVENTS: Record<Size, number> = { quick: 20_000, full: 200_000 };
/** Duration of answers at half of the top rate. */
const SECONDS: Record<Size, number> = { quick: 5, full: 30 };

const titleOf = (size: Size) => `event ingestion, ${EVENTS[size].toLocaleString('en')} in batches of ${PER_BATCH}`;
const P50 = 'event ingestion at half of that rate, the answer: p50';
const P99 = 'event ingestion at half of that rate, the answer: p99';

/**
 * Calls of SDKs, from the first request to the last answer, against COPY of the rows that they became into tables with
 * the same indexes; then how long an answer takes at half of that rate.
 */
export const ingestion: Line = {
  key: 'ingestion',
  titles: (size) => [titleOf(size), P50, P99],
  async *measure(context) {
    const client = new pg.Client({ connectionString: await context.databaseUrl() });
    await client.connect();
    const rounds: Round[] = [];
    for (let round = 0; round < context.rounds; round += 1) rounds.push(await measureRound(context, client, round));
    const figure = median(rounds.map((round) => round.figure));
    yield figure;
    const { batchesPerSecond } = rounds.find((round) => round.figure === figure)!;
    const delays = await delaysAt(await context.service(), batchesPerSecond / 2, SECONDS[context.size]);
    await client.end();
    yield atMost(P50, 'ms', quantile(delays, 0.5), 50);
    yield atMost(P99, 'ms', quantile(delays, 0.99), 500);
  },
};

type Round = { figure: Figure; batchesPerSecond: number };

async function measureRound(context: BenchContext, client: pg.Client, round: number): Promise<Round> {
  const service = await context.service();
  const events = EVENTS[context.size];
  await client.query(`TRUNCATE ${TABLES.join(', ')}`);
  await client.query('CHECKPOINT');
  const batches = batchesOf(await makeKey(service), events / PER_BATCH, `r${round}`);
  const seconds = await send(service, batches);
  const { rows } = await client.query<{ there: string }>('SELECT count(*) AS there FROM events');
  if (Number(rows[0]!.there) !== events) throw new Error(`the calls brought ${rows[0]!.there} of ${events} events`);
  const bareSeconds = await copyBare(client, context.folder);
  const figure = atLeast(titleOf(context.size), 'events/s', events / seconds, events / bareSeconds, 0.4);
  return { figure, batchesPerSecond: events / PER_BATCH / seconds };
}

/** Makes an app, and returns its key. */
async function makeKey({ url, token }: RunningService): Promise<string> {
  const name = `bench${process.hrtime.bigint()}`;
  const { identifier } = await call<{ identifier: string }>(url, token, 'POST', '/api/apps', {
    name,
    package_name: `com.example.${name}`,
    app_type: 'Android App',
    session_timeout: 120,
  });
  return (await call<{ api_key: string }>(url, token, 'POST', `/api/apps/${identifier}/api_keys`, {})).api_key;
}

/** Returns bodies in memory; those of a device follow each other, as it sends them. */
function batchesOf(writeKey: string, batches: number, mark: string): string[] {
  const start = Date.now() - 2 * DAY_MS;
  const perDevice = PER_BATCH / DEVICES_PER_BATCH;
  return Array.from({ length: batches }, (_batch, batch) => {
    const part = batch % (PER_DEVICE / perDevice);
    const group = Math.floor(batch / (PER_DEVICE / perDevice));
    const calls = Array.from({ length: PER_BATCH }, (_call, index) => {
      const device = `${mark}-${((group * DEVICES_PER_BATCH + (index % DEVICES_PER_BATCH)) * 7_919) % 1_000_003}`;
      const nth = Math.floor(index / DEVICES_PER_BATCH);
      return callOf(device, `${mark}-${batch}-${index}`, start + part * 5 * MINUTE_MS + nth * 5_000, index);
    });
    return JSON.stringify({ batch: calls, writeKey, sentAt: new Date().toISOString() });
  });
}

/** Returns a call as Android's SDK makes it for a screen. */
function callOf(device: string, messageId: string, at: number, index: number): object {
  return {
    type: 'track',
    event: `Product ${['Viewed', 'Added', 'Removed', 'Shared'][index % 4]}`,
    messageId,
    timestamp: new Date(at).toISOString(),
    anonymousId: device,
    ...(index % 2 === 0 ? { userId: `user-${device}` } : {}),
    properties: {
      product_id: `p-${index * 37}`,
      price: index + 0.5,
      currency: 'EUR',
      category: 'Shoes',
      in_stock: true,
    },
    context: {
      app: { name: 'Shop', version: '4.2.0', namespace: 'com.example.shop' },
      device: { id: device, model: 'Pixel 8', type: 'android' },
      library: { name: 'analytics-kotlin', version: '1.16.0' },
      locale: 'fr-FR',
      network: { carrier: 'Carrier' },
      os: { name: 'Android', version: '14' },
      timezone: 'Europe/Paris',
    },
  };
}

/** Returns the seconds until the last one is acknowledged. */
async function send({ url }: RunningService, batches: string[]): Promise<number> {
  const pool = new Pool(url, { connections: CLIENTS });
  const waiting = batches.toReversed();
  const began = performance.now();
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (let body = waiting.pop(); body !== undefined; body = waiting.pop()) await post(pool, body);
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  await pool.close();
  return seconds;
}

async function post(pool: Pool, body: string): Promise<void> {
  const reply = await pool.request({
    method: 'POST',
    path: '/v1/batch',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const answer = (await reply.body.json()) as { accepted?: number };
  if (answer.accepted !== PER_BATCH) throw new Error(`a batch was not taken: ${JSON.stringify(answer)}`);
}

/** Returns the seconds of COPY of the same rows, from files, into tables like theirs. */
async function copyBare(client: pg.Client, folder: string): Promise<number> {
  const file = (table: string) => join(folder, `bare-${table}.copy`);
  for (const table of TABLES) {
    await client.query(`DROP TABLE IF EXISTS bare_${table}; CREATE TABLE bare_${table} (LIKE ${table} INCLUDING ALL)`);
    await pipeline(client.query(copyTo(`COPY (SELECT * FROM ${table}) TO STDOUT`)), createWriteStream(file(table)));
  }
  await client.query('CHECKPOINT');
  const began = performance.now();
  for (const table of TABLES) {
    await pipeline(
      createReadStream(file(table), { highWaterMark: 256 * 1024 }),
      client.query(copyFrom(`COPY bare_${table} FROM STDIN`)),
    );
  }
  const seconds = (performance.now() - began) / 1000;
  await client.query(TABLES.map((table) => `DROP TABLE bare_${table}`).join('; '));
  return seconds;
}

/** Milliseconds from when each batch was due to its answer, in order of size: a slow one delays no other's start. */
async function delaysAt(service: RunningService, batchesPerSecond: number, seconds: number): Promise<number[]> {
  const batches = batchesOf(await makeKey(service), Math.ceil(batchesPerSecond * seconds), 'half');
  const pool = new Pool(service.url, { connections: CLIENTS });
  const began = performance.now();
  const answers: Promise<number>[] = [];
  for (const [nth, body] of batches.entries()) {
    const due = began + (nth * 1000) / batchesPerSecond;
    await delay(Math.max(0, due - performance.now()));
    answers.push(post(pool, body).then(() => performance.now() - due));
  }
  const delays = await Promise.all(answers);
  await pool.close();
  return delays.toSorted((a, b) => a - b);
}

function quantile(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}
