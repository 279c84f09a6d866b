import { beforeAll, describe, expect, it } from 'vitest';
import { listCampaignLog } from '../../../store/files/file-sources/campaigns.ts';
import { startReports } from '../../../temporal/flows.ts';
import { isInControlGroup } from '../../../domain/campaigns/control-group.ts';
import { variantOf } from '../../../domain/campaigns/variants.ts';
import { reportsWorkflowId } from '../../../domain/jobs/workflow-id.ts';
import { write } from '../../../store/core/database.ts';
import { findInappDevice, listInappMessages } from '../../../store/sends/inapp-messages.ts';
import { beginOutcomeBatch, updateOutcomeDelivery } from '../../../store/sends/outcome-deliveries.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { exportedRows } from '../../harness/exports/exported-rows.ts';
import { insertSampleCampaign, insertSampleDevice, PUSH_PARAMS } from '../../harness/sends/campaigns.ts';
import { ask as askOf } from '../../harness/syncs/syncs.ts';
import { basic, insertKeyedApp, type KeyedSampleApp } from '../../server/tracking/sample-tracking.ts';

const stack = useStack({ impatient: true });
const DAY_MS = 86_400_000;
let world: World;
let app: KeyedSampleApp;

beforeAll(async () => {
  world = await makeWorld(stack.store);
  app = await insertKeyedApp(stack.store, world);
  stack.startWorker();
});

const ask = <T>(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, payload?: object) =>
  askOf<T>(stack.app, world, method, `/api/${path}`, payload);
const campaignOf = (options: Parameters<typeof insertSampleCampaign>[3]) =>
  insertSampleCampaign(stack.store.db, world.entity.id, app.app.id, options);

type Told = { userId?: string; device?: object; optOut?: boolean; millrace_id?: string };
async function tell(
  deviceId: string,
  event: string,
  { userId, device, optOut, millrace_id }: Told = {},
): Promise<void> {
  const payload = {
    event,
    userId,
    properties: { millrace_id },
    context: { device: { id: deviceId, ...device }, optOut },
  };
  const { statusCode } = await stack.app.inject({
    method: 'POST',
    url: '/v1/track',
    headers: basic(app.apiKey),
    payload,
  });
  expect(statusCode).toBe(200);
}
const open = (user: string, told: Told = {}) =>
  tell(`phone of ${user}`, 'Application Opened', { userId: user, ...told });

type Inapp = { millrace_id: string; campaign_id: string; title: string; content: string };
async function inappOf(deviceId: string): Promise<Inapp[]> {
  const reply = await stack.app.inject({ url: '/v1/inapp', query: { deviceId }, headers: basic(app.apiKey) });
  return reply.json<{ result: { messages: Inapp[] } }>().result.messages;
}

async function send(
  campaigns: readonly { identifier: string }[],
  messages: readonly object[],
  sendAt?: Date,
): Promise<string> {
  const body = { campaignKey: campaigns.map(({ identifier }) => identifier), messages, sendAt };
  return (await ask<{ requestId: string }>('POST', 'transac', body)).requestId;
}
const wake = (requestId: string) => stack.temporal.workflow.getHandle(`transac/${requestId}`).signal('sendCanceled');
type State = { codes: Record<string, number>; processed: number; ended_at: string | null };
const stateOf = (requestId: string) => ask<State>('GET', `transac/${requestId}`);
const ended = (requestId: string) =>
  waitFor('the end of the send', async () => {
    const state = await stateOf(requestId);
    return state.ended_at !== null && state;
  });
type Row = { user: string; device_id: string; date: string; code: string };
type Report = { startDate: string; endDate: string; campaignStatus: Row[] };
const report = async ({ identifier }: { identifier: string }, query = '') =>
  (await ask<{ reports: [Report] }>('GET', `transac/${identifier}/reports${query}`)).reports[0];
/** Those of a message to several devices come in any order. */
const sorted = (rows: readonly (string | null)[][]) =>
  rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
