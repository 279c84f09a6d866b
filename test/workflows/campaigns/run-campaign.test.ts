import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { CampaignAudience } from '../../../api/campaigns/campaign-audience.ts';
import type { CampaignResults } from '../../../api/campaigns/campaign-results.ts';
import { startReports } from '../../../temporal/flows.ts';
import { isInControlGroup } from '../../../domain/campaigns/control-group.ts';
import { reportsWorkflowId } from '../../../domain/jobs/workflow-id.ts';
import { messageIdOf } from '../../../domain/sends/attempt.ts';
import { takeAudience } from '../../../store/campaigns/audience.ts';
import { write } from '../../../store/core/database.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { findInappDevice, listInappMessages } from '../../../store/sends/inapp-messages.ts';
import { basic, insertKeyedApp } from '../../server/tracking/sample-tracking.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { insertSampleCampaign, insertSampleDevice } from '../../harness/sends/campaigns.ts';

const stack = useStack({ impatient: true });
let world: World;

const call = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, payload?: object) => {
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
  const { result, error_message: message } = reply.json<{ result: never; error_message: string }>();
  return { status: reply.statusCode, result, message };
};

type Details = {
  identifier: string;
  status: string;
  failure: string | null;
  reach: object;
  reach_state: string;
  stats: object;
};
const CLASSIC = {
  name: 'News',
  type: 'classic',
  source: 'API',
  includes_push: true,
  includes_inapp: false,
  start_date: 'now',
  params: { push_message: 'News' },
};
const create = async (app: string, change: object = {}) =>
  ((await call('POST', 'campaign', { ...CLASSIC, app_id: app, ...change })).result as { campaign_id: string })
    .campaign_id;
const launch = async (id: string, body?: object) => {
  const { status, result } = await call('PUT', `campaign/${id}/launch`, body);
  expect(status).toBe(200);
  return result as Details;
};
const view = async (id: string) => (await call('GET', `campaign/${id}`)).result as Details;
const becomes = (id: string, status: string) =>
  waitFor(`the campaign ${status}`, async () => {
    const campaign = await view(id);
    return campaign.status === status && campaign;
  });
const attemptsOf = async (id: string) =>
  (
    await stack.store.db.query<{ user_id: string | null; device_id: string; code: string }>(
      `SELECT a.user_id, a.device_id, a.code FROM attempts a JOIN campaigns c ON c.id = a.campaign_id WHERE c.identifier = $1
   ORDER BY a.device_id`,
      [id],
    )
  ).rows.map(({ user_id: user, device_id: device, code }) => [user, device, code]);

/** As the SDK of a device does. */
async function confirm(apiKey: string, campaign: string, deviceId: string, event: string): Promise<void> {
  const { rows } = await stack.store.db.query<{ id: number }>(
    `SELECT a.id FROM attempts a JOIN campaigns c ON c.id = a.campaign_id WHERE c.identifier = $1 AND a.device_id = $2`,
    [campaign, deviceId],
  );
  const { statusCode } = await stack.app.inject({
    method: 'POST',
    url: '/v1/track',
    headers: basic(apiKey),
    payload: {
      type: 'track',
      event,
      properties: { millrace_id: messageIdOf(rows[0]!.id) },
      messageId: randomUUID(),
      timestamp: new Date(),
      context: { device: { id: deviceId } },
    },
  });
  expect(statusCode).toBe(200);
}

async function report(entityId: number): Promise<void> {
  await startReports(stack.temporal, entityId);
  await stack.temporal.workflow.getHandle(reportsWorkflowId(entityId)).result();
}

const listOf = async (entityId: number, appId: number, deviceId: string) => {
  const device = (await findInappDevice(stack.store.db, entityId, [appId], deviceId))!;
  return {
    messages: (await listInappMessages(stack.store.db, entityId, device, 10)).map(({ inapp }) => inapp.content),
  };
};

beforeAll(async () => {
  world = await makeWorld(stack.store);
  stack.startWorker();
});

