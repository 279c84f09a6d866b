import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '../../api/client.ts';
import { table } from '../../cli/core/table.ts';
import type { DemoServer } from './demo-server.ts';

type Say = (text: string) => void;

const POLL_MS = 100;
const shopper = (device: number) => `shopper-${device}@example.com`;
/** One gets no value for the order, one takes no pushes, and one never had the app. */
const MESSAGES = [
  ...[1, 3, 4, 5].map((device) => ({ user: shopper(device), templateVars: { order: 4_711 + device } })),
  { user: shopper(2) },
  { user: 'stranger@example.com', templateVars: { order: 4_710 } },
];

/** Sends a message to some of the app's people through the sandbox, and shows each outcome and its reason. */
export async function demoSends({ client }: DemoServer, app: string, say: Say): Promise<void> {
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