const rowsOf = ({ campaignStatus }: Report) =>
  sorted(campaignStatus.map(({ user, device_id: device, code }) => [user, device, code]));

type Received = Record<'first_campaign_received_at' | 'last_campaign_received_at', string | null>;
type Why = { sent: number; opened: number; decisions: Record<string, unknown>[] };
const why = ({ identifier }: { identifier: string }, user: string) =>
  ask<Why>('GET', `campaigns/${identifier}/why?user=${encodeURIComponent(user)}`);

async function rollUp(): Promise<void> {
  await startReports(stack.temporal, world.entity.id);
  await stack.temporal.workflow.getHandle(reportsWorkflowId(world.entity.id)).result();
}

describe('messages to a device', () => {
  it('come as pushes and in the app; what it tells of them shows in why, in exports, and in counts that outlive the report', async () => {
    const { db } = stack.store;
    await open('ida', { device: { token: 'token of ida', pushEnabled: true } });
    await tell('tablet', 'Application Opened', {
      userId: 'ida',
      device: { token: 'token of tablet', pushEnabled: false },
    });
    const inapp = {
      inapp: 'native',
      message_title: 'For *@name@*',
      message_content: 'Order *@order@*',
      message_btn: 'OK',
    };
    const both = await campaignOf({ params: { ...PUSH_PARAMS, ...inapp }, includesInapp: true });
    const secret = await campaignOf({
      params: { ...PUSH_PARAMS, ...inapp },
      includesPush: false,
      includesInapp: true,
      isSensitive: true,
    });
    const began = new Date().toISOString();
    const requestId = await send(
      [{ identifier: both.apiIdentifier }, secret],
      [
        { user: 'ida', paramVars: { name: 'somebody', order: 7 }, templateVars: { name: 'Ida' } },
        { user: 'ida' },
        { user: 'no-one' },
      ],
    );
    const codes = { PUSH_SENT: 1, OPT_OUT: 1, INAPP_AVAILABLE: 2, MISSING_TEMPLATE_PARAMS: 4, NO_DEVICE_FOR_USER: 2 };
    expect(await ended(requestId)).toMatchObject({ processed: 3, codes });
    const elsewhere = [
      ['ida', 'phone of ida', 'MISSING_TEMPLATE_PARAMS'],
      ['ida', 'tablet', 'MISSING_TEMPLATE_PARAMS'],
      ['no-one', null, 'NO_DEVICE_FOR_USER'],
    ];
    expect(rowsOf(await report(both))).toEqual(
      sorted([['ida', 'phone of ida', 'PUSH_SENT'], ['ida', 'tablet', 'OPT_OUT'], ...elsewhere]),
    );
    expect(rowsOf(await report(secret))).toEqual(
      sorted([['ida', 'phone of ida', 'INAPP_AVAILABLE'], ['ida', 'tablet', 'INAPP_AVAILABLE'], ...elsewhere]),
    );

    const [first, second] = (await inappOf('phone of ida')) as [Inapp, Inapp];
    expect([first, second]).toMatchObject([
      { campaign_id: both.identifier, title: 'For Ida', content: 'Order 7' },
      { campaign_id: secret.identifier, title: 'For Ida' },
    ]);
    for (const event of ['Push Notification Tapped', 'In-App Message Shown']) await tell('phone of ida', event, first);
    await tell('phone of ida', 'In-App Message Clicked', second);
    expect(await inappOf('phone of ida')).toEqual([]);
    expect(await inappOf('tablet')).toHaveLength(2);
    const time = expect.any(String) as string;
    const has = (decision: object) => expect.objectContaining(decision) as object;
    const pushed = await why(both, 'ida');
    expect(pushed).toMatchObject({ sent: 1, opened: 1 });
    const message = has({ body: 'Hello Ida, order 7' });
    expect(pushed.decisions).toContainEqual(
      has({
        device_id: 'phone of ida',
        channel: 'both',
        message,
        delivered_at: time,
        opened_at: time,
        shown_at: time,
        clicked_at: null,
      }),
    );
    const lacking = {
      code: 'MISSING_TEMPLATE_PARAMS',
      details: 'no value for order, name',
      opened_at: null,
      message: null,
    };
    expect(pushed.decisions).toContainEqual(has({ device_id: 'tablet', ...lacking }));
    expect((await why(secret, 'ida')).decisions).toContainEqual(
      has({
        device_id: 'phone of ida',
        channel: 'inapp',
        code: 'INAPP_AVAILABLE',
        message: null,
        opened_at: null,
        shown_at: time,
        clicked_at: time,
      }),
    );
    expect((await why(both, 'no-one')).decisions).toEqual([
      has({ requestId, device_id: null, code: 'NO_DEVICE_FOR_USER' }),
    ]);
    const { rows: kept } = await db.query(
      'SELECT device_id FROM attempts WHERE campaign_id = $1 AND content IS NOT NULL',
      [secret.id],
    );
    expect(kept).toEqual([{ device_id: 'tablet' }]);

    const delivered = pushed.decisions.find(({ opened_at: at }) => at !== null)!['delivered_at'] as string;
    const counted = () =>
      waitFor('the counts', async () => {
        await rollUp();
        const campaigns = await ask<{ identifier: string; stats: object }[]>('GET', 'campaigns');
        const stats = campaigns.find(({ identifier }) => identifier === both.identifier)!.stats as {
          total_push_openings: number;
        };
        const { items } = await ask<{ items: Received[] }>('GET', `apps/${app.app.identifier}/devices`);
        const [phone, tablet] = items.map(
          ({ first_campaign_received_at: at, last_campaign_received_at: last }) => [at, last] as const,
        );
        return (
          stats.total_push_openings > 0 && (phone![1] ?? '') >= delivered && { stats, phone: phone!, tablet: tablet! }
        );
      });
    const stats = { total_push_sent: 1, total_push_openings: 1 };
    const counts = await counted();
    expect(counts).toMatchObject({ stats, tablet: [null, null] });
    const [at, last] = counts.phone as [string, string];
    expect([began, at, delivered, last].toSorted()).toEqual([began, at, delivered, last]);
    const exported = await exportedRows(db, 'campaign_results_per_user', {
      entityId: world.entity.id,
      apps: [app.app],
      sors: [],
      format: 'csv',
      window: { kind: 'received', start: null, end: new Date(Date.now() + 60_000) },
    });
    const cells = async (campaign: { identifier: string }) =>
      (await report(campaign)).campaignStatus.map(({ user, device_id, date, code }) => ({
        campaign_id: campaign.identifier,
        variant: null,
        user_id: user,
        device_id,
        date,
        code,
      }));
    const all = [...(await cells(both)), ...(await cells(secret))];
    expect(exported).toHaveLength(all.length);
    expect(exported).toEqual(expect.arrayContaining(all));

    await db.query(`UPDATE attempts SET created_at = created_at - interval '40 days' WHERE campaign_id = $1`, [
      both.id,
    ]);
    await waitFor('the end of the report', async () => {
      await rollUp();
      return (await why(both, 'ida')).decisions.length === 0;
    });
    expect(await why(both, 'ida')).toMatchObject({ sent: 1, opened: 1 });
    expect(await counted()).toMatchObject({ stats });
  });

  it('go by what the device says last, also those that wait; a campaign that is canceled sends none of them', async () => {
    const { db } = stack.store;
    const users = ['olga', 'oskar', 'otto', 'uma', 'vera'];
    for (const user of users) await open(user, { device: { token: `sandbox-throttled ${user}`, pushEnabled: true } });
    const [kept, given] = [await campaignOf({}), await campaignOf({})];
    const messages = users.map((user) => ({ user, templateVars: { order: 1 } }));
    const requestId = await send([kept, given], messages);
    await waitFor('the plan', async () => (await stateOf(requestId)).codes.PENDING === 10);
    await open('olga', { device: { pushEnabled: false } });
    await open('oskar', { optOut: true });
    await open('otto', { userId: 'another' });
    await open('uma', { device: { token: 'a new token' } });
    await tell('phone of vera', 'Application Uninstalled');
    await ask('PUT', `campaign/${given.identifier}/cancel`);
    await waitFor('the end of those of the campaign', async () => (await stateOf(requestId)).codes.CANCELED === 5);
    await db.query(`UPDATE attempts SET due_at = now() WHERE state = 'waiting'`);
    await wake(requestId);
    expect((await ended(requestId)).codes).toEqual({ CANCELED: 5, OPT_OUT: 3, NOT_ON_LAST_LOGIN: 1, PUSH_SENT: 1 });
    expect((await report(kept)).campaignStatus.map(({ user, code }) => [user, code])).toEqual([
      ['olga', 'OPT_OUT'],
      ['oskar', 'OPT_OUT'],
      ['otto', 'NOT_ON_LAST_LOGIN'],
      ['uma', 'PUSH_SENT'],
      ['vera', 'OPT_OUT'],
    ]);
    await open('olga', { device: { token: 'token of olga', pushEnabled: true } });
    await open('oskar', { device: { token: 'token of oskar' }, optOut: false });
    await open('vera', { device: { token: 'token of vera' } });
    expect((await ended(await send([kept], messages))).codes).toEqual({ PUSH_SENT: 4, NOT_ON_LAST_LOGIN: 1 });
  });

  it("of requests that are made at once are together as many as the app's limit allows", async () => {
    const { db } = stack.store;
    const limited = await insertKeyedApp(stack.store, world);
    await db.query('UPDATE apps SET message_limit = 2, message_period = 3600 WHERE id = $1', [limited.app.id]);
    await db.query(
      `WITH phone AS (
         INSERT INTO devices (entity_id, app_id, device_id, current_user_id, push_token, first_seen_at, last_seen_at)
         VALUES ($1, $2, 'phone of paul', 'paul', 'token of paul', now(), now()))
       INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at) VALUES ($1, $2, 'phone of paul', 'paul', now())`,
      [world.entity.id, limited.app.id],
    );
    const campaign = await insertSampleCampaign(db, world.entity.id, limited.app.id, {
      params: { ...PUSH_PARAMS, push_message: 'Hello' },
    });
    const tomorrow = new Date(Date.now() + DAY_MS);
    const requests = await Promise.all(
      [1, 2].map(() => send([campaign], [{ user: 'paul' }, { user: 'paul' }], tomorrow)),
    );
    await write(db, async (tx) => {
      // Attempts get their ids once they are planned, so either request has counted by then, or waits for the other's
      // count.
      await tx.query('ALTER SEQUENCE attempt_ids CACHE 1');
      await db.query('UPDATE sends SET send_at = now() WHERE identifier = ANY ($1)', [requests]);
      await Promise.all(requests.map(wake));
      await waitFor('both requests at their plans', async () => {
        const { rowCount } = await db.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return rowCount! >= 2;
      });
    });
    const codes = await Promise.all(requests.map(async (requestId) => (await ended(requestId)).codes));
    expect(codes).toEqual(expect.arrayContaining([{ PUSH_SENT: 2 }, { MESSAGE_LIMIT: 2 }]));
  });

  it('are all sent, also those that another transaction holds meanwhile, as an erasure does', async () => {
    const { db } = stack.store;
    const campaign = await campaignOf({});
    const requestId = await send(
      [campaign],
      ['ada', 'bob'].map((user) => ({ user })),
      new Date(Date.now() + DAY_MS),
    );
    await write(db, async (tx) => {
      await tx.query('SELECT FROM send_messages WHERE entity_id = $1 AND ordinal = 0 FOR UPDATE', [world.entity.id]);
      await db.query('UPDATE sends SET send_at = now() WHERE identifier = $1', [requestId]);
      await wake(requestId);
      await waitFor('the other message to be sent', async () => (await stateOf(requestId)).processed === 1);
    });
    expect(await ended(requestId)).toMatchObject({ state: 'finished', messages: 2, processed: 2 });
  });
});

