import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { certificate } from '../../harness/core/http-source.ts';
import { lockWaits } from '../../harness/core/lock-waits.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { tcpRelay } from '../../harness/core/tcp-relay.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { type WorkerOptions, workersOver } from '../../harness/core/workers.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { apnsServer } from '../../harness/sends/apns-server.ts';
import { insertSampleCampaign, insertSampleDevice, PUSH_PARAMS } from '../../harness/sends/campaigns.ts';
import { fcmServer, type FcmServer } from '../../harness/sends/fcm-server.ts';
import { type WebPushServer, webPushServer } from '../../harness/sends/web-push-server.ts';
import { ask as askOf } from '../../harness/syncs/syncs.ts';
import { newCertificate } from '../../server/apps/sample-certificates.ts';

const stack = useStack({ impatient: true });
const MESSAGES = 1_500;
const STREAMS = 20;
const BROWSERS = 300;
/** To a push service that speaks HTTP/1.1. */
const HTTP1_CONNECTIONS = 16;
/** The connections of PUSH_LIMITS. */
const MAX_UNKNOWN = 2 * STREAMS * 4;
const tokenOf = (user: string) => `c${user.padStart(21, '0')}:APA91b${'zqfcmtoken'.repeat(8)}`;

let tls: Awaited<ReturnType<typeof certificate>>;
let fcm: FcmServer;
let world: World;
let app: { id: number; identifier: string };
let ca: string;

beforeAll(async () => {
  tls = await certificate();
  fcm = await fcmServer({ ...tls, streams: STREAMS });
  rememberSecret(fcm.serviceAccount.private_key!.split('\n')[3]!);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-push-'));
  onFileEnd(() => rm(folder, { recursive: true }));
  ca = join(folder, 'ca.pem');
  await writeFile(ca, tls.cert);
  world = await makeWorld(stack.store);
  app = await insertSampleApp(stack.store.db, world.entity.id, 'com.example.fcm', 'Android App');
  await ask('PUT', `apps/${app.identifier}/push_providers/android`, {
    provider: 'fcm',
    settings: { service_account: fcm.serviceAccount, endpoint: fcm.origin },
  });
  await insertDevices(app.id, 'phone', tokenOf('@').replace(/0+@/, '@'));
});

/** One of each user; `@` in the token stands for the user. */
async function insertDevices(appId: number, name: string, token: string, count = MESSAGES): Promise<void> {
  await stack.store.db.query(
    `WITH users AS (SELECT n::text AS user_id FROM generate_series(1, ${count}) n),
     devices AS (
       INSERT INTO devices (entity_id, app_id, device_id, current_user_id, last_user_id, push_token, first_seen_at, last_seen_at)
       SELECT $1, $2, $4 || ' ' || user_id, user_id, user_id, replace($3, '@', lpad(user_id, 21, '0')), now(), now() FROM users)
     INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
     SELECT $1, $2, $4 || ' ' || user_id, user_id, now() FROM users`,
    [world.entity.id, appId, token, name],
  );
  await stack.store.db.query('ANALYZE devices, device_users'); // as Postgres does within a minute
}

const ask = <T>(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, payload?: object) =>
  askOf<T>(stack.app, world, method, `/api/${path}`, payload);
const trusting = (): WorkerOptions => ({
  env: { NODE_EXTRA_CA_CERTS: ca },
  fetchAllow: 'localhost,127.0.0.1',
  pushServices: 'localhost',
});
const work = (kill?: { boundary: string; hit: number }) => stack.startWorker({ ...trusting(), ...(kill && { kill }) });

const params = { ...PUSH_PARAMS, push_message: '*@text|Hello@*' };
const campaignOf = (appId: number, options: Parameters<typeof insertSampleCampaign>[3] = {}) =>
  insertSampleCampaign(stack.store.db, world.entity.id, appId, { params, ...options });

type Message = string | { user: string; templateVars: object };
async function send(campaigns: readonly { identifier: string }[], messages: readonly Message[]): Promise<string> {
  const body = {
    campaignKey: campaigns.map(({ identifier }) => identifier),
    messages: messages.map((message) => (typeof message === 'string' ? { user: message } : message)),
  };
  return (await ask<{ requestId: string }>('POST', 'transac', body)).requestId;
}

type State = { state: string; codes: Record<string, number>; ended_at: string | null; next_at: string | null };
const stateOf = (requestId: string) => ask<State>('GET', `transac/${requestId}`);
const ended = (requestId: string) =>
  waitFor('the end of the send', async () => {
    const state = await stateOf(requestId);
    return state.ended_at !== null && state;
  });
type Row = { user: string; device_id: string; code: string; details: string | null };
const report = async ({ identifier }: { identifier: string }) =>
  (await ask<{ reports: { campaignStatus: Row[] }[] }>('GET', `transac/${identifier}/reports`)).reports[0]!
    .campaignStatus;

