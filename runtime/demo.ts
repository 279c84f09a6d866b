/** `npm run demo`: starts the whole stack, shows each kind of flow on sample data, and stays up. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient, type Client } from '../api/client.ts';
import { table } from '../cli/core/table.ts';
import type { ValueType } from '../domain/attributes/attribute-value.ts';
import { withAppContext } from './app-context.ts';
import { type EmbeddedBackends, openBackends } from './backends.ts';
import type { Config } from './config.ts';
import { demoAnalytics, type Stopped } from './demo/demo-analytics.ts';
import { showDemoExport, startDemoExport } from './demo/demo-export.ts';
import { demoDeviceRequest, demoGdpr } from './demo/demo-gdpr.ts';
import { demoCampaign, type DemoCampaign, demoSends, showResults } from './demo/demo-messages.ts';
import { errorTable, outcome, readBack } from './demo/demo-outcome.ts';
import { demoPast } from './demo/demo-past.ts';
import { type DemoBucket, startDemoS3 } from './demo/demo-s3.ts';
import type { DemoServer, DemoSor } from './demo/demo-server.ts';
import { demoSync } from './demo/demo-sync.ts';
import { type DemoApp, demoMistakes, demoTracking } from './demo/demo-tracking.ts';
import { enter } from './entry.ts';
import { askedToEnd, startService } from './service.ts';

/** A separate folder, so that the demo leaves nothing in the service's. */
process.env.MILLRACE_DATA_DIR ??= '.millrace-demo';
process.env.MILLRACE_LOG_LEVEL ??= 'warn';
/** Allows the shop's database that the sync reads, and the exporter's S3. */
process.env.MILLRACE_FETCH_ALLOW ??= [URL.parse(process.env.DATABASE_URL ?? '')?.hostname, '127.0.0.1']
  .filter(Boolean)
  .join(',');

type Say = (text: string) => void;
type Shown = { config: Config; backends: EmbeddedBackends; bucket: DemoBucket | null; url: string };

async function show({ config, backends, bucket, url }: Shown, say: Say): Promise<void> {
  const email = config.MILLRACE_ADMIN_EMAIL;
  const { MILLRACE_DATA_DIR: dataDir, MILLRACE_ADMIN_PASSWORD: given } = config;
  const path = join(dataDir, 'admin-password');
  const password = given ?? (await readFile(path, 'utf8')).trim();
  const { auth_token: token } = await createClient({ url }).login({ body: { email, password } });
  const server = { url, token, client: createClient({ url, token }) };
  const { databaseUrl } = backends;
  const sor = await makeDemoSor(server.client, say);
  const imported = await demoImport(server.client, sor, say);
  await demoFeed(server.client, sor, say);
  await demoSync(server, sor, databaseUrl, say);
  const app = await demoTracking(server, sor, say);
  // The export waits for the end of its window, and the service counts results half a minute later: both meanwhile.
  const started = bucket && (await startDemoExport(server, sor, { bucket, dataDir, app: app.identifier }, say));
  const [looks, past] = await Promise.all([
    demoApp(server, app, { dataDir, databaseUrl }, say),
    started && demoPast(server, { bucket: started.bucket, databaseUrl }),
  ]);
  if (started) await showDemoExport(server, started, say);
  if (past) say(`\nExporter ${past} has exported two weeks of a web shop into the bucket, but not the last two nights`);
  await demoGdpr(server, sor, dataDir, say);
  await demoDeviceRequest(server, app, say);
  await showResults(server.client, looks.campaign, say);
  await demoMistakes(server, app, say);
  say(
    lastWords(
      { ...looks, imported, app: app.identifier },
      { url, email, passwordAt: given === undefined ? path : 'MILLRACE_ADMIN_PASSWORD', token, backends },
    ),
  );
}