describe('a test of a campaign', () => {
  type Result = {
    user: string | null;
    device_id: string | null;
    code: string;
    variant: string | null;
    message: { body: string } | null;
  };
  type Test = { campaign_id: string; state: string; results: Result[] };
  const view = (requestId: string) => ask<Test>('GET', `campaign_tests/${requestId}`);
  const tested = async (campaign: string, body: object) => {
    const { requestId } = await ask<{ requestId: string }>('POST', `campaign/${campaign}/test`, body);
    return {
      requestId,
      ended: () =>
        waitFor('the end of the test', async () => {
          const test = await view(requestId);
          return test.state === 'finished' && test;
        }),
    };
  };
  const create = async (body: object) => (await ask<{ campaign_id: string }>('POST', 'campaign', body)).campaign_id;

  it('goes to the devices of those it names, now and as the draft was, and counts nowhere', async () => {
    const { db } = stack.store;
    const { id: entityId, identifier: salt } = world.entity;
    const { app: own } = await insertKeyedApp(stack.store, world);
    const isMember = (user: string) => isInControlGroup({ percent: 50, salt }, `u${user}`);
    const tester = Array.from({ length: 40 }, (_, nth) => `tester ${nth}`).find(isMember)!;
    const device = (name: string, options: object) =>
      insertSampleDevice(db, entityId, own.id, name, { userId: tester, verifiedUserId: tester, ...options });
    await device('test phone', {});
    await device('test tablet', { optIn: false });
    await device('claimed', { verifiedUserId: undefined });
    const limits = (quiet: object | null, rate: number | null) =>
      db.query(
        'UPDATE apps SET quiet_hours = $2, send_rate = $3, message_limit = 1, message_period = 3600, verified_users = true WHERE id = $1',
        [own.id, quiet && JSON.stringify(quiet), rate],
      );
    await limits({ start: 0, end: 1_439 }, 1);
    await db.query(`INSERT INTO send_paces (entity_id, app_id, next_at) VALUES ($1, $2, now() + interval '1 hour')`, [
      entityId,
      own.id,
    ]);
    await db.query('UPDATE entities SET control_group_percent = 50 WHERE id = $1', [entityId]);
    const inapp = { inapp: 'native', message_title: 'Hi', message_content: '*@what|News@*', message_btn: 'OK' };
    const draft = {
      name: 'Soon',
      type: 'classic',
      source: 'API',
      app_id: own.identifier,
      includes_push: true,
      includes_inapp: true,
      start_date: 'now',
      params: { push_message: 'A', ...inapp },
      variants: [
        { name: 'A', share: 50 },
        { name: 'B', share: 50, params: { push_message: 'B' } },
      ],
      filters: { blocks: [{ filters: [{ filter_on: 'devices', field: 'opt_out', operator: 'is', values: [true] }] }] },
    };
    const id = await create(draft);
    const {
      variants: [, b],
    } = await ask<{ variants: { identifier: string }[] }>('GET', `campaign/${id}`);
    const first = await tested(id, { users: [tester, tester, 'no-one'], variant: 'B' });
    const each = await tested(id, { users: [tester] });
    await ask('PUT', `campaign/${id}`, { ...draft, variants: null, params: { push_message: 'Other', ...inapp } });
    await ask('DELETE', `campaign/${id}`);
    const { campaign_id: of, results } = await first.ended();
    expect(of).toBe(id);
    const rows = results.map(({ user, device_id: name, code, variant, message }) => [
      user,
      name,
      code,
      variant,
      message?.body ?? null,
    ]);
    expect(sorted(rows)).toEqual(
      sorted([
        [tester, 'claimed', 'USER_NOT_VERIFIED', b!.identifier, null],
        [tester, 'test phone', 'PUSH_SENT', b!.identifier, 'B'],
        [tester, 'test tablet', 'OPT_OUT', b!.identifier, null],
        ['no-one', null, 'NO_DEVICE_FOR_USER', null, null],
      ]),
    );
    const asAnybody = variantOf(
      [
        { share: 50, push: 'A' },
        { share: 50, push: 'B' },
      ],
      id,
      `u${tester}`,
    )!.push;
    expect((await each.ended()).results.find(({ code }) => code === 'PUSH_SENT')!.message!.body).toBe(asAnybody);
    const tablet = (await findInappDevice(db, entityId, [own.id], 'test tablet'))!;
    expect(
      (await listInappMessages(db, entityId, tablet, 10)).map(({ campaign, inapp: { content } }) => [
        campaign,
        content,
      ]),
    ).toEqual([
      [id, 'News'],
      [id, 'News'],
    ]);

    const parcel = await create({
      ...draft,
      name: 'Parcel',
      type: 'transactional',
      includes_inapp: false,
      variants: null,
      filters: null,
      params: { push_message: 'Parcel *@number@*' },
    });
    const { ended: parcelEnded } = await tested(parcel, { users: [tester], templateVars: { number: 7 } });
    expect((await parcelEnded()).results.find(({ code }) => code === 'PUSH_SENT')!.message!.body).toBe('Parcel 7');
    await ask('PUT', `campaign/${parcel}/launch`);
    await rollUp();
    const counted = async () => {
      await db.query(`UPDATE outcome_deliveries SET delivered_at = now() - interval '1 hour' WHERE app_id = $1`, [
        own.id,
      ]);
      const [campaigns, received, log] = [
        await ask<{ identifier: string; stats: { total_push_sent: number } }[]>(
          'GET',
          `campaigns?app_ids=${own.identifier}`,
        ),
        await ask<{ preview: { people_number: number } }>('POST', 'segments/preview', {
          app: own.identifier,
          filters: { blocks: [{ filters: [{ filter_on: 'campaigns', outcome: 'received' }] }] },
        }),
        (
          await Array.fromAsync(
            listCampaignLog(db, entityId, {
              appId: own.id,
              from: new Date(Date.now() - DAY_MS),
              till: new Date(),
            }),
          )
        ).flat(),
      ];
      const exported = await exportedRows(db, 'campaign_results_per_user', {
        entityId,
        apps: [own],
        sors: [],
        format: 'csv',
        window: { kind: 'received', start: null, end: new Date(Date.now() + 60_000) },
      });
      const soon = { until: new Date(Date.now() + 60_000), limit: 10 };
      const outcomes = await write(db, (tx) => beginOutcomeBatch(tx, entityId, own.id, soon));
      const { rows: devices } = await db.query(
        'SELECT FROM devices WHERE entity_id = $1 AND app_id = $2 AND first_campaign_received_at IS NOT NULL',
        [entityId, own.id],
      );
      return {
        campaigns: campaigns.map(({ identifier, stats }) => [identifier, stats.total_push_sent]),
        people: received.preview.people_number,
        logged: log.length,
        exported: exported.length,
        outcomes: outcomes !== null,
        devices: devices.length,
        why: (await why({ identifier: parcel }, tester)).decisions.length,
      };
    };
    await updateOutcomeDelivery(db, entityId, own.id, true);
    expect(await counted()).toEqual({
      campaigns: [[parcel, 0]],
      people: 0,
      logged: 0,
      exported: 0,
      outcomes: false,
      devices: 0,
      why: 0,
    });
    await limits(null, null);
    // The first that the limit counts.
    const sent = await ended(await send([{ identifier: parcel }], [{ user: tester, templateVars: { number: 8 } }]));
    expect(sent.codes).toEqual({ PUSH_SENT: 1, OPT_OUT: 1, USER_NOT_VERIFIED: 1 });
    await waitFor('the count', async () => {
      await rollUp();
      return (await counted()).campaigns[0]![1] === 1;
    });
    expect(await counted()).toMatchObject({ people: 1, logged: 3, exported: 3, outcomes: true, devices: 1, why: 3 });

    for (const table of ['attempts', 'campaigns']) {
      await db.query(`UPDATE ${table} SET created_at = created_at - interval '40 days' WHERE app_id = $1`, [own.id]);
    }
    await waitFor('the end of the tests', async () => {
      await rollUp();
      return (
        (await db.query('SELECT FROM campaigns WHERE entity_id = $1 AND test_of IS NOT NULL', [entityId])).rowCount ===
        0
      );
    });
    await expect(view(first.requestId)).rejects.toThrow(/Test not found/);
    const { rows: people } = await db.query(
      'SELECT person, sent FROM campaign_people p JOIN campaigns c ON c.id = p.campaign_id WHERE c.app_id = $1',
      [own.id],
    );
    expect(people).toEqual([{ person: `u${tester}`, sent: 1 }]);
    await db.query('UPDATE entities SET control_group_percent = 0 WHERE id = $1', [entityId]);
  });
});

