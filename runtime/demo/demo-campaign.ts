import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { DemoServer } from './demo-server.ts';

type Say = (text: string) => void;

const POLL_MS = 100;
/** Seconds until the first wave. */
const SOON_SECONDS = 3;

/**
 * Sends a campaign to a segment by each device's clock: now in the app's zone, an hour later in the others. Says how
 * many devices it reached, what is to come, and where its log is.
 */
export async function demoCampaign(
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
  const params = { campaign_identifier: campaign };
  await client.launchCampaign({ params });
  const { count, optin, total } = await untilSent(client, campaign);
  say(
    `\nCampaign ${campaign} ("Still interested?") to the segment: ${count} of ${total} devices, ${optin} of them allow pushes`,
  );
  const {
    sends: [next],
  } = await client.planCampaign({ params: { identifier: campaign } });
  say(`First wave sent; the next goes out at ${next!.at}, to ${next!.zones!.join(', ')}`);
  say(`Log of the app's campaigns: ${await fetchLog(client, app, began)}`);
}

/** Waits for the first wave, and returns the audience. */
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
