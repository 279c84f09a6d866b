import { readdirSync, readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { MAX_NESTING } from '../api/core/input.ts';
import { parseJsonAtOnce } from '../domain/json/parse-json.ts';
import type { Line, Size } from './line.ts';
import { atMost, atMostTimes } from './report.ts';
import { createSor, type RunningService } from './service.ts';

const KIB = 1024;
const MIB = KIB ** 2;
/** Requests of each kind in a batch, and batches; below the limit of unknown write keys of an address a minute. */
const REQUESTS = 5;
const BATCHES = 5;

type Sent = { path: string; body: Buffer; headers?: Record<string, string> };

const filled = (text: string, bytes: number) => text.repeat(Math.ceil(bytes / text.length)).slice(0, bytes);
const numbers = (bytes: number) =>
  `{"customer_attribute_values":[${filled('1e1,', bytes - 100)}1],"sor":"sor_x","api_key":"k"}`;

/** The most expensive requests that we know, all without valid credentials. */
const DEAREST: Record<string, Sent> = {
  'a login with numbers': { path: '/api/login', body: Buffer.from(numbers(64 * KIB)) },
  'a login that breaks off': { path: '/api/login', body: Buffer.from(`[${filled('1,', 64 * KIB - 2)}`) },
  'a feed with numbers': { path: '/api/attribute_values', body: Buffer.from(numbers(64 * KIB)) },
  'a feed with __proto__': {
    path: '/api/attribute_values',
    body: Buffer.from(`[${filled('{"__proto__":1},', 64 * KIB - 20)}1]`),
  },
  'a feed of 256 KiB': { path: '/api/attribute_values', body: Buffer.from(numbers(255 * KIB)) },
  'a feed of 10 MiB': { path: '/api/attribute_values', body: Buffer.from(numbers(10 * MIB - KIB)) },
  'calls of SDKs, zipped': {
    path: '/v1/batch',
    headers: { 'content-encoding': 'gzip' },
    body: gzipSync(`{"writeKey":"Unknown-key-1","batch":[${filled('1e1,', 499 * KIB)}1]}`),
  },
  'calls of SDKs': {
    path: '/v1/batch',
    body: Buffer.from(`{"writeKey":"Unknown-key-1","batch":[${filled('1e1,', 63 * KIB)}1]}`),
  },
};
const UNVERIFIED = 'the dearest request without credentials, CPU of the server';

/** Requests, each on its own connection, to a service that has just started: their compilation counts. */
const FIRST_REQUESTS = 40;
const FIRST: Sent = { path: '/v1/batch', body: Buffer.from(`{"batch":[${filled('1e1,', 500 * KIB)}1]}`) };
const FIRST_TITLE = `the first ${FIRST_REQUESTS} requests of 500 KiB without a key, CPU of the server for each`;

/** Measures the CPU of the whole process, less the service's own work. */
export const unverified: Line = {
  key: 'unverified',
  titles: () => [FIRST_TITLE, UNVERIFIED],
  async *measure(context) {
    const service = await context.restartService();
    const idle = await cpuPerMs(service, () => delay(5_000));
    yield atMost(FIRST_TITLE, 'ms', await cpuOfEach(service, FIRST, FIRST_REQUESTS, idle), 5);
    let [dearest, most] = ['', 0];
    // Warms up, so that compilation counts for no request.
    for (let warm = 0; warm < 30; warm += 1) await post(service, DEAREST['a login with numbers']!, 400);
    for (const [name, sent] of Object.entries(DEAREST)) {
      for (let warm = 0; warm < 3; warm += 1) await post(service, sent, 400);
      await delay(1_000); // what the kind before has left behind is collected
      const batches: number[] = [];
      for (let batch = 0; batch < BATCHES; batch += 1) {
        await delay(700); // a sweep of the service meets one batch, not all
        batches.push(await cpuOfEach(service, sent, REQUESTS, idle));
      }
      const ownMs = batches.toSorted((a, b) => a - b)[Math.floor(BATCHES / 2)]!;
      console.log(`    ${name}: ${ownMs.toFixed(1)} ms`);
      if (ownMs > most) [dearest, most] = [name, ownMs];
    }
    if (dearest === '') throw new Error('no request took any CPU');
    yield atMost(UNVERIFIED, 'ms', most, 5);
  },
};

/** Returns ms a request, less the service's own work, which one batch may meet by chance. */
async function cpuOfEach(service: RunningService, sent: Sent, requests: number, idle: number): Promise<number> {
  const began = performance.now();
  const cpuMs = await cpuOf(service, async () => {
    for (let index = 0; index < requests; index += 1) await post(service, sent, 400);
  });
  return (cpuMs - idle * (performance.now() - began)) / requests;
}

/** Returns ns of each thread of the running process. */
function cpuOfThreads(pid: number): Map<string, number> {
  const threads = `/proc/${pid}/task`;
  return new Map(
    readdirSync(threads).map((thread) => {
      try {
        return [thread, Number(readFileSync(`${threads}/${thread}/schedstat`, 'utf8').split(' ')[0])];
      } catch {
        return [thread, 0]; // it ended meanwhile
      }
    }),
  );
}

/** Returns ms; threads that have ended are not counted. */
async function cpuOf({ pid }: RunningService, work: () => Promise<unknown>): Promise<number> {
  const before = cpuOfThreads(pid);
  await work();
  const ns = [...cpuOfThreads(pid)].map(([thread, after]) => Math.max(0, after - (before.get(thread) ?? 0)));
  return ns.reduce((sum, each) => sum + each, 0) / 1e6;
}

async function cpuPerMs(service: RunningService, work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  return (await cpuOf(service, work)) / (performance.now() - began);
}

const JSON_BYTES: Record<Size, number> = { quick: 2_000_000, full: 10_000_000 };
const VALUE = '{"attribute_key":"name","attribute_value":"some text","customer_id":"customer-0000001","price":12.5},';
const ROUNDS = 9;
const parsing = (size: Size) => `a JSON body of ${JSON_BYTES[size] / 1e6} MB with credentials, request to refused`;
const parsingAlone = (size: Size) => `parsing ${JSON_BYTES[size] / 1e6} MB of JSON, digits kept and nesting bounded`;
const BESIDE = 'the same, the slowest answer to others meanwhile';

/**
 * Measures a body whose only fault shows after parsing, against JSON.parse of its text; the delay of other requests;
 * and parsing alone, against JSON.parse of the same bytes.
 */
export const largeBodies: Line = {
  key: 'json',
  titles: (size) => [parsing(size), BESIDE, parsingAlone(size)],
  async *measure(context) {
    const service = await context.service();
    const sor = await createSor(service);
    const values = filled(VALUE, JSON_BYTES[context.size]);
    const text = `{"sor":"${sor.identifier}","api_key":"${sor.apiKey}","values":[${values.slice(0, values.lastIndexOf('{'))}{}]}`;
    const sent = { path: '/api/attribute_values', body: Buffer.from(text) };
    const [ours, bare]: [number[], number[]] = [[], []];
    let slowest = 0;
    for (let round = 0; round <= ROUNDS; round += 1) {
      const began = performance.now();
      await post(service, sent, 400);
      ours.push((performance.now() - began) / 1000);
      slowest = Math.max(slowest, await slowestBeside(service, post(service, sent, 400)));
      const parseBegan = performance.now();
      JSON.parse(text);
      bare.push((performance.now() - parseBegan) / 1000);
    }
    yield atMostTimes(parsing(context.size), middle(ours), middle(bare), 1.5);
    yield atMost(BESIDE, 'ms', slowest, 100);
    const [parsed, bareParsed] = timeParsing(sent.body);
    yield atMostTimes(parsingAlone(context.size), middle(parsed), middle(bareParsed), 1.5);
  },
};

/** Returns the median of the rounds without the first, which compiles the code. */
function middle([, ...rounds]: number[]): number {
  return rounds.toSorted((a, b) => a - b)[Math.floor(rounds.length / 2)]!;
}

/** Returns seconds of each round: ours, and bare. */
function timeParsing(bytes: Buffer): [number[], number[]] {
  const [ours, bare]: [number[], number[]] = [[], []];
  const time = (all: number[], parse: () => unknown) => {
    const began = performance.now();
    parse();
    all.push((performance.now() - began) / 1000);
  };
  for (let round = 0; round <= 3 * ROUNDS; round += 1) {
    time(ours, () => parseJsonAtOnce(bytes, { maxNesting: MAX_NESTING, exactNumbers: true }));
    time(bare, () => JSON.parse(bytes.toString()));
  }
  return [ours, bare];
}

/** Returns the slowest of requests in sequence until `posted` is answered. */
async function slowestBeside({ url }: RunningService, posted: Promise<unknown>): Promise<number> {
  let isOver = false;
  void posted.finally(() => {
    isOver = true;
  });
  let slowest = 0;
  while (!isOver) {
    const began = performance.now();
    await fetch(`${url}/health/live`).then((reply) => reply.text());
    slowest = Math.max(slowest, performance.now() - began);
  }
  return slowest;
}

const CLOSED = new Set(['ECONNRESET', 'EPIPE']);

/** Posts the body as one buffer. Refuses an answer below `status`. */
function post({ url }: RunningService, { path, body, headers = {} }: Sent, status: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      url + path,
      {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': body.length, ...headers },
      },
      (reply) => {
        reply.resume();
        reply.on('end', () =>
          reply.statusCode! >= status ? resolve() : reject(new Error(`${path} answered ${reply.statusCode}`)),
        );
      },
    );
    // A refused client may find the connection closed before it reads the answer.
    request.on('error', (error: NodeJS.ErrnoException) => (CLOSED.has(error.code ?? '') ? resolve() : reject(error)));
    request.end(body);
  });
}
