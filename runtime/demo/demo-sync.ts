/** The demo's sync: fills a table of a shop, and syncs it to attributes. */
import { type Client, stringify, type SyncRun } from '../../api/client.ts';
import { table } from '../../cli/core/table.ts';
import { cut, outcome, readBack } from './demo-outcome.ts';
import { type DemoServer, type DemoSor, openDemoDatabase } from './demo-server.ts';

type Say = (text: string) => void;

const SAMPLE_LINES = 4;
const MAPPING = {
  customer: { field: 'mail', type: 'user_id' },
  fields: [
    { from: 'plan_name', to: 'plan' },
    { from: 'orders_sum', to: 'orders', as: 'number', decimal: ',' },
    { from: 'news', to: 'newsletter', as: 'boolean' },
    { from: 'birthday', to: 'born', as: 'date', format: 'dd/MM/yyyy' },
    { from: 'likes', to: 'interests', as: 'set', separator: ',' },
  ],
};

/** Syncs a table: a dry run, a run, a run without changes, a run with two. Says why if it cannot be read. */
export async function demoSync(
  { url, client }: DemoServer,
  sor: DemoSor,
  databaseUrl: string,
  say: Say,
): Promise<void> {
  if (new URL(databaseUrl).password === '')
    return say('\nNo sync: it would read this very database, and DATABASE_URL has no password');
  const shop = await openDemoShop(databaseUrl);
  try {
    const sync = await makeSync(client, sor, shop, say);
    const dryRun = await runOf(client, sync, 'dryRunSync', 'Dry run', say);
    if (dryRun.state !== 'finished') return;
    say(await sampleTable(client, sync, dryRun));
    const first = await runOf(client, sync, 'runSync', 'Run', say);
    say(await errorTable(client, sync, first));
    say('\nAgain, and nothing of it is written:');
    await runOf(client, sync, 'runSync', 'Run', say);
    await shop.change();
    say('\nTwo customers have changed in the shop:');
    await runOf(client, sync, 'runSync', 'Run', say);
    say(`\n${await readBack(client, sor, 'shopper-3@example.com')}`);
    say(`The sync is ${url}/api/syncs/${sync}, or: npx --no-install millrace syncs view ${sync}`);
  } finally {
    await shop.close();
  }
}

async function makeSync(client: Client, sor: DemoSor, { settings, customers }: DemoShop, say: Say): Promise<string> {
  // An earlier demo in the same data folder has its own.
  const { total_items: before } = await client.listSyncs({ query: {} });
  const name = before === 0 ? 'Demo shop' : `Demo shop ${before + 1}`;
  const { identifier: connection } = await client.createConnection({ body: { name, connector: 'postgres', settings } });
  const { identifier: sync } = await client.createSync({
    body: {
      name,
      source: { connection, stream: 'customers' },
      destination: { sor: sor.identifier },
      mapping: MAPPING,
      mode: 'full',
      alerts: { emails: [] },
    },
  });
  say(`\nSync ${sync} ("${name}") of the ${customers} customers in its Postgres table demo_shop.customers`);
  return sync;
}

async function runOf(
  client: Client,
  sync: string,
  how: 'runSync' | 'dryRunSync',
  title: string,
  say: Say,
): Promise<SyncRun> {
  const { run_id: id } = await client[how]({ params: { sync_id: sync }, body: {} });
  const view = () => client.viewSyncRun({ params: { sync_id: sync, run_id: id } });
  const run = await outcome(view, ({ ended_at: end, fault }) => end !== null || fault !== null);
  const { read, written, unchanged, ignored, failed } = run.records;
  const why = run.failure?.message ?? run.fault;
  say(
    `${title} ${id} ${run.state}: ${read} records read = ${written} written + ${unchanged} unchanged + ${ignored} ignored ` +
      `+ ${failed} failed${why === null ? '' : `; ${why}`}`,
  );
  return run;
}

async function sampleTable(client: Client, sync: string, run: SyncRun): Promise<string> {
  const { records } = await client.viewDryRunSample({ params: { sync_id: sync, run_id: run.run_id } });
  const lines = records
    .slice(0, SAMPLE_LINES)
    .map(({ customer_id: customer, changes = [], message }) => [
      customer ?? '',
      message ?? changes.map(({ key, after }) => `${key} ${stringify(after)}`).join(', '),
    ]);
  return `\n${table(['customer', 'would become'], lines)}\n`;
}

async function errorTable(client: Client, sync: string, run: SyncRun): Promise<string> {
  const { errors } = await client.listSyncErrors({ params: { sync_id: sync, run_id: run.run_id } });
  const lines = errors.map(({ line, error_type: type, key, message }) => [
    String(line),
    type,
    cut(key ?? '', 20),
    cut(message, 90),
  ]);
  return `\n${table(['record', 'error', 'key', 'reason'], lines)}`;
}

const SCHEMA = 'demo_shop';
const CUSTOMERS = 500;

/** A foreign table: texts instead of numbers and dates, and names of its own. */
const TABLE = `
  CREATE SCHEMA IF NOT EXISTS ${SCHEMA};
  CREATE TABLE IF NOT EXISTS ${SCHEMA}.customers (
    id integer PRIMARY KEY, mail text, plan_name text, orders_sum text, news text, birthday text, likes text, remarks text
  )`;

/** Resets changes of an earlier demo. Four customers are invalid, each for another reason. */
const ROWS = `
  INSERT INTO ${SCHEMA}.customers
  SELECT n, CASE n WHEN 120 THEN NULL ELSE 'shopper-' || n || '@example.com' END,
    (ARRAY['free', 'silver', 'gold'])[1 + n % 3],
    CASE n WHEN 240 THEN 'a lot' ELSE 1 + n % 9 || '.' || lpad((n * 37 % 1000)::text, 3, '0') || ',50' END,
    CASE n WHEN 360 THEN 'perhaps' ELSE (ARRAY['yes', 'no'])[1 + n % 2] END,
    CASE n WHEN 480 THEN '31/02/1990' ELSE to_char(date '1950-01-01' + n * 41, 'DD/MM/YYYY') END,
    (ARRAY['chess, music', 'travel', 'cooking, running, music'])[1 + n % 3], 'only the shop may see this'
  FROM generate_series(1, ${CUSTOMERS}) n
  ON CONFLICT (id) DO UPDATE SET mail = excluded.mail, plan_name = excluded.plan_name, orders_sum = excluded.orders_sum,
    news = excluded.news, birthday = excluded.birthday, likes = excluded.likes, remarks = excluded.remarks`;

type DemoShop = {
  settings: object;
  customers: number;
  /** Changes the plan of two customers. */
  change(): Promise<void>;
  close(): Promise<void>;
};

async function openDemoShop(databaseUrl: string): Promise<DemoShop> {
  const db = openDemoDatabase(databaseUrl);
  await db.query(TABLE);
  await db.query(ROWS);
  return {
    settings: settingsOf(new URL(databaseUrl)),
    customers: CUSTOMERS,
    async change() {
      await db.query(`UPDATE ${SCHEMA}.customers SET plan_name = 'platinum' WHERE id IN (3, 4)`);
    },
    close: () => db.end(),
  };
}

/** Reads an address as libpq does. */
function settingsOf({ hostname: host, port, pathname, username, password, searchParams }: URL): object {
  return {
    host,
    port: Number(port || 5432),
    database: decodeURIComponent(pathname.slice(1)),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    tls: ['', 'disable', 'allow', 'prefer'].includes(searchParams.get('sslmode') ?? '') ? 'off' : 'on',
    schema: SCHEMA,
  };
}