describe('a classic campaign', () => {
  it('goes once to each device of its audience, also of people who opted out of analytics, and says whom it reached', async () => {
    const {
      store: { db, secrets },
    } = stack;
    const { id: entityId } = world.entity;
    const app = await insertSampleApp(db, entityId, 'com.example.classic');
    const device = insertSampleDevice.bind(null, db, entityId, app.id);
    await device('phone', { userId: 'ada' });
    await device('tablet', { userId: 'ada', token: null });
    await device('nobody');
    await device('private', { userId: 'eve', optOut: true });
    await device('shy', { userId: 'dora', optIn: false });
    await device('gone', { userId: 'carl', uninstalled: true });
    await device('of erased', { userId: 'erased' });
    await device('erased phone', { userId: 'fay' });
    await insertTombstone(
      db,
      entityId,
      secrets.customerHash(entityId, 'user_id', 'erased'),
      secrets.customerHash(entityId, 'device_id', 'erased phone'),
    );
    const id = await create(app.identifier);
    expect(await view(id)).toMatchObject({ reach_state: 'none', stats_counted_until: null });
    const launched = await launch(id);
    expect(launched.status).toMatch(/Scheduled|Wait sync|Ongoing|Finished/);
    expect(launched.reach_state).toBe(/Ongoing|Finished/.test(launched.status) ? 'counted' : 'computing');
    expect(await becomes(id, 'Finished')).toMatchObject({
      failure: null,
      reach: { count: 5, optin: 4, total: 7 },
      reach_state: 'counted',
    });
    expect(await attemptsOf(id)).toEqual([
      [null, 'nobody', 'PUSH_SENT'],
      ['ada', 'phone', 'PUSH_SENT'],
      ['eve', 'private', 'PUSH_SENT'],
      ['dora', 'shy', 'OPT_OUT'],
      ['ada', 'tablet', 'OPT_OUT'],
    ]);
    expect((await call('PUT', `campaign/${id}/launch`)).status).toBe(409);
    expect((await call('GET', `transac/${id}`)).status).toBe(404);
  });

  it('has results that add up to its audience: confirmed, taken, unknown, refused, in the app, held back', async () => {
    const { store } = stack;
    const { id: entityId, identifier: salt } = world.entity;
    const { app, apiKey } = await insertKeyedApp(store, world);
    const percent = 20;
    const setPercent = (to: number) =>
      store.db.query('UPDATE entities SET control_group_percent = $2 WHERE id = $1', [entityId, to]);
    onTestFinished(async () => void (await setPercent(0)));
    await setPercent(percent);
    const others = Array.from({ length: 60 }, (_, nth) => `person ${nth}`).filter(
      (user) => !isInControlGroup({ percent, salt }, `u${user}`),
    );
    const held = Array.from({ length: 60 }, (_, nth) => `held ${nth}`).find((user) =>
      isInControlGroup({ percent, salt }, `u${user}`),
    )!;
    const add = (userId: string, options: object = {}) =>
      insertSampleDevice(store.db, entityId, app.id, `phone of ${userId}`, { userId, ...options });
    const tokens = ['a', 'b', 'c', 'sandbox-unknown 1', 'sandbox-unknown 2', 'sandbox-refused', 'sandbox-gone', null];
    for (const [nth, token] of tokens.entries()) await add(others[nth]!, { token });
    await add(others[8]!, { optIn: false });
    await add(held);
    const id = await create(app.identifier, {
      includes_inapp: true,
      end_date: Math.floor(Date.now() / 1_000) + 3_600,
      variants: [
        { name: 'A', share: 50 },
        { name: 'B', share: 50, params: { push_title: 'B' } },
      ],
      params: { ...CLASSIC.params, inapp: 'native', message_title: 'Hi', message_content: 'In app', message_btn: 'OK' },
    });
    const audience = (await call('GET', `campaigns/${id}/audience`)).result as CampaignAudience;
    expect(audience).toMatchObject({ people: 10, recipients: 9, push: 7, in_app_only: 2, held_back: 1 });
    await launch(id, { expected_people: audience.recipients });
    await waitFor('the messages', async () => (await attemptsOf(id)).length === 10);
    for (const nth of [0, 1, 3]) await confirm(apiKey, id, `phone of ${others[nth]!}`, 'Push Notification Received');
    for (const nth of [0, 3]) await confirm(apiKey, id, `phone of ${others[nth]!}`, 'Push Notification Tapped');
    await confirm(apiKey, id, `phone of ${others[7]!}`, 'In-App Message Clicked');
    const results = async () => {
      await report(entityId);
      return (await call('GET', `campaigns/${id}/results`)).result as CampaignResults;
    };
    await expect.poll(async () => (await results()).total.clicked).toBe(1);
    const { total, codes, days, variants, as_of: asOf } = await results();
    expect(total).toEqual({
      messages: 10,
      sent: 6,
      confirmed: 3,
      taken: 1,
      unknown: 1,
      refused: 1,
      waiting: 0,
      in_app_only: 3,
      not_sent: 1,
      opened: 2,
      in_app: 9,
      shown: 1,
      clicked: 1,
    });
    expect(codes.map(({ group, code, details, messages }) => [group, code, details, messages])).toEqual([
      ['confirmed', 'PUSH_SENT', null, 2],
      ['confirmed', 'UNKNOWN', null, 1],
      ['taken', 'PUSH_SENT', null, 1],
      ['unknown', 'UNKNOWN', null, 1],
      ['refused', 'REFUSED', null, 1],
      ['in_app_only', 'OPT_OUT', 'no push token', 1],
      ['in_app_only', 'OPT_OUT', 'pushes are turned off', 1],
      ['in_app_only', 'OPT_OUT', 'the provider no longer knows the push token', 1],
      ['not_sent', 'CONTROL_GROUP', null, 1],
    ]);
    const { day, ...ofDay } = days[0]!;
    expect([days.length, day, ofDay]).toEqual([1, asOf!.slice(0, 10), total]);
    const sum = (name: 'messages' | 'sent') => variants.reduce((all, variant) => all + variant[name], 0);
    expect([variants.map(({ name }) => name), sum('sent'), sum('messages')]).toEqual([['A', 'B'], 6, 9]);
    const [a] = variants;
    const onlyA = (await call('GET', `campaigns/${id}/results?variant=A`)).result as CampaignResults;
    expect(onlyA.total).toEqual(expect.objectContaining({ messages: a!.messages, confirmed: a!.confirmed }));
    const before = (await call('GET', `campaigns/${id}/results?till=2026-01-31`)).result as CampaignResults;
    expect([before.total.messages, before.days, before.from]).toEqual([0, [], '2025-01-31']);
    expect((await call('GET', `campaigns/${id}/results?from=2024-01-01`)).status).toBe(400);
    expect(await view(id)).toMatchObject({ expected_people: 9, launched_by: { id: world.user.id } });
  });

  it('goes to each zone at the same time of its day, and to nobody any more once it is canceled', async () => {
    const {
      store: { db },
    } = stack;
    const { id: entityId } = world.entity;
    const app = await insertSampleApp(db, entityId, 'com.example.waves');
    await db.query(`UPDATE apps SET default_tz = 'UTC' WHERE id = $1`, [app.id]);
    const zones = {
      lagos: { timezone: 'Africa/Lagos' },
      kolkata: { utcOffset: 330 },
      azores: { timezone: 'Etc/GMT+1' },
      unknown: {},
    };
    for (const [name, zone] of Object.entries(zones))
      await insertSampleDevice(db, entityId, app.id, name, { userId: name, ...zone });
    // An hour from now in UTC: in Lagos in some seconds, and the day after in Kolkata, where that time has passed.
    const start = Math.floor(Date.now() / 1_000) + 3_600 + 4;
    const id = await create(app.identifier, { adapt_tz: true, start_date: start });
    type Plan = { sends: { at: string; zones: string[]; devices: number }[]; has_more: boolean };
    const { sends, has_more: hasMore } = (await call('GET', `campaigns/${id}/plan?limit=3`)).result as Plan;
    expect(hasMore).toBe(true);
    expect(sends.map(({ at, zones: own, devices }) => [Date.parse(at) / 1_000 - start, own, devices])).toEqual([
      [-3_600, ['Africa/Lagos'], 1],
      [0, ['UTC'], 1],
      [3_600, ['Etc/GMT+1'], 1],
    ]);
    expect(await launch(id)).toMatchObject({ status: 'Scheduled' });
    await waitFor('the first wave', async () => (await attemptsOf(id)).length > 0);
    expect(await attemptsOf(id)).toEqual([['lagos', 'lagos', 'PUSH_SENT']]);
    expect(await view(id)).toMatchObject({ status: 'Ongoing', reach: { count: 4 } });
    const { rows } = await db.query<{ device_id: string; due: number }>(
      'SELECT device_id, extract(epoch FROM due_at)::float8 - $2 AS due FROM campaign_audience WHERE entity_id = $1 ORDER BY due_at',
      [entityId, start],
    );
    expect(rows.map(({ device_id: device, due }) => [device, due])).toEqual([
      ['unknown', 0],
      ['azores', 3_600],
      ['kolkata', 86_400 - 5.5 * 3_600],
    ]);
    expect((await call('PUT', `campaign/${id}/cancel`)).status).toBe(200);
    expect(await view(id)).toMatchObject({ status: 'Canceled' });
    await waitFor(
      'the end of the run',
      async () =>
        (
          await db.query(`SELECT FROM sends WHERE entity_id = $1 AND identifier = $2 AND state = 'canceled'`, [
            entityId,
            id,
          ])
        ).rowCount === 1,
    );
    expect(await view(id)).toMatchObject({ ended_at: expect.any(Number) as number });
    expect((await attemptsOf(id)).length).toBe(1);
    expect((await db.query('SELECT FROM campaign_audience WHERE entity_id = $1', [entityId])).rowCount).toBe(0);
  });

  it('waits for the members of its segments, and fails with the reason where its filters name what is gone', async () => {
    const {
      store: { db },
    } = stack;
    const { id: entityId } = world.entity;
    const app = await insertSampleApp(db, entityId, 'com.example.audience');
    for (const user of ['ada', 'bob']) await insertSampleDevice(db, entityId, app.id, `of ${user}`, { userId: user });
    const { identifier: segment } = (
      await call('POST', 'segments', { app: app.identifier, name: 'Guests', static: true })
    ).result as {
      identifier: string;
    };
    await call('POST', `segments/${segment}/people`, { ids: ['bob'] });
    const filters = {
      blocks: [{ filters: [{ filter_on: 'segments', selection: 'any_of', segment_identifiers: [segment] }] }],
    };
    const id = await create(app.identifier, { filters });
    await launch(id);
    await becomes(id, 'Finished');
    expect(await attemptsOf(id)).toEqual([['bob', 'of bob', 'PUSH_SENT']]);
    const { last_used_at: usedAt } = (await call('GET', `segments/${segment}`)).result as {
      last_used_at: string | null;
    };
    expect(usedAt).not.toBeNull();
    const orphaned = await create(app.identifier, { filters, start_date: Math.floor(Date.now() / 1_000) + 2 });
    await db.query(
      `UPDATE campaigns SET filters = replace(filters::text, $2, 'seg_gone')::json WHERE identifier = $1`,
      [orphaned, segment],
    );
    await launch(orphaned);
    const { failure } = await becomes(orphaned, 'Failed');
    expect(failure).toMatch(/^filters.blocks.0.filters.0.segment_identifiers.0: is no segment/);
    const hopeless = await create(app.identifier, { filters });
    await db.query(
      `UPDATE segments SET snapshot_at = NULL, failure = 'it takes too long', refresh_wanted_at = now() + interval '1 hour'
      WHERE identifier = $1`,
      [segment],
    );
    await launch(hopeless);
    expect((await becomes(hopeless, 'Failed')).failure).toBe(
      'The segment "Guests", which its filters name, has no members: it takes too long',
    );
    await db.query('UPDATE segments SET snapshot_at = now(), failure = NULL WHERE identifier = $1', [segment]);
    const twice = await create(app.identifier, { filters });
    await db.query('UPDATE apps SET message_limit = 1, message_period = 3600 WHERE id = $1', [app.id]);
    await insertSampleDevice(db, entityId, app.id, 'second of bob', { userId: 'bob' });
    await launch(twice);
    await becomes(twice, 'Finished');
    expect(await attemptsOf(twice)).toEqual([
      ['bob', 'of bob', 'MESSAGE_LIMIT'],
      ['bob', 'second of bob', 'MESSAGE_LIMIT'],
    ]);
  });

  it('does not reach the control group, in the app neither; transactional messages do', async () => {
    const {
      store: { db },
    } = stack;
    const { id: entityId, identifier: salt } = world.entity;
    const app = await insertSampleApp(db, entityId, 'com.example.control');
    await db.query('UPDATE apps SET message_limit = 1, message_period = 3600 WHERE id = $1', [app.id]);
    const users = Array.from({ length: 40 }, (_, nth) => `user ${nth}`);
    const isMember = (user: string) => isInControlGroup({ percent: 50, salt }, `u${user}`);
    const [member, other] = [users.find(isMember)!, users.find((user) => !isMember(user))!];
    for (const user of [member, other]) {
      for (const kind of ['phone', 'tablet'])
        await insertSampleDevice(db, entityId, app.id, `${kind} of ${user}`, { userId: user });
    }
    const setPercent = (percent: number) =>
      db.query('UPDATE entities SET control_group_percent = $2 WHERE id = $1', [entityId, percent]);
    onTestFinished(async () => void (await setPercent(0)));
    await setPercent(50);
    const id = await create(app.identifier, {
      includes_inapp: true,
      params: { ...CLASSIC.params, inapp: 'native', message_title: 'Hi', message_content: 'In app', message_btn: 'OK' },
    });
    await launch(id);
    await waitFor('the messages', async () => (await attemptsOf(id)).length === 4);
    expect(await attemptsOf(id)).toEqual(
      ['phone', 'tablet'].flatMap((kind) =>
        [member, other]
          .toSorted()
          .map((user) => [user, `${kind} of ${user}`, user === member ? 'CONTROL_GROUP' : 'PUSH_SENT']),
      ),
    );
    const reported = async () => {
      await report(entityId);
      return view(id);
    };
    // A report that was under way when the last message went does not have it.
    await expect.poll(reported).toMatchObject({
      reach: { count: 4 },
      stats: { total_push_sent: 2 },
      control_group: { people: 1, devices: 2, opened_app: 0 },
      targeted: { people: 1, opened_app: 0 },
    });
    expect([
      await listOf(entityId, app.id, `phone of ${member}`),
      await listOf(entityId, app.id, `phone of ${other}`),
    ]).toEqual([{ messages: [] }, { messages: ['In app'] }]);
    const parcel = await create(app.identifier, { type: 'transactional' });
    await launch(parcel);
    expect(
      (await call('POST', 'transac', { campaignKey: parcel, messages: [{ user: member }, { user: other }] })).status,
    ).toBe(200);
    await waitFor('the transactional messages', async () => (await attemptsOf(parcel)).length === 4);
    // What was held back is no message that the app's limit counts.
    expect(new Set((await attemptsOf(parcel)).map(([user, , code]) => `${user} ${code}`))).toEqual(
      new Set([`${member} PUSH_SENT`, `${other} MESSAGE_LIMIT`]),
    );
  });

  it('keeps its in-app messages for devices until its end date', async () => {
    const {
      store: { db },
    } = stack;
    const { id: entityId } = world.entity;
    const app = await insertSampleApp(db, entityId, 'com.example.inapp');
    await db.query(`UPDATE apps SET default_tz = 'UTC' WHERE id = $1`, [app.id]);
    await insertSampleDevice(db, entityId, app.id, 'of nobody');
    // An hour too late.
    await insertSampleDevice(db, entityId, app.id, 'in the Azores', { timezone: 'Etc/GMT+1' });
    const end = Math.floor(Date.now() / 1_000) + 6;
    const id = await create(app.identifier, {
      includes_push: true,
      includes_inapp: true,
      end_date: end,
      adapt_tz: true,
      params: {
        push_message: 'News',
        inapp: 'native',
        message_title: 'Hi',
        message_content: 'News',
        message_btn: 'OK',
      },
    });
    const { sends } = (await call('GET', `campaigns/${id}/plan`)).result as { sends: object[] };
    expect(sends).toMatchObject([{ zones: ['UTC'], devices: 1 }]);
    await launch(id);
    await waitFor('the message', async () => (await attemptsOf(id)).length === 1);
    expect(await attemptsOf(id)).toEqual([[null, 'of nobody', 'PUSH_SENT']]);
    const { messages } = await listOf(entityId, app.id, 'of nobody');
    expect(messages).toEqual(['News']);
    expect((await view(id)).status).toBe('Ongoing');
    await becomes(id, 'Finished');
    expect(Date.now()).toBeGreaterThanOrEqual(end * 1_000);
    expect(await listOf(entityId, app.id, 'of nobody')).toEqual({ messages: [] });
    expect(await attemptsOf(id)).toEqual([
      [null, 'in the Azores', 'CANCELED'],
      [null, 'of nobody', 'PUSH_SENT'],
    ]);
  });

  it('plans nothing for people that an erasure takes out of its audience meanwhile', async () => {
    const {
      store: { db },
    } = stack;
    const { id: entityId } = world.entity;
    const app = await insertSampleApp(db, entityId, 'com.example.erasure');
    const campaign = await insertSampleCampaign(db, entityId, app.id, { type: 'classic' });
    const {
      rows: [send],
    } = await db.query<{ id: number }>(
      `INSERT INTO sends (entity_id, identifier, state, message_count, campaign_id) VALUES ($1, 'erasure', 'finished', 3, $2) RETURNING id`,
      [entityId, campaign.id],
    );
    await db.query(
      `INSERT INTO campaign_audience (entity_id, send_id, due_at, person, device_id)
       SELECT $1, $2, now(), 'd' || device, device FROM unnest(ARRAY['ada', 'bob', 'eve']) AS device`,
      [entityId, send!.id],
    );
    const erasing = await db.connect();
    await erasing.query('BEGIN');
    await erasing.query(`DELETE FROM campaign_audience WHERE entity_id = $1 AND person = 'dbob'`, [entityId]);
    const taken = async () =>
      (await write(db, (tx) => takeAudience(tx, entityId, { id: send!.id, appId: app.id }, null, 10))).devices.map(
        ({ person }) => person,
      );
    expect(await taken()).toEqual(['dada', 'deve']);
    await erasing.query('COMMIT');
    erasing.release();
    expect(await taken()).toEqual([]);
  });
});

