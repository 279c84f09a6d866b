import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { messageIdOf } from '../../../domain/sends/attempt.ts';
import { decideDevice } from '../../../domain/sends/device-decision.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { listUserDevices } from '../../../store/sends/send-targets.ts';
import { insertTokenKey, signUserToken, type TokenKey } from '../../harness/apps/user-tokens.ts';
import { insertSampleCampaign } from '../../harness/sends/campaigns.ts';
import { useServer } from '../http/use-server.ts';
import { basic, insertKeyedApp, type KeyedSampleApp } from '../tracking/sample-tracking.ts';

const { store, server, world } = useServer();
let app: KeyedSampleApp;
let tokenKey: TokenKey;
let campaign: { id: number; identifier: string };

beforeAll(async () => {
  app = await insertKeyedApp(store, world);
  tokenKey = await insertTokenKey(store, world.entity.id, app.app.id);
  campaign = await insertSampleCampaign(store.db, world.entity.id, app.app.id, { includesInapp: true });
  for (const [device, user] of [
    ['phone', 'ada'],
    ['tablet', 'bob'],
  ])
    await track(device!, 'Application Opened', {}, user);
});

const track = (device: string, event: string, properties: object = {}, userId?: string) =>
  sendBatch([callOf(device, event, properties, userId)]);
const callOf = (device: string, event: string, properties: object = {}, userId?: string, context: object = {}) => ({
  type: 'track',
  event,
  properties,
  userId,
  messageId: randomUUID(),
  timestamp: new Date(),
  context: { device: { id: device, ...context } },
});

async function sendBatch(batch: object[]): Promise<void> {
  const { status } = await server.call('POST', '/v1/batch', { headers: basic(app.apiKey), body: { batch } });
  expect(status).toBe(200);
}

const INAPP = {
  kind: 'native',
  title: 'Hi',
  content: 'News',
  button: 'OK',
  contentUrl: null,
  contentTitle: null,
  autoDisplay: false,
  deepLink: null,
  parameters: {},
};

async function insertAttempt(
  deviceId: string,
  userId: string,
  { code = 'PUSH_SENT', isInapp = true } = {},
): Promise<string> {
  const {
    rows: [row],
  } = await store.db.query<{ id: number }>(
    `INSERT INTO attempts (entity_id, campaign_id, app_id, channel, state, code, settled_at, device_id, user_id, content, inapp_until)
     VALUES ($1, $2, $3, 'both', 'settled', $7, now(), $4, $5, $6, CASE WHEN $8 THEN now() + interval '1 day' END) RETURNING id`,
    [world.entity.id, campaign.id, app.app.id, deviceId, userId, JSON.stringify({ inapp: INAPP }), code, isInapp],
  );
  return messageIdOf(row!.id);
}

const received = async (id: string) => {
  const {
    rows: [row],
  } = await store.db.query<Record<'delivered_at' | 'opened_at' | 'shown_at' | 'clicked_at', Date | null>>(
    'SELECT delivered_at, opened_at, shown_at, clicked_at FROM attempts WHERE entity_id = $1 AND id = $2',
    [world.entity.id, Number.parseInt(id.slice(-12), 16)],
  );
  return row!;
};
const happened = async (id: string) =>
  Object.entries(await received(id))
    .filter(([, at]) => at !== null)
    .map(([what]) => what);

type Inapp = { messages: { millrace_id: string; content: string }[] };
const inapp = (deviceId: string, headers: Record<string, string> = {}) =>
  server.call('GET', `/v1/inapp?deviceId=${deviceId}`, { headers: { ...basic(app.apiKey), ...headers } });