/** Shows what an app's data is for: where people stop, who they are, and messages to them. */
async function demoApp(
  server: DemoServer,
  app: DemoApp,
  { dataDir, databaseUrl }: { dataDir: string; databaseUrl: string },
  say: Say,
): Promise<Stopped & { campaign: DemoCampaign }> {
  const { funnel, segment } = await demoAnalytics(server, app, dataDir, say);
  const campaign = await demoCampaign(server, { app, segment, databaseUrl }, say);
  await demoSends(server, app, say);
  return { funnel, segment, campaign };
}

type Looks = Stopped & { campaign: DemoCampaign; imported: string; app: string };
type Signed = { url: string; email: string; passwordAt: string; token: string; backends: EmbeddedBackends };

/** Returns where to look first, and how to get in. */
function lastWords(
  { funnel, segment, campaign, imported, app }: Looks,
  { url, email, passwordAt, token, backends }: Signed,
): string {
  const pages = [
    ['what needs you', ''],
    ['rows to correct', `imports/${imported}`],
    ['calls, some refused', `apps/${app}`],
    ['where people stop', `funnels/${funnel}?breakdown=app_version`],
    ['who stopped there', `segments/${segment}`],
    ['what they got, or why not', `campaigns/${campaign.identifier}`],
    ['an erasure with its receipt', 'privacy'],
  ];
  return [
    `\nLook first at these pages. Sign in as ${email}, password in ${passwordAt}`,
    ...pages.map(([what, path]) => `  ${what!.padEnd(30)}${url}/console/${path}`),
    `API ${url}/docs, metrics ${url}/metrics, Temporal ${backends.temporalUi ?? 'its own page'}`,
    `MILLRACE_URL=${url} MILLRACE_TOKEN=${token} npx --no-install millrace --help`,
    '',
    'Up until Ctrl-C.',
  ].join('\n');
}

/** Imports a file with every error that a row can have, and returns the import's id. */
async function demoImport(client: Client, sor: DemoSor, say: Say): Promise<string> {
  const { import_id: id } = await client.importAttributeValues({
    body: { sor_id: sor.identifier, api_key: sor.apiKey, skip_email: true },
    file: new File([new Uint8Array(demoFile())], 'customers.csv'),
  });
  const view = () => client.viewImport({ params: { import_id: id } });
  const { state, rows } = await outcome(view, (status) => status.ended_at !== null);
  say(
    `\nImport ${id} ${state}: ${rows.read} rows read = ${rows.ok} ok + ${rows.ignored} ignored + ${rows.failed} failed\n`,
  );
  say(await errorTable(client, id));
  say(`\n${await readBack(client, sor, 'customer-3@example.com')}`);
  return id;
}

const HEADER = 'user_id,attribute_key,value,action_type';
const CUSTOMERS = 300;

const PLANS = ['free', 'silver', 'gold', '"gold, ""founders"""'];
const INTERESTS = ['running', 'cycling', 'music', 'cooking', 'travel'];

function demoFile(): Buffer {
  const lines = [HEADER];
  for (let number = 0; number < CUSTOMERS; number += 1) lines.push(...soundRows(number));
  const notUtf8 = Buffer.concat([
    Buffer.from('customer-0@example.com,plan,Caf'),
    Buffer.from([0xe9]),
    Buffer.from(',\n'),
  ]);
  return Buffer.concat([Buffer.from(`${[...lines, ...badRows()].join('\n')}\n`), notUtf8]);
}

function soundRows(number: number): string[] {
  const customer = `customer-${number}@example.com`;
  const interest = (step: number) => INTERESTS[(number + step) % INTERESTS.length];
  return [
    `${customer},plan,${PLANS[number % PLANS.length]},`,
    `${customer},orders,${number * 3}.50,UPSERT`,
    `${customer},newsletter,${number % 2 === 0},`,
    `${customer},born,19${50 + (number % 50)}-0${1 + (number % 9)}-15,`,
    `${customer},last_seen,2026-01-01T0${number % 10}:30:00+01:00,`,
    `${customer},interests,${interest(0)};${interest(1)},ADD`,
    `${customer},interests,${interest(1)},REMOVE`,
  ];
}