async function codesOf({ id }: { id: number }): Promise<Record<string, number>> {
  const { rows } = await stack.store.db.query<{ code: string; count: number }>(
    'SELECT code, count(*)::integer FROM attempts WHERE entity_id = $1 AND campaign_id = $2 GROUP BY code',
    [world.entity.id, id],
  );
  return Object.fromEntries(rows.map(({ code, count }) => [code, count]));
}

/** Browsers that take the messages of an app. */
async function browsersOf(web: { identifier: string }, { http1Only = false } = {}): Promise<WebPushServer> {
  const { settings } = await ask<{ settings: { vapid_public_key: string } }>(
    'PUT',
    `apps/${web.identifier}/push_providers/web`,
    {
      provider: 'web_push',
      settings: { subject: 'mailto:push@example.com' },
    },
  );
  return webPushServer({ ...tls, http1Only, vapidPublicKey: settings.vapid_public_key });
}

async function usersWithContent({ id }: { id: number }): Promise<string[]> {
  const { rows } = await stack.store.db.query<{ user_id: string }>(
    'SELECT user_id FROM attempts WHERE entity_id = $1 AND campaign_id = $2 AND content IS NOT NULL',
    [world.entity.id, id],
  );
  return rows.map(({ user_id: user }) => user);
}

async function tokensOf(...devices: string[]): Promise<(string | null)[]> {
  const { rows } = await stack.store.db.query<{ push_token: string | null }>(
    'SELECT push_token FROM devices WHERE entity_id = $1 AND device_id = ANY ($2) ORDER BY device_id',
    [world.entity.id, devices],
  );
  return rows.map(({ push_token: token }) => token);
}

