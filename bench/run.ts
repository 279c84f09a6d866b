import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { benchErasure } from './erasure.ts';
import { benchExports } from './exports.ts';
import { benchFeed } from './feed.ts';
import { benchImports, benchSmallImport } from './imports.ts';
import { benchIngestion } from './ingestion.ts';
import { benchProfiles } from './profiles.ts';
import { atMost, type Figure, markdown } from './report.ts';
import { peakMemoryMib, startService } from './service.ts';
import { benchSingerCsv, prepareTap } from './singer.ts';
import { benchPostgresSync } from './syncs.ts';

/** `npm run bench [-- --quick] [-- --json FILE]`: every figure, both sides measured in this one run. */
const { values: { quick, json } } = parseArgs({ options: { quick: { type: 'boolean', default: false }, json: { type: 'string' } } });

const PORT = 18_080;
/** Of so many runs of what varies much the one in the middle is told. */
const rounds = quick ? 1 : 3;
const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
await chmod(folder, 0o711);       // started as root, Postgres passes through it as another user
const dataDir = join(folder, 'data');
try {
  const figures = await measure();
  const [cpu] = cpus();
  const machine = `${cpus().length} × ${cpu!.model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
  console.log(`${new Date().toISOString().slice(0, 10)}, ${machine}\n\n${markdown(figures)}`);
  const rows = figures.map(({ name, ratio, goal, reached }) => ({ name, ratio, goal, reached }));
  if (json) await writeFile(json, JSON.stringify(rows, null, 2));
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function measure(): Promise<Figure[]> {
  const cold = await startService(dataDir, PORT);
  await cold.stop();
  const tap = await prepareTap(folder);
  const service = await startService(dataDir, PORT, tap ? { MILLRACE_TAPS: tap.tapsFile } : {});
  try {
    const databaseUrl = await embeddedUrl();
    const rows = quick ? 100_000 : 1_000_000;
    return [
      atMost('warm start to ready', 's', service.readySeconds, 6),
      await benchSmallImport({ service, folder }),
      ...await benchImports({ service, folder, databaseUrl, rows, rounds }),
      ...await benchPostgresSync({ service, databaseUrl, rows, rounds }),
      ...tap ? [await benchSingerCsv({ service, folder, program: tap.program, rows })] : [],
      await benchFeed({ service, databaseUrl, values: quick ? 50_000 : 500_000, rounds }),
      ...await benchIngestion({ service, databaseUrl, folder, events: quick ? 20_000 : 200_000, rounds, seconds: quick ? 5 : 30 }),
      ...await benchExports({ service, databaseUrl, folder, events: quick ? 200_000 : 5_000_000, rounds }),
      atMost('daily export, peak memory of server and worker', 'MiB', peakMemoryMib(service.pid), 400),
      ...await benchErasure({ databaseUrl, folder, events: quick ? 200_000 : 5_000_000, people: quick ? 100 : 1_000, rounds }),
      // Last: it empties the tables of the imports.
      ...await benchProfiles({ service, databaseUrl, customers: quick ? 100_000 : 2_000_000 }),
    ];
  } finally {
    await service.stop();
  }
}

async function embeddedUrl(): Promise<string> {
  const { postgres } = JSON.parse(await readFile(join(dataDir, 'ports.json'), 'utf8')) as { postgres: number };
  const password = await readFile(join(dataDir, 'postgres.password'), 'utf8');
  return `postgres://millrace:${password}@127.0.0.1:${postgres}/postgres`;
}
