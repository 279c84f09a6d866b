import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { BENCH_SOURCE, createSource } from './bare-sync.ts';
import { call, createSor, type RunningService, untilNextLook } from './service.ts';

type Made = { identifier: string };
/** Outcome of a successful run. */
export type RunOutcome = {
  records: { read: number; written: number; unchanged: number; ignored: number; failed: number };
  requests: number;
  seconds: number;
};
type Run = Pick<RunOutcome, 'records' | 'requests'> & {
  run_id: string;
  state: string;
  started_at: string;
  ended_at: string | null;
  failure: object | null;
  fault: string | null;
};

/** A source that the service reads: a connection with one of its streams. */
export type Source = { connection: string; stream: string };

export async function createConnection(
  { url, token }: RunningService,
  connection: { name: string; connector: string; settings: object },
): Promise<string> {
  return (await call<Made>(url, token, 'POST', '/api/connections', connection)).identifier;
}

/** Makes this many rows in the service's own Postgres, and a connection to them. */
export async function connectRows(
  service: RunningService,
  connectionString: string,
  rows: number,
  name: string,
): Promise<Source> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await createSource(client, rows);
  await client.end();
  const { hostname: host, port, pathname, username: user, password } = new URL(connectionString);
  const address = { host, port: Number(port), database: pathname.slice(1), user, password };
  const connection = await createConnection(service, {
    name,
    connector: 'postgres',
    settings: { ...address, tls: 'off', schema: BENCH_SOURCE.schema },
  });
  return { connection, stream: BENCH_SOURCE.stream };
}

/** Makes a sync of two fields into its own SoR, and returns it. */
export async function createSync(service: RunningService, source: Source, more: object = {}): Promise<string> {
  const { identifier: sor } = await createSor(service);
  const mapping = { customer: { field: 'email' }, fields: [{ from: 'plan' }, { from: 'score', to: 'revenue' }] };
  const sync = { name: `Bench ${sor}`, source, destination: { sor }, mapping, mode: 'full', ...more };
  return (await call<Made>(service.url, service.token, 'POST', '/api/syncs', sync)).identifier;
}

/** Runs a sync, waits for its end, and returns the seconds of the run. Throws if it did not succeed. */
export async function runSync({ url, token }: RunningService, sync: string): Promise<RunOutcome> {
  const path = `/api/syncs/${sync}`;
  const began = performance.now();
  const { run_id: id } = await call<Run>(url, token, 'POST', `${path}/run`, {});
  for (;;) {
    const run = await call<Run>(url, token, 'GET', `${path}/runs/${id}`);
    if (run.fault !== null || (run.ended_at && run.state !== 'finished'))
      throw new Error(`a sync went wrong: ${JSON.stringify(run)}`);
    if (run.ended_at)
      return {
        records: run.records,
        requests: run.requests,
        seconds: (Date.parse(run.ended_at) - Date.parse(run.started_at)) / 1000,
      };
    await delay(untilNextLook(began));
  }
}

/** Throws unless all records have this outcome. */
export function expectAll({ records }: RunOutcome, fate: 'written' | 'unchanged', rows: number): void {
  if (records.read !== rows || records[fate] !== rows)
    throw new Error(`a sync went wrong: ${JSON.stringify(records)} of ${rows} rows`);
}

export function sayRequests({ requests }: RunOutcome, records: number): void {
  console.log(`    ${((requests * 1_000) / records).toFixed(2)} requests per 1,000 records`);
}