describe('messages through FCM', () => {
  it('are sent once: those under way when their worker is killed are reported as unknown, and keep nothing that is sensitive', async () => {
    const web = await insertSampleApp(stack.store.db, world.entity.id, 'http1.example.com', 'Web App');
    const browsers = await browsersOf(web, { http1Only: true });
    const subscription = JSON.stringify(browsers.subscribe('firefox'));
    await insertDevices(web.id, 'browser', subscription.replace(/("endpoint":"[^"]*)"/, '$1?of=@"'), BROWSERS);
    const answer = browsers.hold();
    const worker = work({ boundary: 'send: sent', hit: 10 });
    const campaign = await campaignOf(app.id, { isSensitive: true });
    const overHttp1 = await campaignOf(web.id);
    const requestId = await send(
      [campaign, overHttp1],
      Array.from({ length: MESSAGES }, (_, n) => String(n + 1)),
    );
    expect(await worker.ended).toMatchObject({ signal: 'SIGKILL' });
    answer();
    const streams = STREAMS * fcm.connections();
    expect((await usersWithContent(campaign)).length).toBeGreaterThan(0);
    const next = work();
    expect((await ended(requestId)).state).toBe('finished');
    const { UNKNOWN: unknown = 0, ...codes } = await codesOf(campaign);
    expect(codes).toEqual({ PUSH_SENT: MESSAGES - unknown });
    expect(unknown).toBeGreaterThan(0);
    expect(unknown).toBeLessThanOrEqual(2 * streams);
    const { UNKNOWN: unknownToBrowsers = 0, ...ofBrowsers } = await codesOf(overHttp1);
    expect(ofBrowsers).toEqual({ PUSH_SENT: BROWSERS - unknownToBrowsers, NO_DEVICE_FOR_USER: MESSAGES - BROWSERS });
    expect(unknownToBrowsers).toBeGreaterThan(0);
    expect(unknownToBrowsers).toBeLessThanOrEqual(2 * HTTP1_CONNECTIONS);
    expect(new Set(browsers.got.map(({ message }) => message.millrace_id)).size).toBe(browsers.got.length);
    const tokens = fcm.sent.map(({ message }) => message.token as string);
    expect(new Set(tokens).size).toBe(tokens.length);
    expect(tokens.length).toBeGreaterThanOrEqual(MESSAGES - unknown);
    expect(await usersWithContent(campaign)).toEqual([]);
    await next.stop();
  });

  it('are settled as they are answered, and canceled while FCM holds its answers: all but a window never leave', async () => {
    const worker = work();
    const campaign = await campaignOf(app.id);
    const one = fcm.holdAnswers(tokenOf('7'));
    const first = await send(
      [campaign],
      Array.from({ length: 100 }, (_, n) => String(n + 1)),
    );
    await waitFor('all but one answer', async () => (await stateOf(first)).codes.PUSH_SENT === 99);
    expect(await stateOf(first)).toMatchObject({ ended_at: null, next_at: null, codes: { PUSH_SENT: 99, PENDING: 1 } });
    one();
    expect((await ended(first)).codes).toEqual({ PUSH_SENT: 100 });
    const before = fcm.sent.length;
    const all = fcm.holdAnswers();
    const second = await send(
      [campaign],
      Array.from({ length: MESSAGES }, (_, n) => String(n + 1)),
    );
    await waitFor('as much at FCM as it takes', async () => fcm.sent.length - before >= STREAMS);
    await ask('DELETE', `transac/${second}`);
    await waitFor('the cancel', async () => ((await stateOf(second)).codes.CANCELED ?? 0) >= MESSAGES - MAX_UNKNOWN);
    all();
    const {
      state,
      codes: { CANCELED: canceled = 0, ...codes },
    } = await ended(second);
    expect([state, codes]).toEqual(['canceled', { PUSH_SENT: MESSAGES - canceled }]);
    expect(fcm.sent.length - before).toBe(MESSAGES - canceled);
    await worker.stop();
  });

  it('have their outcomes although Postgres ends the session that writes them', async () => {
    const { db } = stack.store;
    const worker = work();
    const answer = fcm.holdAnswers(tokenOf('7'));
    const requestId = await send([await campaignOf(app.id)], ['6', '7']);
    await waitFor('one answer', async () => (await stateOf(requestId)).codes.PUSH_SENT === 1);
    const holder = await db.connect();
    await holder.query(`BEGIN; SELECT FROM attempts WHERE state = 'sending' FOR UPDATE`);
    answer();
    await lockWaits(stack.store);
    await db.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    await holder.query('COMMIT');
    holder.release();
    expect(await ended(requestId)).toMatchObject({ state: 'finished', codes: { PUSH_SENT: 2 } });
    await worker.stop();
  });

  it('whose worker is given up before FCM answers are unknown until the answer comes, and then what it says', async () => {
    const relay = await tcpRelay(inject('temporal').address);
    const lost = workersOver(stack.store, stack.namespace, { temporalAddress: relay.address, impatient: true })(
      trusting(),
    );
    const before = fcm.sent.length;
    const answer = fcm.holdAnswers();
    const campaign = await campaignOf(app.id);
    const requestId = await send([campaign], ['7']);
    await waitFor('the message at FCM', async () => fcm.sent.length > before);
    relay.cut();
    const next = work();
    expect(await ended(requestId)).toMatchObject({ state: 'finished', codes: { UNKNOWN: 1 } });
    answer();
    await waitFor('the answer in the report', async () => (await report(campaign))[0]!.code === 'PUSH_SENT');
    expect((await report(campaign)).map(({ details }) => details)).toEqual([null]);
    expect(fcm.sent.length).toBe(before + 1);
    await Promise.all([lost.kill(), next.stop()]);
  });

  it('that FCM does not take are sorted in the report: tokens gone opt the device out, what is throttled waits, or expires', async () => {
    const worker = work();
    fcm.fate(tokenOf('1'), 'UNREGISTERED');
    fcm.fate(tokenOf('2'), 'SENDER_ID_MISMATCH');
    fcm.fate(tokenOf('3'), 'DEVICE_QUOTA');
    const campaign = await campaignOf(app.id, { isSensitive: true });
    const tooBig = { user: '5', templateVars: { text: 'x'.repeat(4_096) } };
    const requestId = await send([campaign], ['1', '2', '3', '4', tooBig]);
    await waitFor('what waits', async () => (await stateOf(requestId)).next_at !== null);
    const outcomes = async () => (await report(campaign)).map(({ user, code, details }) => [user, code, details]);
    const settled = [
      ['1', 'OPT_OUT', 'the provider no longer knows the push token'],
      ['2', 'REFUSED', 'SENDER_ID_MISMATCH: SenderId mismatch'],
      ['4', 'PUSH_SENT', null],
      ['5', 'MESSAGE_TO_BIG', expect.stringMatching(/^4\d\d\d bytes, and 4096 are the most$/)],
    ];
    expect(await outcomes()).toEqual([
      ...settled.slice(0, 2),
      ['3', 'PENDING', 'the provider asks for time'],
      ...settled.slice(2),
    ]);
    expect(await tokensOf('phone 1', 'phone 2')).toEqual([null, tokenOf('2')]);
    expect(await usersWithContent(campaign)).toEqual(['3']);
    const hurried = await campaignOf(app.id, { params: { ...params, expire_after: 30 }, isSensitive: true });
    expect((await ended(await send([hurried], ['3']))).codes).toEqual({ EXPIRED: 1 });
    expect(await report(hurried)).toMatchObject([
      { user: '3', code: 'EXPIRED', details: 'the provider asks for time' },
    ]);
    fcm.fate(tokenOf('3'), null);
    await stack.store.db.query(`UPDATE attempts SET due_at = now() WHERE state = 'waiting'`);
    await stack.temporal.workflow.getHandle(`transac/${requestId}`).signal('sendCanceled');
    await ended(requestId);
    expect(await outcomes()).toEqual([...settled.slice(0, 2), ['3', 'PUSH_SENT', null], ...settled.slice(2)]);
    expect([await usersWithContent(campaign), await usersWithContent(hurried)]).toEqual([[], []]);
    await worker.stop();
  });
});

describe('messages through APNs and Web Push', () => {
  it('reach phones and browsers by one request; a token that is gone opts its device out', async () => {
    const { db } = stack.store;
    const [ios, web] = [
      await insertSampleApp(db, world.entity.id, 'com.example.shop', 'iOS App'),
      await insertSampleApp(db, world.entity.id, 'shop.example.com', 'Web App'),
    ];
    const pems = await newCertificate();
    const apple = await apnsServer({ ...tls, certificates: [{ pem: pems.x509_pem, topic: 'com.example.shop' }] });
    await ask('POST', `apps/${ios.identifier}/push_certificates`, pems);
    await ask('PUT', `apps/${ios.identifier}/push_providers/ios`, {
      provider: 'apns',
      settings: { endpoint: apple.origin },
    });
    const browsers = await browsersOf(web);
    const [iphone, oldIphone] = ['a1'.repeat(32), 'b2'.repeat(32)];
    const subscriptions = ['firefox', 'closed'].map((name) => JSON.stringify(browsers.subscribe(name)));
    apple.fate(oldIphone, 'Unregistered');
    browsers.fate('closed', { status: 410 });
    const device = insertSampleDevice.bind(null, db, world.entity.id);
    await device(ios.id, 'iphone', { userId: 'ivy', token: iphone });
    await device(ios.id, 'iphone of old', { userId: 'olaf', token: oldIphone });
    await device(web.id, 'browser', { userId: 'ivy', token: subscriptions[0]! });
    await device(web.id, 'browser of old', { userId: 'olaf', token: subscriptions[1]! });
    const campaigns = [await campaignOf(ios.id), await campaignOf(web.id)];
    const worker = work();
    const messages = [{ user: 'ivy', templateVars: { text: 'Ivy, hello' } }, 'olaf'];
    expect((await ended(await send(campaigns, messages))).codes).toEqual({ PUSH_SENT: 2, OPT_OUT: 2 });
    const gone = 'the provider no longer knows the push token';
    const outcomes = async () =>
      (await Promise.all(campaigns.map(report))).flat().map(({ device_id: id, code, details }) => [id, code, details]);
    expect(await outcomes()).toEqual([
      ['iphone', 'PUSH_SENT', null],
      ['iphone of old', 'OPT_OUT', gone],
      ['browser', 'PUSH_SENT', null],
      ['browser of old', 'OPT_OUT', gone],
    ]);
    const content = { alert: { title: 'News', body: 'Ivy, hello' }, sound: 'default' };
    expect(apple.sent).toMatchObject([{ token: iphone, payload: { aps: content, millrace_id: expect.any(String) } }]);
    expect(browsers.got).toMatchObject([
      { name: 'firefox', message: { ...content.alert, millrace_id: expect.any(String) } },
    ]);
    expect(browsers.refused).toEqual([]);
    expect(await tokensOf('iphone', 'iphone of old', 'browser', 'browser of old')).toEqual([
      subscriptions[0],
      null,
      iphone,
      null,
    ]);
    expect((await ended(await send(campaigns, ['olaf']))).codes).toEqual({ OPT_OUT: 2 });
    expect((await outcomes()).filter(([, , details]) => details === 'no push token')).toHaveLength(2);
    await worker.stop();
  });

  it('go on beside a push service that is down, whose own are tried together', async () => {
    const { db } = stack.store;
    const web = await insertSampleApp(db, world.entity.id, 'down.example.com', 'Web App');
    const browsers = await browsersOf(web);
    const subscription = JSON.stringify(browsers.subscribe('down')).replace(/(localhost|127\.0\.0\.1):\d+\//, '$1:1/');
    await insertDevices(web.id, 'browser', subscription.replace(/("endpoint":"[^"]*)"/, '$1@"'));
    const users = Array.from({ length: MESSAGES }, (_, index) => String(index + 1));
    const worker = work();
    const requestId = await send([await campaignOf(app.id), await campaignOf(web.id)], users);
    // Some lost their tokens in the tests before.
    await waitFor(
      'the pushes of the other app',
      async () => (await stateOf(requestId)).codes.PUSH_SENT! > MESSAGES - 10,
    );
    const {
      rows: [down],
    } = await db.query<{ tries: number }>('SELECT max(tries) AS tries FROM attempts WHERE app_id = $1', [web.id]);
    expect(down!.tries).toBeLessThanOrEqual(3);
    await worker.kill();
  });
});
