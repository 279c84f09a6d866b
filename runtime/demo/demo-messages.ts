/** The demo's messages: to single users, and in two waves to a segment, with what became of each. */
import type { CampaignResults, Client } from '../../api/client.ts';
import { table } from '../../cli/core/table.ts';
import { messageIdOf } from '../../domain/sends/attempt.ts';
import { outcome } from './demo-outcome.ts';
import { type DemoServer, openDemoDatabase } from './demo-server.ts';
import { type DemoApp, sendCalls, shopper } from './demo-tracking.ts';

type Say = (text: string) => void;

/** One takes no pushes, one gets no value for the order, and one never had the app. */
const MESSAGES = [
  ...[1, 3, 21, 23].map((person) => ({ user: shopper(person), templateVars: { order: 4_711 + person } })),
  { user: shopper(2) },
  { user: 'stranger@example.com', templateVars: { order: 4_710 } },
];

export async function demoSends({ client }: DemoServer, app: DemoApp, say: Say): Promise<void> {
  const { campaign_id: campaign } = await client.createCampaign({
    body: {
      name: 'Parcel on its way',
      type: 'transactional',
      source: 'API',
      app_id: app.identifier,
      includes_push: true,
      includes_inapp: false,
      start_date: 'now',
      params: { push_title: 'Demo shop', push_message: 'Hello *@name|there@*, order *@order@* is on its way' },
    },
  });
  await client.launchCampaign({ params: { campaign_identifier: campaign } });
  const { requestId } = await client.sendMessages({ body: { campaignKey: [campaign], messages: MESSAGES } });
  const view = () => client.viewSend({ params: { request_id: requestId } });
  await outcome(view, ({ ended_at: end }) => end !== null);
  const {
    reports: [report],
  } = await client.reportMessages({ params: { campaign_key: campaign }, query: { requestId } });
  say(
    `\nCampaign ${campaign} ("Parcel on its way"), request ${requestId}: ${MESSAGES.length} messages through the sandbox\n`,
  );
  say(
    table(
      ['user', 'code', 'details'],
      report!.campaignStatus.map(({ user: to, code, details }) => [to ?? '', code, details ?? '']),
    ),
  );
  const user = shopper(23);
  const {
    decisions: [decision],
  } = await client.explainMessages({ params: { identifier: campaign }, query: { user } });
  say(`\nWhy ${user} got none: ${decision!.code}, ${decision!.details}`);
}

export type DemoCampaign = { identifier: string; confirmed: number };

/** Sends a campaign by each device's clock: now where the app is at home, an hour later in London. */
export async function demoCampaign(
  { client, url }: DemoServer,
  { app, segment, databaseUrl }: { app: DemoApp; segment: string; databaseUrl: string },
  say: Say,
): Promise<DemoCampaign> {
  const { campaign_id: identifier } = await client.createCampaign({
    body: {
      name: 'Your table is still there',
      type: 'classic',
      source: 'API',
      app_id: app.identifier,
      includes_push: true,
      includes_inapp: false,
      start_date: 'now',
      adapt_tz: true,
      params: {
        push_title: 'Your table is still there',
        push_message: 'We have mended the checkout. Your cart is as you left it.',
        deep_linking_url: 'demo-shop://cart',
      },
      filters: { blocks: [{ filters: [{ filter_on: 'segments', segment_identifiers: [segment] }] }] },
    },
  });
  const { audience, sends } = await client.planCampaign({ params: { identifier } });
  const { people, recipients, held_back: heldBack } = audience!;
  say(
    `\nCampaign ${identifier} ("Your table is still there") to the segment: ${people} people = ${recipients} get the push + ` +
      `${heldBack} get nothing`,
  );
  for (const [nth, { zones, devices, at }] of sends.entries())
    say(`Wave ${nth + 1}: ${devices} devices in ${zones!.join(', ')}, ${nth === 0 ? 'at the launch' : `at ${at}`}`);
  await client.launchCampaign({
    params: { campaign_identifier: identifier },
    body: { expected_people: recipients },
  });
  const pushed = await untilWaveSettled(databaseUrl, identifier, sends[0]!.devices!);
  const calls = confirmations(pushed);
  const { accepted } = await sendCalls(url, app.key, calls);
  say(`Launched for ${recipients} people. Devices of the first wave send ${accepted} calls: received, and opened`);
  return { identifier, confirmed: new Set(calls.map(({ properties }) => properties.millrace_id)).size };
}

type Pushed = { id: number; device_id: string; user_id: string };

/** Returns the pushes that the sandbox took. A device learns the id of its message from the push: no call shows it. */
async function untilWaveSettled(databaseUrl: string, campaign: string, devices: number): Promise<Pushed[]> {
  const db = openDemoDatabase(databaseUrl);
  try {
    const { rows } = await outcome(
      () =>
        db.query<Pushed & { code: string }>(
          `SELECT a.id, a.device_id, a.user_id, a.code FROM attempts a JOIN campaigns c ON c.entity_id = a.entity_id AND c.id = a.campaign_id
           WHERE c.identifier = $1 AND a.code <> 'PENDING' ORDER BY a.id`,
          [campaign],
        ),
      ({ rowCount }) => rowCount === devices,
    );
    return rows.filter(({ code }) => code === 'PUSH_SENT');
  } finally {
    await db.end();
  }
}

type Confirmation = { event: string; properties: { millrace_id: string } };

/** Two of three devices say that they got the push, and every fourth of these that its person opened it. */
function confirmations(pushed: readonly Pushed[]): Confirmation[] {
  return pushed
    .filter((_, nth) => nth % 3 !== 0)
    .flatMap(({ id, device_id: device, user_id: userId }, nth) =>
      ['Push Notification Received', ...(nth % 4 === 0 ? ['Push Notification Tapped'] : [])].map((event) => ({
        type: 'track',
        event,
        userId,
        properties: { millrace_id: messageIdOf(id) },
        context: { device: { id: device } },
      })),
    );
}

const SENT = ['confirmed', 'taken', 'unknown', 'refused'] as const;

const hasCounted = ({ total }: CampaignResults, { confirmed }: DemoCampaign) => total.confirmed === confirmed;

/** Shows what became of the campaign, once the service has counted what the devices confirmed. */
export async function showResults(client: Client, campaign: DemoCampaign, say: Say): Promise<void> {
  const view = () => client.viewCampaignResults({ params: { identifier: campaign.identifier }, query: {} });
  const { total, codes } = await outcome(view, (results: CampaignResults) => hasCounted(results, campaign));
  say(
    `\nResults of ${campaign.identifier}: ${total.sent} pushes sent = ` +
      SENT.map((part) => `${total[part]} ${part}`).join(' + '),
  );
  const others = codes.filter(({ group }) => group === 'not_sent');
  say(`${total.not_sent} devices got none: ${others.map((each) => `${each.details} ${each.messages}`).join(', ')}`);
}
