import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { BenchContext, Line, Size } from './line.ts';
import { atMost, atMostTimes, type Figure, median } from './report.ts';
import { call, type Caller, type RunningService } from './service.ts';
import { timed } from './timed.ts';
import { deleteTracked, insertDeviceUsers, makeTrackedApp, type TrackedApp } from './tracked-app.ts';

const EVENTS: Record<Size, number> = { quick: 200_000, full: 10_000_000 };
const EVENTS_OF_A_PERSON = 20;
export const FROM = '2026-06-01';
const TILL = '2026-06-30';
const MAX_SECONDS = 7 * 86_400;
export const STEPS = ['Product Viewed', 'Product Added', 'Checkout Started', 'Order Completed'];

const titleOf = (size: Size) => `exact 4-step funnel over ${EVENTS[size].toLocaleString('en')} events`;

const fastTitleOf = (size: Size) => `fast 4-step funnel over ${EVENTS[size].toLocaleString('en')} events`;
const FAST_SECONDS = 1.5;

type Stats = { step: number; completions: number; average_duration: number | null }[];
type Estimates = (Stats[number] & { completions_error: number; exact: boolean })[];

/**
 * A funnel through the service against the same chains in DuckDB, over the same rows, with as many threads as there are
 * cores.
 */
export const funnel: Line = {
  key: 'funnel',
  titles: (size) => [titleOf(size), fastTitleOf(size)],
  async *measure(context) {
    const service = await context.service();
    const client = new pg.Client({ connectionString: await context.databaseUrl() });
    await client.connect();
    const folder = await mkdtemp(join(context.folder, 'duckdb-'));
    try {
      const app = await fill(client, context, service);
      const duckdb = await openDuckdb(client, folder);
      const runs: Figure[] = [];
      const fastRuns: Figure[] = [];
      for (let round = 0; round < context.rounds; round += 1) {
        const [bareSeconds, expected] = await timed(() => inDuckdb(duckdb));
        const [seconds, found] = await timed(() => inMillrace(service, app));
        if (JSON.stringify(found) !== JSON.stringify(expected)) {
          throw new Error(`the funnel is ${JSON.stringify(found)}, in DuckDB ${JSON.stringify(expected)}`);
        }
        runs.push(atMostTimes(titleOf(context.size), seconds, bareSeconds, 2));
        const [fastSeconds, estimates] = await timed(() => askFunnel<Estimates>(service, app, 'fast'));
        refuseFarOff(estimates, found);
        fastRuns.push(atMost(fastTitleOf(context.size), 's', fastSeconds, FAST_SECONDS));
      }
      duckdb.closeSync();
      yield median(runs);
      yield median(fastRuns);
    } finally {
      await rm(folder, { recursive: true, force: true });
      await deleteTracked(client);
      await client.end();
    }
  },
};

/** Three in four events are of the steps; a tenth names no user. Returns the app's identifier. */
async function fill(client: pg.Client, context: BenchContext, service: RunningService): Promise<string> {
  const app = await makeTrackedApp(client, context, service, { from: FROM, eventNames: STEPS });
  await insertSteps(client, app, EVENTS[context.size]);
  return app.identifier;
}

/** Inserts events of an app that knows `STEPS`. */
export async function insertSteps(client: pg.Client, app: TrackedApp, events: number): Promise<void> {
  const people = events / EVENTS_OF_A_PERSON;
  await client.query(
    `INSERT INTO events (entity_id, app_id, happened_at, log_type, device_id, user_id, name, detail)
     SELECT $1, $2, timestamptz '${FROM}' + n * interval '30 days' / ${events}, 2, 'device-' || lpad(person::text, 9, '0'),
       CASE WHEN n % 10 > 0 THEN 'user-' || lpad(person::text, 9, '0') END,
       CASE WHEN kind < 40 THEN $3 WHEN kind < 60 THEN $4 WHEN kind < 70 THEN $5 WHEN kind < 75 THEN $6 ELSE 'Screen ' || kind END,
       jsonb_build_object('price', kind)
     FROM (SELECT n, (hashint8(n) & 2147483647) % ${people} AS person,
         (hashint8(n + 1000000000) & 2147483647) % 100 AS kind
       FROM generate_series(0, ${events - 1}) n) AS sent`,
    [app.entityId, app.id, ...STEPS],
  );
  await insertDeviceUsers(client, app, people);
  await client.query('VACUUM (ANALYZE) events');
  await client.query('VACUUM (ANALYZE) device_users');
  await client.query('CHECKPOINT');
}

