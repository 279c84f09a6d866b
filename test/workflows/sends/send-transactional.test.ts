import { beforeAll, describe, expect, it } from 'vitest';
import { PLACES } from '../../../domain/core/limits.ts';
import { write } from '../../../store/core/database.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { cancelWaiting, recordOutcomes } from '../../../store/sends/attempts.ts';
import { attempts } from '../../../store/sends/personal-data.ts';
import { insertSend } from '../../../store/sends/sends.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { currentDetails, useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { insertSampleCampaign, insertSampleDevice, PUSH_PARAMS } from '../../harness/sends/campaigns.ts';

const stack = useStack({ impatient: true });
let world: World;
let app: { id: number; identifier: string };

const call = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, payload?: object | string) => {
  const headers = {
    authorization: `Token ${world.token}`,
    ...(payload !== undefined && { 'content-type': 'application/json' }),
  };
  const reply = await stack.app.inject({
    method,
    url: `/api/${path}`,
    headers,
    ...(payload !== undefined && { payload }),
  });
  const {
    result,
    status: code,
    error_message: message,
  } = reply.json<{ result: never; status: string; error_message: string }>();
  return { status: reply.statusCode, result, code, message };
};
const send = async (body: object) => (await call('POST', 'transac', body)).result as { requestId: string };
type State = {
  state: string;
  codes: Record<string, number>;
  processed: number;
  next_at: string | null;
  ended_at: string | null;
};
const stateOf = async (requestId: string) => (await call('GET', `transac/${requestId}`)).result as State;
const ended = (requestId: string) =>
  waitFor('the end of the send', async () => {
    const state = await stateOf(requestId);
    return state.ended_at !== null && state;
  });
type Row = { user: string | null; device_id: string | null; code: string; details: string | null };
const report = async (key: string, query = '') =>
  ((await call('GET', `transac/${key}/reports${query}`)).result as { reports: { campaignStatus: Row[] }[] }).reports[0]!
    .campaignStatus;

beforeAll(async () => {
  world = await makeWorld(stack.store);
  app = await insertSampleApp(stack.store.db, world.entity.id, 'com.example.sends');
  stack.startWorker();
});

