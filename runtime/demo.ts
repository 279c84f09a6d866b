/** `npm run demo`: starts the whole stack, shows each kind of flow on sample data, and stays up. */
import { readFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient, type Client } from '../api/client.ts';
import { table } from '../cli/core/table.ts';
import type { ValueType } from '../domain/attributes/attribute-value.ts';
import { refuse } from '../domain/core/refusal.ts';
import { DAY_MS } from '../domain/time/durations.ts';
import { withAppContext } from './app-context.ts';
import { type EmbeddedBackends, openBackends } from './backends.ts';
import type { Config } from './config.ts';
import { demoExport } from './demo/demo-export.ts';
import { demoDeviceRequest, demoGdpr } from './demo/demo-gdpr.ts';
import { errorTable, outcome, readBack } from './demo/demo-outcome.ts';
import { type DemoBucket, startDemoS3 } from './demo/demo-s3.ts';
import type { DemoServer, DemoSor } from './demo/demo-server.ts';
import { demoSync } from './demo/demo-sync.ts';
import { demoTracking } from './demo/demo-tracking.ts';
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
  const passwordPath = join(config.MILLRACE_DATA_DIR, 'admin-password');
  const password = config.MILLRACE_ADMIN_PASSWORD ?? (await readFile(passwordPath, 'utf8')).trim();
  const { auth_token: token } = await createClient({ url }).login({ body: { email, password } });
  const server = { url, token, client: createClient({ url, token }) };
  const sor = await makeDemoSor(server.client, say);
  await demoImport(server.client, sor, say);
  await demoFeed(server.client, sor, say);
  await demoSync(server, sor, backends.databaseUrl, say);
  const app = await demoTracking(server, sor, say);
  const dataDir = config.MILLRACE_DATA_DIR;
  if (bucket) await demoExport(server, sor, { bucket, dataDir, databaseUrl: backends.databaseUrl, app }, say);
  await demoGdpr(server, sor, dataDir, say);
  await demoDeviceRequest(server, app, say);
  const { segment } = await demoAnalytics(server, app, dataDir, say);
  await demoSends(server, app, say);
  await demoCampaign(server, { app, segment }, say);
  say(
    [
      '',
      `console       ${url}/console/`,
      `API page      ${url}/docs`,
      `Temporal      ${backends.temporalUi ?? 'its own page'}`,
      `metrics       ${url}/metrics`,
      `sign in as    ${email}, password in ${passwordPath}`,
      `by command    MILLRACE_URL=${url} MILLRACE_TOKEN=${token} npx --no-install millrace --help`,
      '',
      'Up until Ctrl-C.',
    ].join('\n'),
  );
}