describe('a dynamic campaign', () => {
  const BACKLOG = 12_000;
  const EVERY_DAY = {
    type: 'dynamic',
    end_date: Math.floor(Date.now() / 1_000) + 7 * 86_400,
    recurrence: { day_of_week: [0, 1, 2, 3, 4, 5, 6] },
    notif_limit: { maximum: 2 },
  };
  const wake = (id: string) => stack.temporal.workflow.getHandle(`campaign/${id}`).signal('sendCanceled');
  /** Of long steps, so many have ended. */
  const stepsOf = async (id: string) => {
    const { events } = await stack.temporal.workflow.getHandle(`campaign/${id}`).fetchHistory();
    return events!.filter(({ activityTaskCompletedEventAttributes: ended }) => ended).length;
  };
  const looked = (id: string, times: number) =>
    waitFor(
      `look ${times}`,
      async () =>
        (await stack.store.db.query('SELECT FROM sends WHERE identifier = $1 AND looks = $2', [id, times])).rowCount ===
        1,
    );

  it('notifies those who enter its audience while its window is open, within its limits, until its end', async () => {
    const {
      store: { db, secrets },
    } = stack;
    const { id: entityId } = world.entity;
    const app = await insertSampleApp(db, entityId, 'com.example.dynamic');
    const { identifier: segment } = (
      await call('POST', 'segments', { app: app.identifier, name: 'Buyers', static: true })
    ).result as {
      identifier: string;
    };
    for (const user of ['ada', 'bob', 'eve']) {
      await insertSampleDevice(db, entityId, app.id, `of ${user}`, { userId: user, optOut: user === 'eve' });
    }
    const people = (method: 'POST' | 'DELETE', ids: string[]) => call(method, `segments/${segment}/people`, { ids });
    await insertSampleDevice(db, entityId, app.id, 'erased phone of ada', { userId: 'ada' });
    await insertTombstone(db, entityId, secrets.customerHash(entityId, 'device_id', 'erased phone of ada'));
    await people('POST', ['ada', 'eve']);
    const filters = {
      blocks: [{ filters: [{ filter_on: 'segments', selection: 'any_of', segment_identifiers: [segment] }] }],
    };
    const end = Math.floor(Date.now() / 1_000) + 86_400;
    const id = await create(app.identifier, {
      type: 'dynamic',
      filters,
      end_date: end,
      recurrence: { day_of_week: [0, 1, 2, 3, 4, 5, 6] },
      notif_limit: { maximum: 2 },
    });
    await launch(id);
    const look = async (times: number) => {
      // As a minute later.
      await db.query(
        `UPDATE sends SET looked_at = looked_at - interval '2 minutes', next_look_at = now()
         WHERE entity_id = $1 AND identifier = $2 AND looks < $3`,
        [entityId, id, times],
      );
      await stack.temporal.workflow.getHandle(`campaign/${id}`).signal('sendCanceled');
      await waitFor(
        `look ${times}`,
        async () =>
          (
            await db.query('SELECT FROM sends WHERE entity_id = $1 AND identifier = $2 AND looks >= $3', [
              entityId,
              id,
              times,
            ])
          ).rowCount === 1,
      );
      await waitFor(
        'what it brought',
        async () => (await db.query('SELECT FROM campaign_audience WHERE entity_id = $1', [entityId])).rowCount === 0,
      );
    };
    await look(1);
    expect(await attemptsOf(id)).toEqual([
      ['ada', 'of ada', 'PUSH_SENT'],
      ['eve', 'of eve', 'OPT_OUT'],
    ]);
    expect((await view(id)).status).toBe('Ongoing');
    await people('POST', ['bob']);
    await look(2);
    expect((await attemptsOf(id)).map(([user]) => user)).toEqual(['ada', 'bob', 'eve']);
    for (const times of [3, 5, 7]) {
      await people('DELETE', ['ada']);
      await look(times);
      await people('POST', ['ada']);
      await look(times + 1);
    }
    expect((await attemptsOf(id)).map(([user]) => user)).toEqual(['ada', 'ada', 'bob', 'eve']);
    await db.query(`UPDATE campaigns SET end_date = now() WHERE identifier = $1`, [id]);
    await stack.temporal.workflow.getHandle(`campaign/${id}`).signal('sendCanceled');
    await becomes(id, 'Finished');
    expect((await db.query('SELECT FROM campaign_members WHERE entity_id = $1', [entityId])).rowCount).toBe(0);
  });

  it('looks at its audience when the time for that has come, not before, and however much there is to send', async () => {
    const {
      store: { db },
    } = stack;
    const { id: entityId } = world.entity;
    const app = await insertSampleApp(db, entityId, 'com.example.backlog');
    await insertSampleDevice(db, entityId, app.id, 'of ada', { userId: 'ada' });
    const id = await create(app.identifier, EVERY_DAY);
    await launch(id);
    await looked(id, 1);
    const steps = await stepsOf(id);
    await wake(id);
    await waitFor('both steps', async () => (await stepsOf(id)) >= steps + 2);
    expect((await db.query('SELECT FROM sends WHERE identifier = $1 AND looks = 1', [id])).rowCount).toBe(1);
    // Its time comes with the first portion that is taken; what is left then is counted in the transaction that looks.
    await db.query(
      `CREATE TABLE left_at_look (count bigint);
       CREATE FUNCTION look_is_due() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         UPDATE sends SET next_look_at = now()
         WHERE entity_id = ${entityId} AND identifier = '${id}' AND looks = 1 AND EXISTS (SELECT FROM taken);
         RETURN NULL;
       END $$;
       CREATE FUNCTION count_left() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO left_at_look SELECT count(*) FROM campaign_audience WHERE entity_id = ${entityId}; RETURN NULL;
       END $$;
       CREATE TRIGGER look_is_due AFTER DELETE ON campaign_audience REFERENCING OLD TABLE AS taken EXECUTE FUNCTION look_is_due();
       CREATE TRIGGER count_left AFTER UPDATE OF looks ON sends FOR EACH ROW
         WHEN (NEW.identifier = '${id}' AND NEW.looks = 2) EXECUTE FUNCTION count_left()`,
    );
    await db.query(
      `INSERT INTO campaign_audience (entity_id, send_id, due_at, person, device_id)
       SELECT entity_id, id, now(), 'd' || n, n FROM sends, generate_series(1, ${BACKLOG}) n
       WHERE entity_id = $1 AND identifier = $2`,
      [entityId, id],
    );
    await wake(id);
    await looked(id, 2);
    const {
      rows: [left],
    } = await db.query<{ count: number }>('SELECT count FROM left_at_look');
    // No portion is taken once the time has come, neither one by one nor side by side.
    expect(left!.count).toBeGreaterThanOrEqual(BACKLOG * 0.9);
    expect(left!.count).toBeLessThan(BACKLOG);
    // The triggers stay, and do nothing for other campaigns: to drop them would wait for workers, who may wait for the
    // same tables.
    await call('PUT', `campaign/${id}/cancel`);
  });

  it('finds devices in zones that come while it runs, and leaves out an exact time that is an hour past', async () => {
    const {
      store: { db },
    } = stack;
    const { id: entityId } = world.entity;
    const app = await insertSampleApp(db, entityId, 'com.example.travel');
    await db.query(`UPDATE apps SET default_tz = 'UTC' WHERE id = $1`, [app.id]);
    await insertSampleDevice(db, entityId, app.id, 'at home');
    // A minute ago three hours east of it, and two hours before that five hours east.
    const at = new Date(Date.now() + 3 * 3_600_000 - 60_000);
    const start = { hour: at.getUTCHours(), min: at.getUTCMinutes() };
    const id = await create(app.identifier, {
      ...EVERY_DAY,
      adapt_tz: true,
      recurrence: { ...EVERY_DAY.recurrence, start_time: start },
    });
    await launch(id);
    const {
      rows: [next],
    } = await waitFor('when it looks next', async () => {
      const found = await db.query<{ wait: number }>(
        `SELECT extract(epoch FROM next_look_at - now())::float8 AS wait FROM sends
         WHERE entity_id = $1 AND identifier = $2 AND next_look_at IS NOT NULL`,
        [entityId, id],
      );
      return found.rowCount === 1 && found;
    });
    expect(next!.wait).toBeLessThanOrEqual(600);
    await insertSampleDevice(db, entityId, app.id, 'arrived', { timezone: 'Etc/GMT-3' });
    await insertSampleDevice(db, entityId, app.id, 'too late', { timezone: 'Etc/GMT-5' });
    await db.query(
      `UPDATE campaigns SET start_date = start_date - interval '1 day', launched_at = launched_at - interval '1 day'
       WHERE entity_id = $1 AND identifier = $2`,
      [entityId, id],
    );
    await db.query('UPDATE sends SET next_look_at = now() WHERE entity_id = $1 AND identifier = $2', [entityId, id]);
    await wake(id);
    await looked(id, 1);
    await waitFor('what it brought', async () => (await attemptsOf(id)).length > 0);
    expect(await attemptsOf(id)).toEqual([[null, 'arrived', 'PUSH_SENT']]);
    await call('PUT', `campaign/${id}/cancel`);
  });
});
