import { Pool } from 'undici';
import type { Line, Size } from './line.ts';
import { localVendor } from './local-vendor.ts';
import { peakMemory } from './peak-memory.ts';
import { atLeast, type Figure } from './report.ts';
import { call } from './service.ts';
import {
  connectRows,
  createConnection,
  createSync,
  expectAll,
  type RunOutcome,
  runSync,
  sayRequests,
} from './sync-run.ts';

const IN: Record<Size, number> = { quick: 20_000, full: 200_000 };
const OUT: Record<Size, number> = { quick: 10_000, full: 100_000 };
const IN_FLIGHT = 4;

const titlesOf = (size: Size) => ({
  in: `${IN[size].toLocaleString('en')} contacts from HubSpot's local server by search`,
  out: `${OUT[size].toLocaleString('en')} records to HubSpot's local server`,
  inMemory: `memory while reading from HubSpot's local server`,
  outMemory: `memory while writing to HubSpot's local server`,
});

const vendor = localVendor<{ url: string; key: string; cert: string }>('hubspot-main.ts', (size, delayMs) => [
  String(IN[size]),
  String(delayMs),
]);

/**
 * Contacts into attributes by an incremental sync, and rows of Postgres into companies by a unique property, against
 * bare calls of undici to the same server over TLS.
 */
export const hubspotSyncs: Line = {
  key: 'hubspot',
  titles: (size) => Object.values(titlesOf(size)),

  environment: (context) => vendor.start(context),

  async *measure({ size, service: start, databaseUrl }) {
    const service = await start();
    const titles = titlesOf(size);
    const { server } = vendor;
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
      const source = await connectRows(service, await databaseUrl(), OUT[size], 'Bench rows for HubSpot');
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
      await vendor.end();
    }
  },
};

const rates = (title: string, count: number, { seconds }: RunOutcome, bareSeconds: number): Figure =>
  atLeast(title, 'records/s', count / seconds, count / bareSeconds, 0.8);

/** Posts JSON, and returns the parsed answer. */
async function posting<T>(work: (post: <A>(path: string, body: object) => Promise<A>) => Promise<T>): Promise<T> {
  const { server } = vendor;
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
