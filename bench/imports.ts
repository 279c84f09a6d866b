import { join } from 'node:path';
import pg from 'pg';
import { bareImport, createBareTable } from './bare-import.ts';
import { goodRows, type Order, ORDERS, writeImportFile } from './import-file.ts';
import { atLeast, atMost, type Figure, median } from './report.ts';
import { createSor, importFile, peakMemoryMib, type RunningService } from './service.ts';
import { settle } from './settle.ts';

/** Added to what values are made of. */
const OTHER_VALUES = 50_021;

export type ImportBench = { service: RunningService; databaseUrl: string; folder: string; rows: number; rounds: number };

/**
 * CSV imports against bare COPY and INSERT … ON CONFLICT: empty table, filled table, nothing changed, in two orders of the
 * file; of each the run in the middle.
 */
export async function benchImports(bench: ImportBench): Promise<Figure[]> {
  const client = new pg.Client({ connectionString: bench.databaseUrl });
  await client.connect();
  const figures: Figure[] = [];
  for (const order of ORDERS) figures.push(...await benchOrder(bench, client, order));
  await client.end();
  figures.push(atMost('CSV import, peak memory of server and worker', 'MiB', peakMemoryMib(bench.service.pid), 400));
  return figures;
}

async function benchOrder({ service, folder, rows, rounds }: ImportBench, client: pg.Client, order: Order): Promise<Figure[]> {
  const file = async (name: string, bad: 'kept' | 'left out', salt: number) => {
    const path = join(folder, `${name}.csv`);
    await writeImportFile({ path, rows, order, bad, salt });
    return path;
  };
  const [first, firstGood] = [await file('first', 'kept', 0), await file('first-good', 'left out', 0)];
  const [second, secondGood] = [await file('second', 'kept', OTHER_VALUES), await file('second-good', 'left out', OTHER_VALUES)];
  const good = goodRows(rows);
  const lines = [
    { name: 'into an empty table', ours: first, bare: firstGood, goal: 1, runs: [] as Figure[] },
    { name: 'over a filled one', ours: second, bare: secondGood, goal: 1.2, runs: [] },
    { name: 'nothing changed', ours: second, bare: secondGood, goal: 2, runs: [] },
  ];
  for (let round = 0; round < rounds; round += 1) {
    await client.query('TRUNCATE attribute_values, customers, attribute_change_log');
    await createBareTable(client);
    const sor = await createSor(service);
    for (const { name, ours, bare, goal, runs } of lines) {
      await settle(client, service);
      const bareSeconds = await bareImport(client, bare);
      await settle(client, service);
      const { status, importSeconds } = await importFile(service, sor, ours);
      if (status.rows.ok !== good) throw new Error(`the import went wrong: ${JSON.stringify(status)}`);
      const title = `CSV import, ${rows.toLocaleString('en')} rows ${order}, ${name}`;
      runs.push(atLeast(title, 'rows/s', rows / importSeconds, good / bareSeconds, goal));
    }
  }
  return lines.map(({ runs }) => median(runs));
}

const SMALL_RUNS = 9;

/** An import of 10 rows, from the request to finished: the median of some runs. */
export async function benchSmallImport({ service, folder }: Pick<ImportBench, 'service' | 'folder'>): Promise<Figure> {
  const path = join(folder, 'small.csv');
  await writeImportFile({ path, rows: 10, order: 'shuffled', bad: 'none', salt: 0 });
  const sor = await createSor(service);
  const seconds: number[] = [];
  for (let run = 0; run < SMALL_RUNS; run += 1) seconds.push((await importFile(service, sor, path)).requestSeconds);
  return atMost('import of 10 rows, request to finished', 's', seconds.toSorted((a, b) => a - b)[Math.floor(SMALL_RUNS / 2)]!, 1);
}