/** The columns that a funnel needs, as DuckDB's own table. */
async function openDuckdb(client: pg.Client, folder: string): Promise<DuckDBConnection> {
  const file = join(folder, 'events.csv');
  await pipeline(
    client.query(
      copyTo(
        `COPY (SELECT e.id, extract(epoch FROM e.happened_at) * 1000000, e.name, e.user_id, e.device_id, u.user_id FROM events e
     JOIN device_users u ON u.device_id = e.device_id) TO STDOUT (FORMAT csv)`,
      ),
    ),
    createWriteStream(file),
  );
  const instance = await DuckDBInstance.create(join(folder, 'events.duckdb'));
  const connection = await instance.connect();
  await connection.run(`CREATE TABLE events AS SELECT * FROM read_csv('${file}', header = false,
    columns = {'id': 'BIGINT', 'happened': 'DOUBLE', 'name': 'VARCHAR', 'user_id': 'VARCHAR',
      'device_id': 'VARCHAR', 'only_user': 'VARCHAR'})`);
  await connection.run(`ALTER TABLE events ALTER COLUMN happened TYPE BIGINT`);
  await rm(file);
  return connection;
}

async function inDuckdb(connection: DuckDBConnection): Promise<Stats> {
  const limit = MAX_SECONDS * 1_000_000;
  const is = (step: number) => `name = '${STEPS[step]}'`;
  const w = 'w AS (PARTITION BY person ORDER BY happened, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)';
  let rows = `SELECT coalesce('u' || user_id, 'u' || only_user, 'd' || device_id) AS person, id, happened, name,
    CASE WHEN ${is(0)} THEN happened END AS p0 FROM events WHERE name IN (${STEPS.map((name) => `'${name}'`).join(', ')})`;
  for (let step = 1; step < STEPS.length; step += 1) {
    rows = `SELECT *, CASE WHEN ${is(step)} AND happened - q${step - 1} <= ${limit} THEN q${step - 1} END AS p${step}
      FROM (SELECT *, max(p${step - 1}) OVER w AS q${step - 1} FROM (${rows}) WINDOW ${w})`;
  }
  const steps = STEPS.map((_, step) => step);
  const reader = await connection.runAndReadAll(
    `SELECT ${steps.map((step) => `count(c${step})::INTEGER, (sum(c${step} - s${step}) / 1000000)::DOUBLE`).join(', ')} FROM (
       SELECT ${steps.map((step) => `min(happened) FILTER (WHERE p${step} IS NOT NULL) AS c${step}, min(p${step}) AS s${step}`).join(', ')}
       FROM (${rows}) GROUP BY person)`,
  );
  const [row] = reader.getRowsJS() as number[][];
  return steps.map((step) => shown(step, row![step * 2]!, row![step * 2 + 1]!));
}

/** To the second: both sides add up in another order. */
function shown(step: number, completions: number, seconds: number): Stats[number] {
  return { step, completions, average_duration: completions === 0 ? null : Math.round(seconds / completions) };
}

async function inMillrace(service: RunningService, app: string): Promise<Stats> {
  const stats = await askFunnel(service, app);
  return stats.map(({ step, completions, average_duration: seconds }) =>
    shown(step, completions, (seconds ?? 0) * completions),
  );
}

/** Refuses estimates that are farther from the exact numbers than they say. */
function refuseFarOff(estimates: Estimates, exact: Stats): void {
  for (const { step, completions, completions_error: error, exact: isExact } of estimates) {
    const right = exact[step]!.completions;
    if (isExact || Math.abs(completions - right) > error)
      throw new Error(`step ${step} is estimated as ${completions} ± ${error}, and has ${right} people`);
  }
}

export function askFunnel<S = Stats>(
  { url, token }: Caller,
  app: string,
  mode: 'accurate' | 'fast' = 'accurate',
): Promise<S> {
  const steps = STEPS.map((name) => ({ match_name: [{ app_id: app, log_type: 2, log_name: name }] }));
  const path = `/api/funnels/quick_stats?app_id=${app}&from=${FROM}&till=${TILL}&mode=${mode}`;
  return call<S>(url, token, 'POST', path, { funnel: { max_duration: MAX_SECONDS, steps } });
}
