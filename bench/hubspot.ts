import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { Pool } from 'undici';
import { BENCH_SOURCE, createSource } from './bare-sync.ts';
import type { Line, Size } from './line.ts';
import { peakMemory } from './peak-memory.ts';
import { atLeast, type Figure } from './report.ts';
import { call, type RunningService } from './service.ts';
import { createConnection, createSync, expectAll, type RunOutcome, runSync } from './sync-run.ts';

const MAIN = fileURLToPath(new URL('../test/harness/syncs/hubspot-main.ts', import.meta.url));
const IN: Record<Size, number> = { quick: 20_000, full: 200_000 };
const OUT: Record<Size, number> = { quick: 10_000, full: 100_000 };
/** Time that each answer takes, as over the internet. */
const DELAY_MS = 20;
const IN_FLIGHT = 4;

const titlesOf = (size: Size) => ({
  in: `${IN[size].toLocaleString('en')} contacts from HubSpot's local server by search`,
  out: `${OUT[size].toLocaleString('en')} records to HubSpot's local server`,
  inMemory: `memory while reading from HubSpot's local server`,
  outMemory: `memory while writing to HubSpot's local server`,
});

type Server = { url: string; key: string; cert: string };
let child: ChildProcess | undefined;
let server: Server;

/**
 * Contacts into attributes by an incremental sync, and rows of Postgres into companies by a unique property, against
 * bare calls of undici to the same server over TLS.
 */
export const hubspotSyncs: Line = {
  key: 'hubspot',
  titles: (size) => Object.values(titlesOf(size)),

  async environment({ size, folder }) {
    const path = join(folder, 'hubspot.pem');
    const environment = { NODE_EXTRA_CA_CERTS: path, MILLRACE_FETCH_ALLOW: 'localhost, 127.0.0.1' };
    if (child) return environment; // of a service that starts again
    child = spawn(process.execPath, [MAIN, String(IN[size]), String(DELAY_MS)], { stdio: ['pipe', 'pipe', 'inherit'] });
    for await (const line of createInterface({ input: child.stdout! })) {
      server = JSON.parse(line) as Server;
      break;
    }
    await writeFile(path, server.cert);
    return environment;
  },

  async *measure({ size, service: start, databaseUrl }) {
    const service = await start();
    const titles = titlesOf(size);
    try {
      const settings = { access_token: server.key, address: server.url, searches_per_second: 1_000, daily_share: 100 };
      const connection = await createConnection(service, { name: 'HubSpot', connector: 'hubspot', settings });
      const bareIn = await bareSearch(IN[size]);
      yield* peakMemory(titles.inMemory, service, async function* () {
        const sync = await createSync(service, { connection, stream: 'contacts' }, { mode: 'incremental' });
        const outcome = await runSync(service, sync);
        expectAll(outcome, 'written', IN[size]);
        yield rates(titles.in, IN[size], outcome, bareIn);
        sayRequests(outcome, IN[size]);
      });
      const bareOut = await bareUpserts(OUT[size]);
      const source = await postgresSource(service, await databaseUrl(), OUT[size]);
      yield* peakMemory(titles.outMemory, service, async function* () {
        const { identifier } = await call<{ identifier: string }>(service.url, service.token, 'POST', '/api/syncs', {
          name: 'Bench to HubSpot',
          source,
          destination: { connection, stream: 'companies', key: ['bench_no'] },
          mapping: { customer: { field: 'email' }, fields: [{ from: 'id', to: 'bench_no' }, { from: 'plan' }] },
          mode: 'full',
        });
        const outcome = await runSync(service, identifier);
        expectAll(outcome, 'written', OUT[size]);
        yield rates(titles.out, OUT[size], outcome, bareOut);
        sayRequests(outcome, OUT[size]);
      });
    } finally {
      child!.stdin!.end();
      if (child!.exitCode === null) await once(child!, 'exit');
    }
  },
};

const rates = (title: string, count: number, { seconds }: RunOutcome, bareSeconds: number): Figure =>
  atLeast(title, 'records/s', count / seconds, count / bareSeconds, 0.8);

function sayRequests({ requests }: RunOutcome, count: number): void {
  console.log(`    ${((requests * 1_000) / count).toFixed(1)} requests per 1,000 records`);
}

async function postgresSource(service: RunningService, connectionString: string, rows: number) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await createSource(client, rows);
  await client.end();
  const { hostname: host, port, pathname, username: user, password } = new URL(connectionString);
  const address = { host, port: Number(port), database: pathname.slice(1), user, password };
  const connection = await createConnection(service, {
    name: 'Bench rows for HubSpot',
    connector: 'postgres',
    settings: { ...address, tls: 'off', schema: BENCH_SOURCE.schema },
  });
  return { connection, stream: BENCH_SOURCE.stream };
}

/** Posts JSON, and returns the parsed answer. */
async function posting<T>(work: (post: <A>(path: string, body: object) => Promise<A>) => Promise<T>): Promise<T> {
  const pool = new Pool(server.url, { connect: { ca: server.cert }, connections: IN_FLIGHT });
  const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' };
  try {
    return await work(async <A>(path: string, body: object) => {
      const answer = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(body) });
      if (answer.statusCode > 299) throw new Error(`the local HubSpot answered ${answer.statusCode}`);
      return (await answer.body.json()) as A;
    });
  } finally {
    await pool.close();
  }
}

/** Returns the seconds of reading all contacts by search, a page after the other as each begins after the last id. */
function bareSearch(count: number): Promise<number> {
  return posting(async (post) => {
    const began = performance.now();
    let read = 0;
    for (let last = '0'; ;) {
      const { results } = await post<{ results: { id: string }[] }>('/crm/objects/2026-09/contacts/search', {
        filterGroups: [{ filters: [{ propertyName: 'hs_object_id', operator: 'GT', value: last }] }],
        sorts: [{ propertyName: 'hs_object_id', direction: 'ASCENDING' }],
        properties: ['email', 'plan', 'score'],
        limit: 200,
      });
      read += results.length;
      if (results.length === 0) break;
      last = results.at(-1)!.id;
    }
    if (read !== count) throw new Error(`the bare search read ${read} contacts of ${count}`);
    return (performance.now() - began) / 1_000;
  });
}

/** Returns the seconds of upserts of this many records, 100 a call and four calls in flight. */
function bareUpserts(count: number): Promise<number> {
  return posting(async (post) => {
    const began = performance.now();
    let next = 0;
    const one = async () => {
      while (next < count) {
        const first = next;
        next += 100;
        const inputs = Array.from({ length: Math.min(100, count - first) }, (_, n) => ({
          idProperty: 'bench_no',
          id: `9${first + n}`,
          properties: { bench_no: `9${first + n}`, plan: `plan ${n}` },
        }));
        await post('/crm/objects/2026-09/companies/batch/upsert', { inputs });
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, one));
    return (performance.now() - began) / 1_000;
  });
}
