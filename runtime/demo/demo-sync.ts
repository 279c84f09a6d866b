import { call, type Server } from '../../cli/core/client.ts';
import { table } from '../../cli/core/table.ts';
import { cut, outcome, readBack } from './demo-outcome.ts';
import { type DemoShop, openDemoShop } from './demo-shop.ts';
import type { DemoSor } from './demo-sor.ts';

type Made = { identifier: string };
type Run = {
  run_id: string; state: string; ended_at: string | null; fault: string | null; failure: { message: string } | null;
  records: { read: number; written: number; unchanged: number; ignored: number; failed: number };
};
type Sample = { records: { customer_id: string | null; changes: { key: string; after: unknown }[]; message?: string }[] };
type Errors = { errors: { line: number; error_type: string; key: string | null; message: string }[] };
type Say = (text: string) => void;

const SAMPLE_LINES = 4;
/** Of its fields the mapping names, remarks stay where they are. */
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

/**
 * Syncs a shop's table with attributes: a dry run, a run, one that finds nothing to write, and one that finds two changes.
 * Where it can't be read, says why.
 */
export async function demoSync(server: Server, sor: DemoSor, databaseUrl: string, say: Say): Promise<void> {
  if (new URL(databaseUrl).password === '') return say('\nNo sync: it would read this very database, and DATABASE_URL has no password');
  const shop = await openDemoShop(databaseUrl);
  try {
    const sync = await makeSync(server, sor, shop, say);
    const dryRun = await runOf(server, sync, 'dry_run', 'Dry run', say);
    if (dryRun.state !== 'finished') return;
    say(await sampleTable(server, sync, dryRun));
    const first = await runOf(server, sync, 'run', 'Run', say);
    say(await errorTable(server, sync, first));
    say('\nAgain, and nothing of it is written:');
    await runOf(server, sync, 'run', 'Run', say);
    await shop.change();
    say('\nTwo customers have changed in the shop:');
    await runOf(server, sync, 'run', 'Run', say);
    say(`\n${await readBack(server, sor, 'shopper-3@example.com')}`);
    say(`The sync is ${server.url}/api/syncs/${sync}, or: npx millrace syncs view ${sync}`);
  } finally {
    await shop.close();
  }
}

/** Its names hold the SoR's: those of an earlier demo in the same data folder are taken. */
async function makeSync(server: Server, sor: DemoSor, { settings, customers }: DemoShop, say: Say): Promise<string> {
  const name = `Demo shop for ${sor.identifier}`;
  const { identifier: connection } = await call<Made>(server, 'POST', '/api/connections', { name, connector: 'postgres', settings });
  const { identifier: sync } = await call<Made>(server, 'POST', '/api/syncs', {
    name, source: { connection, stream: 'customers' }, destination: { sor: sor.identifier }, mapping: MAPPING, mode: 'full',
    alerts: { emails: [] },
  });
  say(`\nSync ${sync} ("${name}") of the ${customers} customers in its Postgres table demo_shop.customers`);
  return sync;
}

async function runOf(server: Server, sync: string, how: 'run' | 'dry_run', title: string, say: Say): Promise<Run> {
  const { run_id: id } = await call<Run>(server, 'POST', `/api/syncs/${sync}/${how}`, {});
  const run = await outcome<Run>(server, `/api/syncs/${sync}/runs/${id}`, ({ ended_at: end, fault }) => end !== null || fault !== null);
  const { read, written, unchanged, ignored, failed } = run.records;
  const why = run.failure?.message ?? run.fault;
  say(`${title} ${id} ${run.state}: ${read} records read = ${written} written + ${unchanged} unchanged + ${ignored} ignored `
    + `+ ${failed} failed${why === null ? '' : `; ${why}`}`);
  return run;
}

/** What a dry run would write of some customers. */
async function sampleTable(server: Server, sync: string, run: Run): Promise<string> {
  const { records } = await call<Sample>(server, 'GET', `/api/syncs/${sync}/runs/${run.run_id}/sample`);
  const lines = records.slice(0, SAMPLE_LINES).map(({ customer_id: customer, changes, message }) =>
    [customer ?? '', message ?? changes.map(({ key, after }) => `${key} ${JSON.stringify(after)}`).join(', ')]);
  return `\n${table(['customer', 'would become'], lines)}\n`;
}

async function errorTable(server: Server, sync: string, run: Run): Promise<string> {
  const { errors } = await call<Errors>(server, 'GET', `/api/syncs/${sync}/runs/${run.run_id}/errors`);
  const lines = errors.map(({ line, error_type: type, key, message }) => [String(line), type, cut(key ?? '', 20), cut(message, 90)]);
  return `\n${table(['record', 'error', 'key', 'reason'], lines)}`;
}
