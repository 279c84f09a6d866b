import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { certificate } from '../../harness/core/http-source.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { insertSampleCampaign, PUSH_PARAMS } from '../../harness/sends/campaigns.ts';
import { fcmServer, type FcmServer } from '../../harness/sends/fcm-server.ts';
import { ask } from '../../harness/syncs/syncs.ts';

const stack = useStack({ impatient: true });
const MESSAGES = 1_500;
const CHUNK = 1_000;
const tokenOf = (user: string) => `c${user.padStart(21, '0')}:APA91b${'zqfcmtoken'.repeat(8)}`;

let fcm: FcmServer;
let world: World;
let app: { id: number; identifier: string };
let ca: string;

beforeAll(async () => {
  const tls = await certificate();
  fcm = await fcmServer(tls);
  rememberSecret(fcm.serviceAccount.private_key!.split('\n')[3]!);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-fcm-'));
  onFileEnd(() => rm(folder, { recursive: true }));
  ca = join(folder, 'ca.pem');
  await writeFile(ca, tls.cert);
  world = await makeWorld(stack.store);
  app = await insertSampleApp(stack.store.db, world.entity.id, 'com.example.fcm', 'Android App');
  await ask(stack.app, world, 'PUT', `/api/apps/${app.identifier}/push_providers/android`, {
    provider: 'fcm', settings: { service_account: fcm.serviceAccount, endpoint: fcm.origin },
  });
  await stack.store.db.query(
    `WITH users AS (SELECT n::text AS user_id FROM generate_series(1, ${MESSAGES}) n),
     devices AS (
       INSERT INTO devices (entity_id, app_id, device_id, current_user_id, last_user_id, push_token, first_seen_at, last_seen_at)
       SELECT $1, $2, 'phone ' || user_id, user_id, user_id, 'c' || lpad(user_id, 21, '0') || $3, now(), now() FROM users)
     INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
     SELECT $1, $2, 'phone ' || user_id, user_id, now() FROM users`,
    [world.entity.id, app.id, tokenOf('').slice(22)]);
  await stack.store.db.query('ANALYZE devices, device_users');     // as Postgres does within a minute
});

const work = (kill?: { boundary: string; hit: number }) =>
  stack.startWorker({ env: { NODE_EXTRA_CA_CERTS: ca }, fetchAllow: 'localhost,127.0.0.1', ...kill && { kill } });

async function send(users: readonly string[]): Promise<string> {
  const params = { ...PUSH_PARAMS, push_message: 'Hello' };
  const campaign = await insertSampleCampaign(stack.store.db, world.entity.id, app.id, { params });
  const body = { campaignKey: [campaign.identifier], messages: users.map((user) => ({ user })) };
  return (await ask<{ requestId: string }>(stack.app, world, 'POST', '/api/transac', body)).requestId;
}

type State = { state: string; codes: Record<string, number>; ended_at: string | null; next_at: string | null };
const stateOf = (requestId: string) => ask<State>(stack.app, world, 'GET', `/api/transac/${requestId}`);
const ended = (requestId: string) => waitFor('the end of the send', async () => {
  const state = await stateOf(requestId);
  return state.ended_at !== null && state;
});

describe('messages through FCM', () => {
  it('are sent once: those under way when their worker is killed are reported as unknown', async () => {
    const worker = work({ boundary: 'send: sent', hit: 1 });
    const requestId = await send(Array.from({ length: MESSAGES }, (_, n) => String(n + 1)));
    expect(await worker.ended).toMatchObject({ signal: 'SIGKILL' });
    const next = work();
    expect(await ended(requestId)).toMatchObject({ state: 'finished', codes: { UNKNOWN: CHUNK, PUSH_SENT: MESSAGES - CHUNK } });
    const tokens = fcm.sent.map(({ message }) => message.token as string);
    expect([tokens.length, new Set(tokens).size]).toEqual([MESSAGES, MESSAGES]);
    await next.stop();
  });

  it('that FCM refuses are sorted: tokens gone opt the device out, what is throttled waits', async () => {
    const worker = work();
    fcm.fate(tokenOf('1'), 'UNREGISTERED');
    fcm.fate(tokenOf('2'), 'SENDER_ID_MISMATCH');
    fcm.fate(tokenOf('3'), 'UNAVAILABLE');
    const requestId = await send(['1', '2', '3', '4']);
    const waiting = await waitFor('what waits', async () => {
      const state = await stateOf(requestId);
      return state.next_at !== null && state;
    });
    expect(waiting.codes).toMatchObject({ OPT_OUT: 1, PENDING: 1, PUSH_SENT: 1 });
    const { rows: devices } = await stack.store.db.query(
      `SELECT push_token FROM devices WHERE entity_id = $1 AND device_id = 'phone 1'`, [world.entity.id]);
    expect(devices).toEqual([{ push_token: null }]);
    fcm.fate(tokenOf('3'), null);
    await stack.store.db.query(`UPDATE attempts SET due_at = now() WHERE state = 'waiting'`);
    expect((await ended(requestId)).codes).toMatchObject({ PUSH_SENT: 2, OPT_OUT: 1 });
    await worker.stop();
  });
});