describe('a report', () => {
  it('lists whole days, the last 30 at most, page by page', async () => {
    const { db } = stack.store;
    const campaign = await campaignOf({});
    const today = Date.parse(new Date().toISOString().slice(0, 10));
    const day = (daysAgo: number) => new Date(today - daysAgo * DAY_MS).toISOString().slice(0, 10);
    const times = [31, 30, 10, 9, 8].flatMap((daysAgo) =>
      ['00:00:00.000', '23:59:59.999'].map((time) => `${day(daysAgo)}T${time}Z`),
    );
    await db.query(
      `INSERT INTO attempts (entity_id, campaign_id, app_id, channel, state, code, device_id, user_id, created_at, settled_at)
       SELECT $1, $2, $3, 'push', 'settled', 'PUSH_SENT', 'phone', 'ada', at, at FROM unnest($4::timestamptz[]) at`,
      [world.entity.id, campaign.id, app.app.id, times],
    );
    const dates = async (query: string) => (await report(campaign, query)).campaignStatus.map(({ date }) => date);
    expect(await dates('')).toEqual(times.slice(2));
    expect(await report(campaign, `?startDate=${day(40)}`)).toMatchObject({ startDate: day(30), endDate: day(0) });
    expect(await report(campaign, `?startDate=${day(8)}&endDate=${day(8)}&page_size=1`)).toEqual({
      campaignKey: campaign.identifier,
      startDate: day(8),
      endDate: day(8),
      campaignStatus: [
        { user: 'ada', device_id: 'phone', date: `${day(8)}T00:00:00.000Z`, code: 'PUSH_SENT', details: null },
      ],
    });
    expect(await dates(`?startDate=${day(40)}&endDate=${day(30)}`)).toEqual(times.slice(2, 4));
    expect(await dates(`?startDate=${day(10)}&endDate=${day(9)}`)).toEqual(times.slice(4, 8));
    expect(await dates(`?startDate=${day(10)}&page_size=4&page=2`)).toEqual(times.slice(8));
    expect(await dates(`?page_size=8&page=2`)).toEqual([]);
    await expect(report(campaign, `?startDate=${day(9)}&endDate=${day(10)}`)).rejects.toThrow(
      /must not be before startDate/,
    );
    await db.query(
      `INSERT INTO attempts (entity_id, campaign_id, app_id, channel, state, code, device_id, user_id, created_at, settled_at)
       SELECT $1, $2, $3, 'push', 'settled', 'PUSH_SENT', 'phone', 'ada', now(), now() FROM generate_series(1, $4)`,
      [world.entity.id, campaign.id, app.app.id, 5_001 - times.length + 2],
    );
    const lengths = ['', '?page=1', '?page=2', '?page_size=1'].map(async (query) => (await dates(query)).length);
    expect(await Promise.all(lengths)).toEqual([5_000, 5_000, 1, 1]);
  });
});