describe('what a device tells of messages', () => {
  it('counts once, for its own messages alone', async () => {
    const [mine, other] = [await insertAttempt('phone', 'ada'), await insertAttempt('tablet', 'bob')];
    await track('phone', 'Push Notification Received', { millrace_id: mine });
    expect(await happened(mine)).toEqual(['delivered_at']);
    const { delivered_at: first } = await received(mine);
    await track('phone', 'Push Notification Received', { millrace_id: mine });
    await track('phone', 'Push Notification Tapped', { millrace_id: mine });
    await track('phone', 'In-App Message Clicked', { millrace_id: mine });
    for (const id of [other, 'nonsense', messageIdOf(4_000_000)])
      await track('phone', 'Push Notification Tapped', { millrace_id: id });
    expect(await happened(mine)).toEqual(['delivered_at', 'opened_at', 'shown_at', 'clicked_at']);
    expect((await received(mine)).delivered_at).toEqual(first);
    expect(await happened(other)).toEqual([]);
    // Of what two devices tell in one batch, each counts for its own.
    await sendBatch([
      callOf('phone', 'Push Notification Tapped', { millrace_id: other }),
      callOf('tablet', 'Push Notification Received', { millrace_id: other }),
    ]);
    expect(await happened(other)).toEqual(['delivered_at']);
    // Nothing is opened that was never sent, nor shown that the device was never given.
    const unsent = await insertAttempt('phone', 'ada', { code: 'OPT_OUT', isInapp: false });
    for (const event of ['Push Notification Tapped', 'In-App Message Clicked'])
      await track('phone', event, { millrace_id: unsent });
    expect(await happened(unsent)).toEqual([]);
  });

  it('keeps tokens and subscriptions of browsers whole, and none that is too long to be one', async () => {
    const keys = { p256dh: 'b'.repeat(87), auth: 'c' };
    const subscription = { endpoint: `https://push.example.com/${'a'.repeat(300)}`, expirationTime: null, keys };
    const kept = async (token: unknown) => {
      await sendBatch([callOf('browser', 'Application Opened', {}, undefined, { token })]);
      const { rows } = await store.db.query<{ push_token: string }>(
        'SELECT push_token FROM devices WHERE entity_id = $1 AND device_id = $2',
        [world.entity.id, 'browser'],
      );
      return rows[0]!.push_token;
    };
    for (const token of [subscription, JSON.stringify(subscription)])
      expect(JSON.parse(await kept(token))).toEqual(subscription);
    expect(await kept('f'.repeat(4_096))).toBe('f'.repeat(4_096));
    expect(await kept('g'.repeat(4_097))).toBe('f'.repeat(4_096));
  });

  it('shows in-app messages to their device and their user, until they are shown', async () => {
    const id = await insertAttempt('phone', 'ada');
    const waiting = async () =>
      ((await inapp('phone')).body.result as Inapp).messages.map((message) => message.millrace_id);
    expect(await waiting()).toContain(id);
    expect(((await inapp('tablet')).body.result as Inapp).messages.map((message) => message.millrace_id)).not.toContain(
      id,
    );
    await track('phone', 'Application Opened', {}, 'eve');
    expect(await waiting()).toEqual([]);
    await track('phone', 'Application Opened', {}, 'ada');
    await store.db.query('UPDATE devices SET opt_out = true WHERE entity_id = $1 AND device_id = $2', [
      world.entity.id,
      'phone',
    ]);
    expect(await waiting()).toEqual([]);
    await store.db.query('UPDATE devices SET opt_out = false WHERE entity_id = $1 AND device_id = $2', [
      world.entity.id,
      'phone',
    ]);
    await track('phone', 'In-App Message Shown', { millrace_id: id });
    expect(await waiting()).not.toContain(id);
    expect((await inapp('unknown')).status).toBe(404);
    expect((await server.call('GET', '/v1/inapp?deviceId=phone')).status).toBe(401);
  });

  it('shows as many in-app messages as about 1 MiB holds, and the others once these are shown', async () => {
    const large = JSON.stringify({ inapp: { ...INAPP, content: 'x'.repeat(200_000) } });
    await store.db.query(
      `INSERT INTO attempts (entity_id, campaign_id, app_id, channel, state, code, settled_at, device_id, user_id, content, inapp_until)
       SELECT $1, $2, $3, 'both', 'settled', 'PUSH_SENT', now(), 'tablet', 'bob', $4, now() + interval '1 day' FROM generate_series(1, 8)`,
      [world.entity.id, campaign.id, app.app.id, large],
    );
    const waiting = async () =>
      ((await inapp('tablet')).body.result as Inapp).messages.filter(({ content }) => content.length > 1_000);
    const first = await waiting();
    expect(first).toHaveLength(6);
    for (const { millrace_id: id } of first) await track('tablet', 'In-App Message Shown', { millrace_id: id });
    expect(await waiting()).toHaveLength(2);
  });

  it('shows no in-app message of a person whose erasure has begun', async () => {
    await track('watch', 'Application Opened', {}, 'uma');
    const id = await insertAttempt('watch', 'uma');
    const listed = async () => ((await inapp('watch')).body.result as Inapp).messages.map((one) => one.millrace_id);
    expect(await listed()).toEqual([id]);
    await insertTombstone(store.db, world.entity.id, store.secrets.customerHash(world.entity.id, 'user_id', 'uma'));
    expect(await listed()).toEqual([]);
  });

  it('needs a signed user token where the app requires verified users', async () => {
    const id = await insertAttempt('phone', 'ada');
    await store.db.query('UPDATE apps SET verified_users = true WHERE id = $1', [app.app.id]);
    const [adas, eves] = [await signUserToken(tokenKey, { sub: 'ada' }), await signUserToken(tokenKey, { sub: 'eve' })];
    expect((await inapp('phone')).status).toBe(401);
    expect((await inapp('phone', { 'x-user-token': eves })).status).toBe(403);
    const { messages } = (await inapp('phone', { 'x-user-token': adas })).body.result as Inapp;
    expect(messages.map((message) => message.millrace_id)).toEqual([id]);
    const verify = (body: object) => server.call('POST', '/v1/verify', { headers: basic(app.apiKey), body });
    expect(await verify({ deviceId: 'phone', userToken: adas })).toMatchObject({
      status: 200,
      body: { result: { device_id: 'phone', user_id: 'ada' } },
    });
    for (const body of [{ deviceId: 'phone' }, { deviceId: 'phone', userToken: `${adas}x` }])
      expect((await verify(body)).status).toBe(401);
    expect((await verify({ userToken: adas })).status).toBe(400);
    const { rows } = await store.db.query(
      'SELECT verified_user_id FROM devices WHERE entity_id = $1 AND device_id = $2',
      [world.entity.id, 'phone'],
    );
    expect(rows).toEqual([{ verified_user_id: 'ada' }]);
  });

  it('sends to no push token that came without the user token of a verified user', async () => {
    const adas = await signUserToken(tokenKey, { sub: 'ada' });
    const verify = (body: object) =>
      server.call('POST', '/v1/verify', { headers: basic(app.apiKey), body: { userToken: adas, ...body } });
    const tell = (token: string) => sendBatch([callOf('owned', 'Application Opened', {}, 'ada', { token })]);
    const receiver = async () => {
      const [device] = await listUserDevices(store.db, world.entity.id, [app.app.id], ['ada']).then((devices) =>
        devices.filter(({ deviceId }) => deviceId === 'owned'),
      );
      const channels = { type: 'transactional', includesPush: true, includesInapp: false } as const;
      const { push, code } = decideDevice(device!, 'ada', channels, { verifiedUsers: true });
      return push ? device!.pushToken : code;
    };
    await tell('hers');
    expect(await receiver()).toBe('USER_NOT_VERIFIED');
    const unnamed = await verify({ deviceId: 'owned' });
    expect([unnamed.status, JSON.stringify(unnamed.body)]).toEqual([400, expect.stringContaining('pushToken')]);
    expect((await verify({ deviceId: 'owned', pushToken: 'hers' })).status).toBe(200);
    expect(await receiver()).toBe('hers');
    await tell('hers');
    expect(await receiver()).toBe('hers');
    expect((await verify({ deviceId: 'owned' })).status).toBe(200);
    // The app's key is enough to send this, and what her own app does next must not vouch for it.
    await tell("a stranger's");
    expect(await receiver()).toBe('USER_NOT_VERIFIED');
    expect((await verify({ deviceId: 'owned' })).status).toBe(400);
    expect(await receiver()).toBe('USER_NOT_VERIFIED');
    expect((await verify({ context: { device: { id: 'owned', token: 'hers' } } })).status).toBe(200);
    expect(await receiver()).toBe('hers');
    // The provider knows the token no more, and the next one is anybody's.
    await store.db.query(`UPDATE devices SET push_token = NULL WHERE entity_id = $1 AND device_id = 'owned'`, [
      world.entity.id,
    ]);
    await tell("a stranger's");
    expect(await receiver()).toBe('USER_NOT_VERIFIED');
  });

  it('names no user from a logout on, until somebody logs in again', async () => {
    const state = async () =>
      (
        await store.db.query<{ current: string | null; last: string | null; verified: string | null }>(
          `SELECT current_user_id AS current, last_user_id AS last, verified_user_id AS verified FROM devices
       WHERE entity_id = $1 AND device_id = 'shared'`,
          [world.entity.id],
        )
      ).rows[0];
    const codes = async (verifiedUsers: boolean) =>
      (await listUserDevices(store.db, world.entity.id, [app.app.id], ['ada']))
        .filter(({ deviceId }) => deviceId === 'shared')
        .flatMap((device) =>
          (['classic', 'dynamic', 'transactional'] as const).map(
            (type) =>
              decideDevice(device, 'ada', { type, includesPush: true, includesInapp: false }, { verifiedUsers }).code,
          ),
        );
    await sendBatch([callOf('shared', 'Application Opened', {}, 'ada', { token: 'of the shared one' })]);
    const userToken = await signUserToken(tokenKey, { sub: 'ada' });
    const verified = await server.call('POST', '/v1/verify', {
      headers: basic(app.apiKey),
      body: { userToken, deviceId: 'shared', pushToken: 'of the shared one' },
    });
    expect(verified.status).toBe(200);
    // Said before she logged in, and late.
    await sendBatch([
      { ...callOf('shared', 'millrace_logout', {}, 'ada'), timestamp: new Date(Date.now() - 3_600_000) },
    ]);
    expect(await state()).toEqual({ current: 'ada', last: 'ada', verified: 'ada' });
    expect(await codes(true)).toEqual(['PENDING', 'PENDING', 'PENDING']);
    await sendBatch([callOf('shared', 'millrace_logout', {}, 'ada')]);
    expect(await state()).toEqual({ current: null, last: 'ada', verified: null });
    expect(new Set([...(await codes(true)), ...(await codes(false))])).toEqual(new Set(['NOT_ON_LAST_LOGIN']));
    // Calls without a user log no user in; those of another user do.
    await sendBatch([callOf('shared', 'Application Opened')]);
    expect(await state()).toMatchObject({ current: null });
    await sendBatch([callOf('shared', 'Application Opened', {}, 'eve')]);
    expect(await state()).toEqual({ current: 'eve', last: 'eve', verified: null });
  });

  it('shows whether the app is still there', async () => {
    const uninstalled = async () =>
      (
        await store.db.query<{ uninstalled: boolean }>(
          'SELECT uninstalled FROM devices WHERE entity_id = $1 AND device_id = $2',
          [world.entity.id, 'tablet'],
        )
      ).rows[0]!.uninstalled;
    await track('tablet', 'Application Uninstalled');
    expect(await uninstalled()).toBe(true);
    await track('tablet', 'Application Opened');
    expect(await uninstalled()).toBe(false);
  });
});
