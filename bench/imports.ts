import { join } from 'node:path';
import pg from 'pg';
import { bareImport, createBareTable } from './bare-import.ts';
import { goodRows, type Order, ORDERS, writeImportFile } from './import-file.ts';
import type { BenchContext, Line, Size } from './line.ts';
import { peakMemory } from './peak-memory.ts';
import { atLeast, atMost, type Figure, median } from './report.ts';
import { createSor, importFile } from './service.ts';
import { settle } from './settle.ts';

/** Salt of values. */
const OTHER_VALUES = 50_021;

const ROWS: Record<Size, number> = { quick: 100_000, full: 1_000_000 };
const CASES = [
  { name: 'into an empty table', goal: 1 },
  { name: 'over a filled one', goal: 1.2 },
  { name: 'nothing changed', goal: 2 },
];
const PEAK_MEMORY = 'CSV import, peak memory of server and worker';

const titleOf = (size: Size, order: Order, name: string) =>
  `CSV import, ${ROWS[size].toLocaleString('en')} rows ${order}, ${name}`;

/**
 * CSV imports against bare COPY and INSERT … ON CONFLICT: empty table, filled table, nothing changed, in two orders of
 * the file; of each the run in the middle.
 */
export const csvImport: Line = {
  key: 'import',
  titles: (size) => [...ORDERS.flatMap((order) => CASES.map(({ name }) => titleOf(size, order, name))), PEAK_MEMORY],
  async *measure(context) {
    const client = new pg.Client({ connectionString: await context.databaseUrl() });
    await client.connect();
    yield* peakMemory(PEAK_MEMORY, await context.service(), async function* () {
      for (const order of ORDERS) yield* measureOrder(context, client, order);
    });
    await client.end();
  },
};

async function* measureOrder(context: BenchContext, client: pg.Client, order: Order): AsyncIterable<Figure> {
  const service = await context.service();
  const rows = ROWS[context.size];
  const file = async (name: string, bad: 'kept' | 'left out', salt: number) => {
    const path = join(context.folder, `${name}.csv`);
    await writeImportFile({ path, rows, order, bad, salt });
    return path;
  };
  const first = { ours: await file('first', 'kept', 0), bare: await file('first-good', 'left out', 0) };
  const second = {
    ours: await file('second', 'kept', OTHER_VALUES),
    bare: await file('second-good', 'left out', OTHER_VALUES),
  };
  const good = goodRows(rows);
  const cases = CASES.map((one, index) => ({ ...one, ...(index === 0 ? first : second), runs: [] as Figure[] }));
  for (let round = 1; round <= context.rounds; round += 1) {
    await client.query('TRUNCATE attribute_values, customers, attribute_change_log');
    await createBareTable(client);
    const sor = await createSor(service);
    for (const { name, ours, bare, goal, runs } of cases) {
      await settle(client, service);
      const bareSeconds = await bareImport(client, bare);
      await settle(client, service);
      const { status, importSeconds } = await importFile(service, sor, ours);
      if (status.rows.ok !== good) throw new Error(`the import went wrong: ${JSON.stringify(status)}`);
      runs.push(atLeast(titleOf(context.size, order, name), 'rows/s', rows / importSeconds, good / bareSeconds, goal));
      if (round === context.rounds) yield median(runs);
    }
  }
}

const SMALL_RUNS = 9;
const SMALL_IMPORT = 'import of 10 rows, request to finished';

/** An import of 10 rows, from the request to finished: the median of some runs. */
export const smallImport: Line = {
  key: 'small-import',
  titles: () => [SMALL_IMPORT],
  async *measure(context) {
    const path = join(context.folder, 'small.csv');
    await writeImportFile({ path, rows: 10, order: 'shuffled', bad: 'none', salt: 0 });
    const service = await context.service();
    const sor = await createSor(service);
    const seconds: number[] = [];
    for (let run = 0; run < SMALL_RUNS; run += 1) seconds.push((await importFile(service, sor, path)).requestSeconds);
    yield atMost(SMALL_IMPORT, 's', seconds.toSorted((a, b) => a - b)[Math.floor(SMALL_RUNS / 2)]!, 1);
  },
};