function badRows(): string[] {
  const customer = 'customer-0@example.com';
  const long = 'x'.repeat(257);
  const manyElements = Array.from({ length: 1001 }, (_, element) => `e${element}`).join(';');
  return [
    ',plan,gold,',
    `${customer},,gold,`,
    `${customer},${long},gold,`,
    `${customer},plan,,`,
    `${customer},orders,a dozen,`,
    `${customer},plan,${long},`,
    `${customer},interests,${manyElements},UPSERT`,
    `${customer},shoe_size,43,`,
    `${customer},legacy,1,`,
    `${customer},plan,gold,REPLACE`,
    `${customer},plan,gold`,
  ];
}

const CUSTOMER = 'customer-3@example.com';

const FED_VALUES = [
  { attribute_key: 'plan', attribute_value: 'platinum' },
  { attribute_key: 'interests', attribute_value: 'chess', action_type: 'ADD' },
  { attribute_key: 'orders', attribute_value: 'ten' },
  { attribute_key: 'newsletter', attribute_value: null },
].map((value) => ({ customer_id: CUSTOMER, ...value }));

async function demoFeed(client: Client, sor: DemoSor, say: Say): Promise<void> {
  const { requestId } = await client.feedAttributeValues({
    body: { sor: sor.identifier, api_key: sor.apiKey, customer_attribute_values: FED_VALUES },
  });
  const view = () => client.viewFeedRequest({ params: { request_id: requestId } });
  const { state, values } = await outcome(view, (status) => status.done_at !== null);
  say(
    `\nFeed ${requestId} ${state}: ${values.in} values = ${values.ok} ok + ${values.ignored} ignored + ${values.failed} failed\n`,
  );
  say(
    table(
      ['line', 'value'],
      FED_VALUES.map((value, line) => [String(line), JSON.stringify(value)]),
    ),
  );
  say(`\n${await errorTable(client, requestId)}`);
  say(`\n${await readBack(client, sor, CUSTOMER)}`);
}

async function makeDemoSor(client: Client, say: (text: string) => void): Promise<DemoSor> {
  const { identifier, api_keys: apiKeys } = await client.createSystemOfRecord({ body: { name: 'Demo CRM' } });
  for (const [key, type] of DEMO_ATTRIBUTES) {
    const attribute = await client.createCustomerAttribute({
      body: { sor_id: identifier, key, label: key, value_type: type },
    });
    if (key !== 'legacy') continue;
    await client.updateCustomerAttribute({ params: { ca_identifier: attribute.identifier }, body: { disabled: true } });
  }
  say(`\nSystem of Record ${identifier} ("Demo CRM") with ${DEMO_ATTRIBUTES.length} attributes`);
  return { identifier, apiKey: apiKeys[0]! };
}

const DEMO_ATTRIBUTES: [key: string, type: ValueType][] = [
  ['plan', 'String'],
  ['orders', 'Number'],
  ['newsletter', 'Boolean'],
  ['born', 'Date'],
  ['last_seen', 'Datetime'],
  ['interests', 'Set'],
  ['legacy', 'String'],
];

await enter(async (config, log) => {
  let hasEnded = false;
  const say = (text: string) => {
    if (!hasEnded) console.log(text);
  };
  const ending = askedToEnd().then(() => {
    hasEnded = true;
  });
  const backends = await openBackends(config, say);
  const bucket = await startDemoS3(config.MILLRACE_DATA_DIR, say).catch(async (error) => {
    await backends.stop();
    throw error;
  });
  try {
    await withAppContext(config, backends, log, async (context) => {
      const service = await startService(context, { serves: true, works: true });
      const shown = show({ config, backends, bucket, url: service.url! }, say);
      try {
        await Promise.race([shown, ending]);
        await ending;
      } finally {
        await service.stop();
        await shown.catch(() => {}); // if asked to end meanwhile, it finds no server
      }
    });
  } finally {
    await bucket?.stop();
    await backends.stop();
  }
});
