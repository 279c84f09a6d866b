import { setTimeout as delay } from 'node:timers/promises';
import { type Database, openDatabase } from '../store/core/database.ts';
import type { Line, Size } from './line.ts';
import { peakMemory } from './peak-memory.ts';
import { atLeast, type Figure } from './report.ts';
import { insertBare, makeReachableApp } from './sends.ts';
import { call, type RunningService, untilNextLook } from './service.ts';

const DEVICES: Record<Size, number> = { quick: 20_000, full: 1_000_000 };

const titleOf = (size: Size) => `classic campaign to ${DEVICES[size].toLocaleString('en')} sandbox devices`;
const PEAK = 'classic campaign, peak memory of the service';

/**
 * From the launch to the end, with finding the audience, against one INSERT of the rows that it became into a table
 * with the same indexes.
 */
export const classicCampaign: Line = {
  key: 'campaign',
  titles: (size) => [titleOf(size), PEAK],
  async *measure(context) {
    const client = openDatabase({ url: await context.databaseUrl(), max: 1, name: 'bench' });
    const service = await context.service();
    const app = await makeReachableApp(service, client, DEVICES[context.size]);
    await client.query('CHECKPOINT');
    yield* peakMemory(PEAK, service, async function* measured() {
      yield await measureOnce(service, client, app, context.size);
    });
    await client.query('TRUNCATE attempts, campaign_audience, devices, device_users');
    await client.end();
  },
};

async function measureOnce(service: RunningService, client: Database, app: string, size: Size): Promise<Figure> {
  const seconds = await run(service, app);
  const { rows } = await client.query<{ sent: number }>(
    `SELECT count(*) AS sent FROM attempts WHERE code = 'PUSH_SENT'`,
  );
  if (rows[0]!.sent !== DEVICES[size])
    throw new Error(`the campaign brought ${rows[0]!.sent} of ${DEVICES[size]} messages`);
  return atLeast(titleOf(size), 'messages/s', DEVICES[size] / seconds, DEVICES[size] / (await insertBare(client)), 0.3);
}

async function run({ url, token }: RunningService, app: string): Promise<number> {
  const { campaign_id: campaign } = await call<{ campaign_id: string }>(url, token, 'POST', '/api/campaign', {
    name: 'News',
    type: 'classic',
    source: 'API',
    app_id: app,
    includes_push: true,
    includes_inapp: false,
    start_date: 'now',
    params: { push_title: 'News', push_message: 'There is something new for everybody' },
  });
  const began = performance.now();
  await call(url, token, 'PUT', `/api/campaign/${campaign}/launch`, {});
  for (;;) {
    const { status, failure } = await call<{ status: string; failure: string | null }>(
      url,
      token,
      'GET',
      `/api/campaign/${campaign}`,
    );
    if (status === 'Finished') return (performance.now() - began) / 1000;
    if (failure !== null) throw new Error(`the campaign failed: ${failure}`);
    await delay(untilNextLook(began));
  }
}