describe('messages of transactional campaigns', () => {
  it('reach each device of each user once, or the report says why not', async () => {
    const {
      store: { db, secrets },
    } = stack;
    const { id: entityId } = world.entity;
    const device = insertSampleDevice.bind(null, db, entityId, app.id);
    await device('phone', { userId: 'ada' });
    await device('tablet', { userId: 'ada', token: null });
    await device('borrowed', { userId: 'ada', currentUserId: 'bob' });
    await device('old', { userId: 'carl', uninstalled: true });
    await device('shy', { userId: 'dora', optIn: false });
    await device('private', { userId: 'eve', optOut: true });
    await device('named', { userId: 'fay' });
    await insertTombstone(db, entityId, secrets.customerHash(entityId, 'user_id', 'gone'));
    const campaign = await insertSampleCampaign(db, entityId, app.id);
    const messages = ['ada', 'carl', 'dora', 'eve', 'nobody-here', 'gone'].map((user) => ({
      user,
      templateVars: { order: 0 },
    }));
    const body = JSON.stringify({ campaignKey: [campaign.apiIdentifier], messages: [...messages, { user: 'fay' }] });
    const exact = body.replaceAll('"order":0', '"order":9007199254740993');
    const { requestId } = (await call('POST', 'transac', exact)).result as { requestId: string };
    expect(await ended(requestId)).toMatchObject({
      state: 'finished',
      processed: 7,
      codes: { PUSH_SENT: 1, OPT_OUT: 4, NOT_ON_LAST_LOGIN: 1, NO_DEVICE_FOR_USER: 2, MISSING_TEMPLATE_PARAMS: 1 },
    });
    const rows = await report(campaign.identifier);
    expect(rows.map(({ user, device_id: id, code, details }) => [user, id, code, details])).toEqual([
      ['ada', 'borrowed', 'NOT_ON_LAST_LOGIN', null],
      ['ada', 'tablet', 'OPT_OUT', 'no push token'],
      ['ada', 'phone', 'PUSH_SENT', null],
      ['carl', 'old', 'OPT_OUT', 'the app is uninstalled'],
      ['dora', 'shy', 'OPT_OUT', 'pushes are turned off'],
      ['eve', 'private', 'OPT_OUT', 'opted out of analytics'],
      ['nobody-here', null, 'NO_DEVICE_FOR_USER', null],
      [null, null, 'NO_DEVICE_FOR_USER', 'erased'],
      ['fay', 'named', 'MISSING_TEMPLATE_PARAMS', 'no value for order'],
    ]);
    expect(
      (await report(campaign.identifier, `?requestId=${requestId}&page_size=2&page=2`)).map(({ device_id: id }) => id),
    ).toEqual(['phone', 'old']);
    const { rows: kept } = await db.query(
      `SELECT content -> 'push' ->> 'body' AS body, (SELECT count(*) FROM send_messages) AS waiting
       FROM attempts WHERE code = 'PUSH_SENT'`,
    );
    expect(kept).toEqual([{ body: 'Hello there, order 9007199254740993', waiting: 0 }]);
    const wide = await insertSampleCampaign(db, entityId, app.id, {
      params: { ...PUSH_PARAMS, push_message: '*@a@*'.repeat(2_000) },
    });
    const large = Array.from({ length: 300 }, () => ({ user: 'ada', templateVars: { a: 'x'.repeat(4_096) } }));
    expect((await ended((await send({ campaignKey: [wide.identifier], messages: large })).requestId)).codes).toEqual({
      MESSAGE_TO_BIG: 300,
      NOT_ON_LAST_LOGIN: 300,
      OPT_OUT: 300,
    });
    const why = (await call('GET', `campaigns/${campaign.identifier}/why?user=ada`)).result as {
      sent: number;
      decisions: object[];
    };
    expect(why).toMatchObject({ user: 'ada', sent: 1, opened: 0 });
    expect(why.decisions).toContainEqual(
      expect.objectContaining({
        requestId,
        device_id: 'borrowed',
        code: 'NOT_ON_LAST_LOGIN',
        reason: 'somebody else is logged in on the device',
        message: null,
      }),
    );
    expect(why.decisions).toContainEqual(
      expect.objectContaining({
        device_id: 'phone',
        message: expect.objectContaining({ title: 'News', body: 'Hello there, order 9007199254740993' }) as object,
      }),
    );
  });

  it('go to verified users alone where the app requires it, within its limit for each person, and outside its quiet hours', async () => {
    const {
      store: { db },
    } = stack;
    const { id: entityId } = world.entity;
    const strict = await insertSampleApp(db, entityId, 'com.example.strict');
    await db.query('UPDATE apps SET verified_users = true, message_limit = 2, message_period = 3600 WHERE id = $1', [
      strict.id,
    ]);
    await insertSampleDevice(db, entityId, strict.id, 'claimed', { userId: 'ada' });
    await insertSampleDevice(db, entityId, strict.id, 'vouched', { userId: 'bob', verifiedUserId: 'bob' });
    const params = { ...PUSH_PARAMS, push_message: 'Hello' };
    const campaign = await insertSampleCampaign(db, entityId, strict.id, { params });
    const urgent = await insertSampleCampaign(db, entityId, strict.id, { params, skipMessageLimit: true });
    const messages = ['ada', 'bob', 'bob', 'bob'].map((user) => ({ user }));
    const { requestId } = await send({ campaignKey: [campaign.identifier], messages });
    expect((await ended(requestId)).codes).toEqual({ USER_NOT_VERIFIED: 1, PUSH_SENT: 2, MESSAGE_LIMIT: 1 });
    const skipping = await send({ campaignKey: [urgent.identifier], messages: [{ user: 'bob' }] });
    expect((await ended(skipping.requestId)).codes).toEqual({ PUSH_SENT: 1 });
    // The app's key is enough to make devices up: they don't push out the one that a signed token vouched for.
    await db.query(
      `WITH made_up AS (
         INSERT INTO devices (entity_id, app_id, device_id, current_user_id, last_user_id, push_token, first_seen_at, last_seen_at)
         SELECT $1, $2, 'made up ' || n, 'bob', 'bob', 'token ' || n, now(), now() FROM generate_series(1, 100) n RETURNING device_id)
       INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
       SELECT $1, $2, device_id, 'bob', now() + interval '1 second' FROM made_up`,
      [entityId, strict.id],
    );
    const crowded = await send({ campaignKey: [urgent.identifier], messages: [{ user: 'bob' }] });
    expect((await ended(crowded.requestId)).codes).toEqual({ PUSH_SENT: 1, USER_NOT_VERIFIED: 100 });
    await db.query(`DELETE FROM devices WHERE device_id LIKE 'made up %'`);
    const minute = new Date().getUTCHours() * 60 + new Date().getUTCMinutes();
    const quietHours = { start: (minute + 1_430) % 1_440, end: (minute + 120) % 1_440, timezone: 'UTC' };
    await db.query('UPDATE apps SET quiet_hours = $2 WHERE id = $1', [strict.id, JSON.stringify(quietHours)]);
    const inapp = { inapp: 'native', message_title: 'T', message_content: 'C', message_btn: 'OK' };
    const both = await insertSampleCampaign(db, entityId, strict.id, {
      params: { ...params, ...inapp },
      includesInapp: true,
      skipMessageLimit: true,
      isSensitive: true,
    });
    await insertSampleDevice(db, entityId, strict.id, 'of eve', { userId: 'eve', verifiedUserId: 'eve' });
    const { requestId: quiet } = await send({
      campaignKey: [both.identifier],
      messages: [{ user: 'bob' }, { user: 'eve' }],
    });
    const waiting = await waitFor('the plan', async () => {
      const state = await stateOf(quiet);
      return state.processed === 2 && state;
    });
    expect(waiting).toMatchObject({ state: 'running', codes: { PENDING: 2 } });
    expect(Date.parse(waiting.next_at!)).toBeGreaterThan(Date.now() + 3_600_000);
    const { result: why } = await call('GET', `campaigns/${both.identifier}/why?user=bob`);
    expect(why).toMatchObject({
      decisions: [{ code: 'PENDING', details: "waits for the end of the app's quiet hours" }],
    });
    // Other quiet hours that end sooner are those that it waits for from then on.
    const sooner = (minute + 90) % 1_440;
    const times = [quietHours.start, sooner].map((time) => new Date(time * 60_000).toISOString().slice(11, 16));
    const body = { app_type: 'iOS App', quiet_hours: { start: times[0], end: times[1], timezone: 'UTC' } };
    expect(await call('PUT', `apps/${strict.identifier}`, body)).toMatchObject({ status: 200 });
    await waitFor('the end of the other quiet hours', async () => {
      const end = new Date((await stateOf(quiet)).next_at!);
      return end.getUTCHours() * 60 + end.getUTCMinutes() === sooner;
    });
    // A push that waits uses up no limit, and none goes out beyond it.
    await insertSampleDevice(db, entityId, strict.id, 'of cleo', { userId: 'cleo', verifiedUserId: 'cleo' });
    const planned = async (count: number) => {
      const { requestId: id } = await send({
        campaignKey: [campaign.identifier],
        messages: Array(count).fill({ user: 'cleo' }),
      });
      return waitFor('the plan', async () => {
        const { processed, codes } = await stateOf(id);
        return processed === count && codes;
      });
    };
    const codesOf = async (user: string) =>
      (
        await db.query<{ code: string }>(
          'SELECT code FROM attempts WHERE user_id = $1 AND campaign_id = $2 ORDER BY code',
          [user, campaign.id],
        )
      ).rows.map(({ code }) => code);
    expect([await planned(2), await planned(1)]).toEqual([{ PENDING: 2 }, { PENDING: 1 }]);
    // An erasure that has begun has not come to what waits yet.
    await insertTombstone(db, entityId, stack.store.secrets.customerHash(entityId, 'user_id', 'eve'));
    expect(await call('PUT', `apps/${strict.identifier}`, { app_type: 'iOS App', quiet_hours: null })).toMatchObject({
      status: 200,
    });
    await waitFor('the end of what waited', async () => !(await codesOf('cleo')).includes('PENDING'));
    expect(await codesOf('cleo')).toEqual(['MESSAGE_LIMIT', 'PUSH_SENT', 'PUSH_SENT']);
    expect((await ended(quiet)).codes).toEqual({ PUSH_SENT: 1, CANCELED: 1 });
    // What waits hears that its campaign is canceled.
    await db.query('UPDATE apps SET quiet_hours = $2 WHERE id = $1', [strict.id, JSON.stringify(quietHours)]);
    await insertSampleDevice(db, entityId, strict.id, 'of dora', { userId: 'dora', verifiedUserId: 'dora' });
    const { requestId: canceled } = await send({
      campaignKey: [campaign.identifier, both.identifier],
      messages: [{ user: 'dora' }],
    });
    await waitFor('the plan', async () => (await stateOf(canceled)).processed === 1);
    expect(await call('PUT', `campaign/${campaign.identifier}/cancel`)).toMatchObject({ status: 200 });
    await waitFor('the end of what waited', async () =>
      (await report(campaign.identifier)).every(({ code }) => code !== 'PENDING'),
    );
    await call('DELETE', `transac/${canceled}`);
    expect(await ended(canceled)).toMatchObject({ state: 'canceled', codes: { CANCELED: 2 } });
    const { rows: left } = await db.query(
      `SELECT inapp_until, content FROM attempts WHERE campaign_id = $1 AND user_id = 'dora'`,
      [both.id],
    );
    expect(left).toEqual([{ inapp_until: null, content: null }]);
  });

  it('leave at once although another entity has more sends that wait for their moments than there are places', async () => {
    const {
      store: { db },
    } = stack;
    const neighbour = await makeWorld(stack.store);
    const ofNeighbour = neighbour.entity.id;
    const messages = Array.from({ length: 20 }, () => ({ user: 'slow' }));
    const headers = { authorization: `Token ${neighbour.token}` };
    const waiting = await Promise.all(
      Array.from({ length: PLACES.sends }, async (_, n) => {
        const slow = await insertSampleApp(db, ofNeighbour, `com.example.slow${n}`);
        await db.query('UPDATE apps SET send_rate = 1 WHERE id = $1', [slow.id]);
        await insertSampleDevice(db, ofNeighbour, slow.id, `slow ${n}`, { userId: 'slow' });
        const { identifier } = await insertSampleCampaign(db, ofNeighbour, slow.id, {
          params: { ...PUSH_PARAMS, push_message: 'Hello' },
        });
        const reply = await stack.app.inject({
          method: 'POST',
          url: '/api/transac',
          headers,
          payload: { campaignKey: [identifier], messages },
        });
        return reply.json<{ result: { requestId: string } }>().result.requestId;
      }),
    );
    await waitFor('the first messages of each', async () => {
      const { rows } = await db.query(
        `SELECT FROM attempts WHERE entity_id = $1 AND state = 'settled' GROUP BY send_id HAVING count(*) > 1`,
        [ofNeighbour],
      );
      return rows.length === PLACES.sends;
    });
    await insertSampleDevice(db, world.entity.id, app.id, 'prompt', { userId: 'prompt' });
    const campaign = await insertSampleCampaign(db, world.entity.id, app.id, {
      params: { ...PUSH_PARAMS, push_message: 'Hello' },
    });
    expect(
      (await ended((await send({ campaignKey: [campaign.identifier], messages: [{ user: 'prompt' }] })).requestId))
        .codes,
    ).toEqual({ PUSH_SENT: 1 });
    const {
      rows: [left],
    } = await db.query<{ sends: number }>(
      `SELECT count(DISTINCT send_id) AS sends FROM attempts WHERE entity_id = $1 AND state = 'waiting'`,
      [ofNeighbour],
    );
    expect(left!.sends).toBe(PLACES.sends);
    await Promise.all(waiting.map((id) => stack.app.inject({ method: 'DELETE', url: `/api/transac/${id}`, headers })));
  });

  it('go out at the rate of their app, also those that waited for something else', async () => {
    const {
      store: { db },
    } = stack;
    const { id: entityId } = world.entity;
    const paced = await insertSampleApp(db, entityId, 'com.example.paced');
    await db.query('UPDATE apps SET send_rate = 10 WHERE id = $1', [paced.id]);
    for (let n = 0; n < 12; n += 1)
      await insertSampleDevice(db, entityId, paced.id, `paced ${n}`, { userId: `paced ${n}` });
    const campaign = await insertSampleCampaign(db, entityId, paced.id, {
      params: { ...PUSH_PARAMS, push_message: 'Hello' },
    });
    const spread = async (what: string) => {
      const {
        rows: [row],
      } = await db.query<{ seconds: number }>(
        `SELECT extract(epoch FROM max(settled_at) - min(settled_at))::float8 AS seconds FROM attempts
         WHERE app_id = $1 ${what}`,
        [paced.id],
      );
      return row!.seconds;
    };
    const messages = Array.from({ length: 12 }, (_, n) => ({ user: `paced ${n}` }));
    const first = await send({ campaignKey: [campaign.identifier], messages });
    expect((await ended(first.requestId)).codes).toEqual({ PUSH_SENT: 12 });
    expect(await spread('')).toBeGreaterThan(0.9);
    // Of a whole night that ends at once.
    const minute = new Date().getUTCHours() * 60 + new Date().getUTCMinutes();
    const quiet = { start: (minute + 1_430) % 1_440, end: (minute + 120) % 1_440, timezone: 'UTC' };
    await db.query('UPDATE apps SET quiet_hours = $2 WHERE id = $1', [paced.id, JSON.stringify(quiet)]);
    const second = await send({ campaignKey: [campaign.identifier], messages });
    await waitFor('the plan', async () => (await stateOf(second.requestId)).codes.PENDING === 12);
    const wake = async () => {
      await db.query(`UPDATE attempts SET due_at = now() WHERE app_id = $1 AND state = 'waiting'`, [paced.id]);
      await stack.temporal.workflow.getHandle(`transac/${second.requestId}`).signal('sendCanceled');
    };
    await wake();
    await waitFor(
      'the end of the quiet hours as what they wait for',
      async () => Date.parse((await stateOf(second.requestId)).next_at!) > Date.now() + 60_000,
    );
    expect((await stateOf(second.requestId)).codes).toEqual({ PENDING: 12 });
    await db.query('UPDATE apps SET quiet_hours = NULL WHERE id = $1', [paced.id]);
    await wake();
    expect((await ended(second.requestId)).codes).toEqual({ PUSH_SENT: 12 });
    expect(await spread(`AND send_id = (SELECT max(send_id) FROM attempts)`)).toBeGreaterThan(0.9);
  });

  it('wait for their time, and are canceled until then', async () => {
    const {
      store: { db },
    } = stack;
    const { id: entityId } = world.entity;
    await insertSampleDevice(db, entityId, app.id, 'late phone', { userId: 'late' });
    const campaign = await insertSampleCampaign(db, entityId, app.id, { isSensitive: true });
    const messages = [{ user: 'late', templateVars: { order: 1 } }];
    const body = { campaignKey: campaign.identifier, messages };
    const later = await send({ ...body, sendAt: new Date(Date.now() + 86_400_000).toISOString() });
    const soon = await send({ ...body, sendAt: new Date(Date.now() + 1_500).toISOString() });
    expect(await stateOf(soon.requestId)).toMatchObject({ ended_at: null, codes: {} });
    expect(await ended(soon.requestId)).toMatchObject({ state: 'finished', codes: { PUSH_SENT: 1 } });
    const {
      rows: [attempt],
    } = await db.query<{ settled_at: Date; content: unknown; send_at: Date }>(
      `SELECT a.settled_at, a.content, s.send_at FROM attempts a JOIN sends s ON s.id = a.send_id WHERE s.identifier = $1`,
      [soon.requestId],
    );
    expect(attempt!.settled_at.getTime()).toBeGreaterThanOrEqual(attempt!.send_at.getTime());
    expect(attempt!.content).toBeNull();
    expect(await currentDetails(stack, `transac/${later.requestId}`)).toMatch(
      /^Sending the messages: waits until \d{4}-\S+Z \(wait 1\)$/,
    );
    expect(await call('DELETE', `transac/${later.requestId}`)).toMatchObject({ status: 200 });
    expect(await ended(later.requestId)).toMatchObject({ state: 'canceled', codes: { CANCELED: 1 } });
    expect(await call('DELETE', `transac/${later.requestId}`)).toMatchObject({ status: 409 });
    // An in-app message that no device has shown is taken back with its request.
    const news = await insertSampleCampaign(db, entityId, app.id, {
      params: { ...PUSH_PARAMS, inapp: 'native', message_title: 'T', message_content: 'C', message_btn: 'OK' },
      includesPush: false,
      includesInapp: true,
    });
    const { requestId } = await send({ campaignKey: [news.identifier, campaign.identifier], messages });
    expect((await ended(requestId)).codes).toEqual({ INAPP_AVAILABLE: 1, PUSH_SENT: 1 });
    const {
      rows: [sent],
    } = await db.query<{ id: number }>('SELECT id FROM sends WHERE identifier = $1', [requestId]);
    await write(db, (tx) => cancelWaiting(tx, entityId, sent!.id, [news.id, campaign.id]));
    expect((await stateOf(requestId)).codes).toEqual({ CANCELED: 1, PUSH_SENT: 1 });
  });

  it('that were accepted and never begun are begun by the sweep', async () => {
    const {
      store: { db },
    } = stack;
    const { id: entityId } = world.entity;
    const campaign = await insertSampleCampaign(db, entityId, app.id);
    const { identifier } = await write(db, async (tx) => {
      const message = { userId: 'swept', userHash: null, vars: { order: '1' } };
      const sent = await insertSend(tx, entityId, {
        sendAt: null,
        campaignIds: [campaign.id],
        messages: [message],
        createdBy: null,
        request: null,
      });
      await tx.query(`UPDATE sends SET received_at = now() - interval '1 minute' WHERE id = $1`, [sent.id]);
      return sent;
    });
    expect((await ended(identifier)).codes).toEqual({ NO_DEVICE_FOR_USER: 1 });
  });

  it('leave nothing of a person who is erased while they are sent', async () => {
    const {
      store: { db },
    } = stack;
    const { id: entityId } = world.entity;
    const campaign = await insertSampleCampaign(db, entityId, app.id);
    const {
      rows: [row],
    } = await db.query<{ id: number }>(
      `INSERT INTO attempts (entity_id, campaign_id, app_id, channel, state, code, device_id, user_id)
       VALUES ($1, $2, $3, 'push', 'sending', 'PENDING', 'phone of erased', 'erased') RETURNING id`,
      [entityId, campaign.id, app.id],
    );
    await attempts.erase!(stack.store, entityId, [{ customerType: 'user_id', customerId: 'erased' }]);
    await write(db, (tx) =>
      recordOutcomes(tx, entityId, [
        {
          id: row!.id,
          campaignId: campaign.id,
          code: 'PUSH_SENT',
          details: 'to phone of erased',
          providerMessageId: 'of erased',
          dueAt: null,
        },
      ]),
    );
    const { rows: left } = await db.query(
      'SELECT code, user_id, device_id, details, provider_message_id FROM attempts WHERE campaign_id = $1',
      [campaign.id],
    );
    expect(left).toEqual([
      { code: 'PUSH_SENT', user_id: null, device_id: null, details: null, provider_message_id: null },
    ]);
  });

  it("are refused in the reference's words, and sent once under a key of the sender's own", async () => {
    const {
      store: { db },
    } = stack;
    const { id: entityId } = world.entity;
    const ready = await insertSampleCampaign(db, entityId, app.id);
    const draft = await insertSampleCampaign(db, entityId, app.id, { status: 'draft' });
    const messages = [{ user: 'ada' }];
    const refused = async (body: object) => {
      const { status, code, message } = await call('POST', 'transac', body);
      return [status, code, message];
    };
    const invalid = [400, '400', 'Invalid Resquest, missing or invalid parameters,...'];
    for (const body of [
      {},
      { campaignKey: [ready.identifier] },
      { messages },
      { campaignKey: [], messages },
      { campaignKey: [ready.identifier], messages: [] },
      { campaignKey: [ready.identifier], messages: [{}] },
      { campaignKey: [ready.identifier], messages, sendAt: 'tomorrow' },
      { campaignKey: [ready.identifier], messages: [{ user: 'ada', templateVars: 'x' }] },
    ])
      expect(await refused(body)).toEqual(invalid);
    expect(await refused({ campaignKey: [ready.identifier, 'cmp_unknown'], messages })).toEqual([
      404,
      '404',
      'Unknown campaign key at index 1',
    ]);
    expect(await refused({ campaignKey: [ready.identifier, draft.apiIdentifier], messages })).toEqual([
      405,
      '405',
      'Campaign not ready at index 1',
    ]);
    const classic = await insertSampleCampaign(db, entityId, app.id, { type: 'classic' });
    const twice = [ready.identifier, ready.apiIdentifier];
    expect(await refused({ campaignKey: [...twice, classic.identifier, draft.identifier], messages })).toEqual([
      404,
      '404',
      'Unknown campaign key at index 2',
    ]);
    expect(await refused({ campaignKey: [...twice, draft.identifier, 'cmp_unknown'], messages })).toEqual([
      405,
      '405',
      'Campaign not ready at index 2',
    ]);
    for (const query of [
      'page=-1',
      'page=0',
      'page_size=-1',
      'page_size=0',
      'page_size=5001',
      'page=x',
      'startDate=2026-13-01',
    ]) {
      expect((await call('GET', `transac/${ready.identifier}/reports?${query}`)).status).toBe(400);
    }
    const body = { campaignKey: twice, messages: [{ user: 'once' }], requestKey: 'order 17 shipped' };
    const first = await send(body);
    expect(await send(body)).toEqual(first);
    expect(await call('POST', 'transac', { ...body, messages })).toMatchObject({ status: 409 });
    await db.query(`UPDATE sends SET received_at = now() - interval '30 days' WHERE identifier = $1`, [
      first.requestId,
    ]);
    expect((await send({ ...body, messages })).requestId).not.toBe(first.requestId);
    expect((await ended(first.requestId)).codes).toEqual({ NO_DEVICE_FOR_USER: 1 });
    const { result: deprecated } = await call('POST', 'transac_push', { campaignKey: [ready.identifier], messages });
    expect((await ended((deprecated as { requestId: string }).requestId)).processed).toBe(1);
    expect(await call('POST', 'transac_push', { campaignKey: ['cmp_unknown'], messages })).toMatchObject({
      status: 404,
      message: 'Unknown campaign key at index 0',
    });
  });
});
