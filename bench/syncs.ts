import pg from 'pg';
import { createBareTable } from './bare-import.ts';
import { bareSync, BENCH_SOURCE, createSource } from './bare-sync.ts';
import { atLeast, type Figure, median } from './report.ts';
import type { RunningService } from './service.ts';
import { settle } from './settle.ts';
import { createConnection, createSync, expectAll, runSync, type Source } from './sync-run.ts';

export type SyncBench = { service: RunningService; databaseUrl: string; rows: number; rounds: number };
type Clients = { source: pg.Client; client: pg.Client };

/** A sync from Postgres to attributes, two values a row, against COPY out, COPY in and a merge; of each the run in the middle. */
export async function benchPostgresSync({ service, databaseUrl, rows, rounds }: SyncBench): Promise<Figure[]> {
  const [source, client] = [new pg.Client({ connectionString: databaseUrl }), new pg.Client({ connectionString: databaseUrl })];
  await Promise.all([source.connect(), client.connect()]);
  await createSource(client, rows);
  const connection = await createConnection(service, {
    name: 'Bench source', connector: 'postgres', settings: { ...addressOf(databaseUrl), tls: 'off', schema: BENCH_SOURCE.schema },
  });
  const runs: [Figure[], Figure[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    const [first, again] = await benchRound(service, { source, client }, { connection, stream: BENCH_SOURCE.stream }, rows);
    runs[0].push(first);
    runs[1].push(again);
  }
  await client.query(`DROP SCHEMA ${BENCH_SOURCE.schema} CASCADE`);
  await Promise.all([source.end(), client.end()]);
  return runs.map(median);
}

async function benchRound(service: RunningService, { source, client }: Clients, from: Source, rows: number): Promise<[Figure, Figure]> {
  await client.query('TRUNCATE attribute_values, customers, attribute_change_log, sync_records');
  await createBareTable(client);
  const sync = await createSync(service, from);
  const line = async (fate: 'written' | 'unchanged', name: string, goal: number) => {
    await settle(client, service);
    const bareSeconds = await bareSync(source, client);
    await settle(client, service);
    const outcome = await runSync(service, sync);
    expectAll(outcome, fate, rows);
    return atLeast(`Postgres sync, ${rows.toLocaleString('en')} rows ${name}`, 'rows/s', rows / outcome.seconds, rows / bareSeconds, goal);
  };
  const first = await line('written', 'into an empty table', 0.5);
  await expectValues(client, 2 * rows);
  return [first, await line('unchanged', 'of which nothing changed', 1)];
}

async function expectValues(client: pg.Client, values: number): Promise<void> {
  const { rows } = await client.query<{ ours: string; bare: string }>(
    'SELECT (SELECT count(*) FROM attribute_values) AS ours, (SELECT count(*) FROM bare_values) AS bare');
  const { ours, bare } = rows[0]!;
  if (Number(ours) === values && Number(bare) === values) return;
  throw new Error(`the sync left ${ours} values, the bare one ${bare}, of ${values}`);
}

/** As settings of the connector `postgres`. */
function addressOf(databaseUrl: string): object {
  const { hostname: host, port, pathname, username: user, password } = new URL(databaseUrl);
  return { host, port: Number(port), database: pathname.slice(1), user, password };
}
