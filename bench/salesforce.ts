import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { pipeline } from 'node:stream/promises';
import { type Dispatcher, Pool } from 'undici';
import { createBareTable } from './bare-import.ts';
import { bareMerge } from './bare-sync.ts';
import type { Line, Size } from './line.ts';
import { localVendor } from './local-vendor.ts';
import { peakMemory } from './peak-memory.ts';
import { atLeast } from './report.ts';
import { call } from './service.ts';
import { settle } from './settle.ts';
import { connectRows, createConnection, createSync, expectAll, runSync, sayRequests } from './sync-run.ts';

const IN: Record<Size, number> = { quick: 100_000, full: 1_000_000 };
const OUT: Record<Size, number> = { quick: 10_000, full: 100_000 };
const IN_FLIGHT = 4;
const PER_CALL = 200;
/** Number of rows in a page of a Bulk result, as the connector asks for them. */
const PAGE_ROWS = 50_000;
const API = '/services/data/v67.0';

const titlesOf = (size: Size) => ({
  in: `${IN[size].toLocaleString('en')} rows from Salesforce's local server by Bulk`,
  out: `${OUT[size].toLocaleString('en')} records to Salesforce's local server`,
  inMemory: `memory while reading from Salesforce's local server`,
  outMemory: `memory while writing to Salesforce's local server`,
});

type Server = { url: string; clientId: string; clientSecret: string; cert: string };
const vendor = localVendor<Server>('salesforce-main.ts', (size, delayMs) => [
  `--generated=${IN[size]}`,
  `--delay-ms=${delayMs}`,
  '--contacts=0',
  '--tls',
]);

/**
 * Contacts into attributes by a Bulk job, against the pages of one in COPY and a merge; and rows of Postgres into
 * contacts by an external id, against bare calls of undici. Both sides use the same server over TLS.
 */
export const salesforceSyncs: Line = {
  key: 'salesforce',
  titles: (size) => Object.values(titlesOf(size)),
  environment: (context) => vendor.start(context),

  async *measure({ size, service: start, databaseUrl }) {
    const service = await start();
    const titles = titlesOf(size);
    const [rows, records] = [IN[size], OUT[size]];
    const { url: address, clientId, clientSecret } = vendor.server;
    const client = new pg.Client({ connectionString: await databaseUrl() });
    await client.connect();
    try {
      const settings = { address, client_id: clientId, client_secret: clientSecret, daily_share: 100 };
      const connection = await createConnection(service, { name: 'Salesforce', connector: 'salesforce', settings });
      await client.query('TRUNCATE attribute_values, customers, attribute_change_log, sync_records');
      await createBareTable(client);
      const mapping = {
        customer: { field: 'Email' },
        fields: [
          { from: 'Title', to: 'plan' },
          { from: 'Score__c', to: 'revenue' },
        ],
      };
      const sync = await createSync(service, { connection, stream: 'Contact' }, { mapping });
      const bareIn = await bareBulk(client, rows);
      await settle(client, service);
      yield* peakMemory(titles.inMemory, service, async function* () {
        const outcome = await runSync(service, sync);
        expectAll(outcome, 'written', rows);
        yield atLeast(titles.in, 'rows/s', rows / outcome.seconds, rows / bareIn, 0.5);
        sayRequests(outcome, rows);
      });
      const source = await connectRows(service, await databaseUrl(), records, 'Bench rows for Salesforce');
      const bareOut = await bareUpserts(records);
      yield* peakMemory(titles.outMemory, service, async function* () {
        const { identifier } = await call<{ identifier: string }>(service.url, service.token, 'POST', '/api/syncs', {
          name: 'Bench to Salesforce',
          source,
          destination: { connection, stream: 'Contact', key: ['Customer_Id__c'] },
          mapping: {
            customer: { field: 'email' },
            fields: [
              { from: 'id', to: 'Customer_Id__c' },
              { from: 'plan', to: 'LastName' },
            ],
          },
          mode: 'full',
        });
        const outcome = await runSync(service, identifier);
        expectAll(outcome, 'written', records);
        yield atLeast(titles.out, 'records/s', records / outcome.seconds, records / bareOut, 0.8);
        sayRequests(outcome, records);
      });
    } finally {
      await client.end();
      await vendor.end();
    }
  },
};

