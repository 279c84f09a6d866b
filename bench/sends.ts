import { setTimeout as delay } from 'node:timers/promises';
import { type Database, openDatabase } from '../store/core/database.ts';
import type { Line, Size } from './line.ts';
import { peakMemory } from './peak-memory.ts';
import { atLeast, type Figure, median } from './report.ts';
import { call, type Caller, type RunningService, untilNextLook } from './service.ts';

const MESSAGES: Record<Size, number> = { quick: 5_000, full: 50_000 };

const titleOf = (size: Size) => `transactional send, ${MESSAGES[size].toLocaleString('en')} messages to the sandbox`;
const PEAK = 'transactional send, peak memory of the service';

/**
 * Messages from their one request to the send's end, against one INSERT of the rows that they became into a table with
 * the same indexes.
 */
export const transactionalSend: Line = {
  key: 'sends',
  titles: (size) => [titleOf(size), PEAK],
  async *measure(context) {
    const client = openDatabase({ url: await context.databaseUrl(), max: 1, name: 'bench' });
    const service = await context.service();
    yield* peakMemory(PEAK, service, async function* measured() {
      const runs: Figure[] = [];
      for (let round = 0; round < context.rounds; round += 1)
        runs.push(await measureRound(service, client, context.size));
      yield median(runs);
    });
    await client.end();
  },
};

async function measureRound(service: RunningService, client: Database, size: Size): Promise<Figure> {
  const messages = MESSAGES[size];
  const campaign = await makeCampaign(service, client, messages);
  await client.query('CHECKPOINT');
  const seconds = await sendParcels(service, campaign, messages);
  const { rows } = await client.query<{ sent: number }>(
    `SELECT count(*) AS sent FROM attempts WHERE code = 'PUSH_SENT'`,
  );
  if (rows[0]!.sent !== messages) throw new Error(`the send brought ${rows[0]!.sent} of ${messages} messages`);
  return atLeast(titleOf(size), 'messages/s', messages / seconds, messages / (await insertBare(client)), 0.3);
}

/** Makes an app with a device for each user, in otherwise empty tables of messages and devices. */
export async function makeReachableApp(service: RunningService, client: Database, users: number): Promise<string> {
  await client.query('TRUNCATE attempts, send_messages, campaign_audience, devices, device_users');
  return addReachableApp(service, client, users);
}

/** Makes the same in filled tables. */
export async function addReachableApp({ url, token }: Caller, client: Database, users: number): Promise<string> {
  const name = `bench${process.hrtime.bigint()}`;
  const { identifier: app } = await call<{ identifier: string }>(url, token, 'POST', '/api/apps', {
    name,
    package_name: `com.example.${name}`,
    app_type: 'Android App',
  });
  await client.query(
    `INSERT INTO devices (entity_id, app_id, device_id, current_user_id, last_user_id, push_token, opt_in, first_seen_at, last_seen_at)
     SELECT a.entity_id, a.id, 'device-' || n, 'user-' || n, 'user-' || n, 'token-' || n, true, now(), now()
     FROM apps a, generate_series(1, $2::integer) n WHERE a.identifier = $1`,
    [app, users],
  );
  await client.query(
    `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
     SELECT d.entity_id, d.app_id, d.device_id, d.current_user_id, now() FROM devices d JOIN apps a ON a.id = d.app_id
     WHERE a.identifier = $1`,
    [app],
  );
  await client.query('ANALYZE devices, device_users');
  return app;
}

async function makeCampaign(service: RunningService, client: Database, users: number): Promise<string> {
  return launchParcels(service, await makeReachableApp(service, client, users));
}

/** Launches a transactional campaign of an app. */
export async function launchParcels({ url, token }: Caller, app: string): Promise<string> {
  const { campaign_id: campaign } = await call<{ campaign_id: string }>(url, token, 'POST', '/api/campaign', {
    name: 'Parcel',
    type: 'transactional',
    source: 'API',
    app_id: app,
    includes_push: true,
    includes_inapp: false,
    start_date: 'now',
    params: { push_title: 'Your parcel', push_message: 'Parcel *@parcel@* arrives tomorrow, *@name@*' },
  });
  await call(url, token, 'PUT', `/api/campaign/${campaign}/launch`, {});
  return campaign;
}

/** Returns the seconds from the request to the end. Its body is in memory; users come as by a hash. */
export async function sendParcels({ url, token }: Caller, campaign: string, messages: number): Promise<number> {
  const body = {
    campaignKey: [campaign],
    messages: Array.from({ length: messages }, (_, index) => {
      const number = ((index * 7_919) % messages) + 1;
      return { user: `user-${number}`, templateVars: { parcel: `P-${100_000 + index}`, name: `Customer ${number}` } };
    }),
  };
  const began = performance.now();
  const { requestId } = await call<{ requestId: string }>(url, token, 'POST', '/api/transac', body);
  for (;;) {
    const path = `/api/transac/${requestId}`;
    const { state, ended_at: endedAt } = await call<{ state: string; ended_at: string | null }>(
      url,
      token,
      'GET',
      path,
    );
    if (state === 'finished') return (performance.now() - began) / 1000;
    if (endedAt !== null) throw new Error(`the send ended as ${state}`);
    await delay(untilNextLook(began));
  }
}

/** Returns the seconds of one INSERT of the same rows, in order, into a table with the same indexes. */
export async function insertBare(client: Database): Promise<number> {
  await client.query(`
    DROP TABLE IF EXISTS bare_attempts, bare_source;
    CREATE UNLOGGED TABLE bare_source AS SELECT * FROM attempts ORDER BY id;
    CREATE TABLE bare_attempts (LIKE attempts INCLUDING ALL);
    CHECKPOINT`);
  const began = performance.now();
  await client.query('INSERT INTO bare_attempts SELECT * FROM bare_source');
  const seconds = (performance.now() - began) / 1000;
  await client.query('DROP TABLE bare_attempts, bare_source');
  return seconds;
}