async function demoImport(client: Client, sor: DemoSor, say: Say): Promise<void> {
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

const POLL_MS = 100;
const shopper = (device: number) => `shopper-${device}@example.com`;
/** One gets no value for the order, one takes no pushes, and one never had the app. */
const MESSAGES = [
  ...[1, 3, 4, 5].map((device) => ({ user: shopper(device), templateVars: { order: 4_711 + device } })),
  { user: shopper(2) },
  { user: 'stranger@example.com', templateVars: { order: 4_710 } },
];

async function demoSends({ client }: DemoServer, app: string, say: Say): Promise<void> {
  const { campaign_id: campaign } = await client.createCampaign({
    body: {
      name: 'Parcel on its way',
      type: 'transactional',
      source: 'API',
      app_id: app,
      includes_push: true,
      includes_inapp: false,
      start_date: 'now',
      params: { push_title: 'Demo shop', push_message: 'Hello *@name|there@*, order *@order@* is on its way' },
    },
  });
  await client.launchCampaign({ params: { campaign_identifier: campaign } });
  const { requestId } = await client.sendMessages({ body: { campaignKey: [campaign], messages: MESSAGES } });
  await untilEnded(client, requestId);
  const {
    reports: [report],
  } = await client.reportMessages({ params: { campaign_key: campaign }, query: { requestId } });
  say(
    `Campaign ${campaign} ("Parcel on its way"), request ${requestId}: ${MESSAGES.length} messages through the sandbox\n`,
  );
  say(
    table(
      ['user', 'code', 'details'],
      report!.campaignStatus.map(({ user: to, code, details }) => [to ?? '', code, details ?? '']),
    ),
  );
  const user = shopper(5);
  const {
    decisions: [decision],
  } = await client.explainMessages({ params: { identifier: campaign }, query: { user } });
  say(`\nWhy ${user} got none: ${decision!.code}, ${decision!.details}\n`);
}

async function untilEnded(client: Client, requestId: string): Promise<void> {
  while ((await client.viewSend({ params: { request_id: requestId } })).ended_at === null) await delay(POLL_MS);
}

const SOON_SECONDS = 3;

/** Sends a campaign by each device's clock: now in the app's zone, an hour later in the others. */
async function demoCampaign(
  { client }: DemoServer,
  { app, segment }: { app: string; segment: string },
  say: Say,
): Promise<void> {
  const began = new Date();
  const start = Math.ceil(began.getTime() / 1_000) + SOON_SECONDS;
  const { campaign_id: campaign } = await client.createCampaign({
    body: {
      name: 'Still interested?',
      type: 'classic',
      source: 'API',
      app_id: app,
      includes_push: true,
      includes_inapp: false,
      start_date: start,
      adapt_tz: true,
      params: { push_title: 'Demo shop', push_message: 'Your table is still there' },
      filters: { blocks: [{ filters: [{ filter_on: 'segments', segment_identifiers: [segment] }] }] },
    },
  });
  const { recipients } = await client.countCampaignAudience({ params: { identifier: campaign } });
  await client.launchCampaign({ params: { campaign_identifier: campaign }, body: { expected_people: recipients } });
  const { count, optin, total } = await untilSent(client, campaign);
  say(
    `\nCampaign ${campaign} ("Still interested?") to the segment: ${count} of ${total} devices, ${optin} of them allow pushes`,
  );
  const {
    sends: [next],
  } = await client.planCampaign({ params: { identifier: campaign } });
  say(`First wave sent; the next goes out at ${next!.at}, to ${next!.zones!.join(', ')}`);
  say(`Results, counted within a minute: npx --no-install millrace campaigns results ${campaign}`);
  say(`Log of the app's campaigns: ${await fetchLog(client, app, began)}`);
}

async function untilSent(client: Client, campaign: string): Promise<{ count: number; optin: number; total: number }> {
  for (;;) {
    const { status, failure, reach } = await client.viewCampaign({ params: { campaign_identifier: campaign } });
    if (failure !== null) refuse(500, 'failed', `The campaign failed: ${failure}`);
    if (status === 'Ongoing' && (await isWaveOut(client, campaign))) return reach;
    await delay(POLL_MS);
  }
}

async function isWaveOut(client: Client, campaign: string): Promise<boolean> {
  const user = 'shopper-3@example.com';
  return (await client.explainMessages({ params: { identifier: campaign }, query: { user } })).sent > 0;
}

async function fetchLog(client: Client, app: string, from: Date): Promise<string> {
  const till = new Date();
  for (;;) {
    const query = { apps: app, from: from.toISOString(), till: till.toISOString() };
    const logs = await client.reportCampaignLogs({ query });
    if (typeof logs !== 'string') return logs.report_urls[0]!;
    await delay(POLL_MS);
  }
}

const STEPS = ['Product Viewed', 'Product Added', 'Order Completed'];

/** Shows how many people go from a product to an order, who does not, and a spreadsheet of it. */
async function demoAnalytics(
  { client }: DemoServer,
  app: string,
  dataDir: string,
  say: Say,
): Promise<{ segment: string }> {
  const funnel = await showFunnel(client, app, say);
  const segment = await showSegment(client, app, funnel, say);
  const asked = { params: { app_identifier: app }, query: { skip_email: 'true' } } as const;
  const { callback } = (await client.exportEvents(asked)) as { callback: string };
  const folder = join(dataDir, 'files');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `events-of-${app}.xls`);
  await writeFile(path, await fetchFile(callback), { mode: 0o600 });
  say(`All events of the app, for a spreadsheet: ${path}`);
  return { segment };
}

async function showFunnel(client: Client, app: string, say: Say): Promise<string> {
  const steps = STEPS.map((name) => ({ match_name: [{ app_id: app, log_type: 2 as const, log_name: name }] }));
  const { identifier } = await client.createFunnel({ body: { name: 'From a product to an order', steps } });
  const day = (ago: number) => new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10);
  const stats = await client.quickFunnelStats({
    query: { app_id: app, from: day(1), till: day(0) },
    body: { funnel: { steps } },
  });
  say(`\nFunnel ${identifier} ("From a product to an order") over the app's events:\n`);
  say(
    table(
      ['step', 'people', 'after'],
      stats.map(({ step, completions, average_duration: seconds }) => [
        STEPS[step]!,
        String(completions),
        seconds === null ? '' : `${seconds} s`,
      ]),
    ),
  );
  say('');
  return identifier;
}

async function showSegment(client: Client, app: string, funnel: string, say: Say): Promise<string> {
  const { identifier } = await client.createSegment({
    body: {
      name: 'Did not order',
      app,
      filters: {
        blocks: [
          {
            filters: [
              {
                filter_on: 'funnels',
                funnel_identifier: funnel,
                step: STEPS.length - 1,
                outcome: 'dropped',
                period: { last_days: 2 },
              },
            ],
          },
        ],
      },
    },
  });
  for (;;) {
    const { state, failure, preview } = await client.viewSegment({ params: { identifier } });
    if (state === 'failed') refuse(500, 'failed', `The segment has no people: ${failure}`);
    if (state === 'active') {
      say(`Segment ${identifier} ("Did not order"): ${preview?.people_number} people dropped out at the last step\n`);
      return identifier;
    }
    await delay(POLL_MS);
  }
}

async function fetchFile(link: string): Promise<Uint8Array> {
  for (;;) {
    const reply = await fetch(link);
    if (reply.status === 200) return new Uint8Array(await reply.arrayBuffer());
    if (reply.status !== 202) refuse(reply.status, reply.status, `The file was not built: ${await reply.text()}`);
    await reply.text();
    await delay(POLL_MS);
  }
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