type Send = (
  method: Dispatcher.HttpMethod,
  path: string,
  body?: object,
  query?: Record<string, string>,
) => Promise<Dispatcher.ResponseData>;

/** Gives bare calls of the API, with a token, and ends their connections. */
async function calling<T>(work: (send: Send) => Promise<T>): Promise<T> {
  const { url, cert, clientId, clientSecret } = vendor.server;
  const pool = new Pool(url, { connect: { ca: cert }, connections: IN_FLIGHT });
  const request = async (options: Omit<Dispatcher.RequestOptions, 'origin'>) => {
    const answer = await pool.request(options);
    if (answer.statusCode > 299) throw new Error(`the local Salesforce answered ${answer.statusCode}`);
    return answer;
  };
  try {
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
    const granted = await request({
      method: 'POST',
      path: '/services/oauth2/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `${new URLSearchParams(form)}`,
    });
    const { access_token: token } = (await granted.body.json()) as { access_token: string };
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return await work((method, path, body, query = {}) =>
      request({ method, path: API + path, query, headers, ...(body && { body: JSON.stringify(body) }) }),
    );
  } finally {
    await pool.close();
  }
}

/** Returns the seconds of a Bulk job whose pages go into COPY, one after the other, and of a merge. */
function bareBulk(client: pg.Client, rows: number): Promise<number> {
  return calling(async (send) => {
    const seconds = await bareMerge(client, async () => {
      const job = { operation: 'query', query: 'SELECT Email, Title, Score__c FROM Contact', contentType: 'CSV' };
      const { id } = (await (await send('POST', '/jobs/query', job)).body.json()) as { id: string };
      for (let state = ''; state !== 'JobComplete'; await delay(100))
        ({ state } = (await (await send('GET', `/jobs/query/${id}`)).body.json()) as { state: string });
      const page = { maxRecords: String(PAGE_ROWS) };
      for (let locator: string | null = null; locator !== 'null';) {
        const query = locator === null ? page : { ...page, locator };
        const { body, headers } = await send('GET', `/jobs/query/${id}/results`, undefined, query);
        await pipeline(body, client.query(copyFrom('COPY bare_staged FROM STDIN (FORMAT csv, HEADER)')));
        locator = String(headers['sforce-locator']);
      }
      await (await send('DELETE', `/jobs/query/${id}`)).body.dump();
    });
    const { rows: counted } = await client.query<{ count: string }>('SELECT count(*) FROM bare_values');
    const [{ count }] = counted as [{ count: string }];
    if (Number(count) !== 2 * rows) throw new Error(`the bare job left ${count} values of ${rows} rows`);
    return seconds;
  });
}

/** Returns the seconds of upserts of this many records, 200 a call and four calls in flight. */
function bareUpserts(count: number): Promise<number> {
  return calling(async (send) => {
    const began = performance.now();
    let next = 0;
    const one = async () => {
      while (next < count) {
        const first = next;
        next += PER_CALL;
        const records = Array.from({ length: Math.min(PER_CALL, count - first) }, (_, n) => ({
          attributes: { type: 'Contact' },
          Customer_Id__c: `9${first + n}`,
          LastName: `plan ${n}`,
        }));
        const body = { allOrNone: false, records };
        const answer = await send('PATCH', '/composite/sobjects/Contact/Customer_Id__c', body);
        const results = (await answer.body.json()) as { success: boolean }[];
        if (!results.every(({ success }) => success)) throw new Error('the local Salesforce refused a record');
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, one));
    return (performance.now() - began) / 1_000;
  });
}
