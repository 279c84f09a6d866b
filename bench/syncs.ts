import pg from 'pg';
import { createBareTable } from './bare-import.ts';
import { bareSync, BENCH_SOURCE } from './bare-sync.ts';
import type { Line, Size } from './line.ts';
import { atLeast, type Figure, median } from './report.ts';
import type { RunningService } from './service.ts';
import { settle } from './settle.ts';
import { connectRows, createSync, expectAll, runSync, type Source } from './sync-run.ts';

const ROWS: Record<Size, number> = { quick: 100_000, full: 1_000_000 };
const CASES = [
  { name: 'into an empty table', fate: 'written', goal: 0.5 },
  { name: 'of which nothing changed', fate: 'unchanged', goal: 1 },
] as const;

const titleOf = (rows: number, name: string) => `Postgres sync, ${rows.toLocaleString('en')} rows ${name}`;

/**
 * A sync from Postgres to attributes, two values a row, against COPY out, COPY in and a merge; of each the run in the
 * middle.
 */
export const postgresSync: Line = {
  key: 'sync',
  titles: (size) => CASES.map(({ name }) => titleOf(ROWS[size], name)),
  async *measure(context) {
    const rows = ROWS[context.size];
    const [service, connectionString] = [await context.service(), await context.databaseUrl()];
    const clients = { source: new pg.Client({ connectionString }), client: new pg.Client({ connectionString }) };
    await Promise.all([clients.source.connect(), clients.client.connect()]);
    const from = await connectRows(service, connectionString, rows, 'Bench source');
    const runs: Figure[][] = CASES.map(() => []);
    for (let round = 1; round <= context.rounds; round += 1) {
      let index = 0;
      for await (const figure of measureRound(service, clients, from, rows)) {
        runs[index]!.push(figure);
        if (round === context.rounds) yield median(runs[index]!);
        index += 1;
      }
    }
    await clients.client.query(`DROP SCHEMA ${BENCH_SOURCE.schema} CASCADE`);
    await Promise.all([clients.source.end(), clients.client.end()]);
  },
};

type Clients = { source: pg.Client; client: pg.Client };

async function* measureRound(
  service: RunningService,
  { source, client }: Clients,
  from: Source,
  rows: number,
): AsyncIterable<Figure> {
  await client.query('TRUNCATE attribute_values, customers, attribute_change_log, sync_records');
  await createBareTable(client);
  const sync = await createSync(service, from);
  for (const { name, fate, goal } of CASES) {
    await settle(client, service);
    const bareSeconds = await bareSync(source, client);
    await settle(client, service);
    const outcome = await runSync(service, sync);
    expectAll(outcome, fate, rows);
    if (fate === 'written') await expectValues(client, 2 * rows);
    yield atLeast(titleOf(rows, name), 'rows/s', rows / outcome.seconds, rows / bareSeconds, goal);
  }
}

async function expectValues(client: pg.Client, values: number): Promise<void> {
  const { rows } = await client.query<{ ours: string; bare: string }>(
    'SELECT (SELECT count(*) FROM attribute_values) AS ours, (SELECT count(*) FROM bare_values) AS bare',
  );
  const { ours, bare } = rows[0]!;
  if (Number(ours) === values && Number(bare) === values) return;
  throw new Error(`the sync left ${ours} values, the bare one ${bare}, of ${values}`);
}
