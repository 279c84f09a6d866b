import { beforeAll, describe, expect, it } from 'vitest';
import { countAttempts } from '../../../activities/sends/aggregate-reports.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { insertSampleSegment } from '../../harness/analytics/segments.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { insertSampleCampaign, insertSampleDevice, PUSH_PARAMS } from '../../harness/sends/campaigns.ts';

const stack = useStack({ impatient: true });
let world: World;
let app: { id: number; identifier: string };
let campaign: { id: number; identifier: string };

async function call<R>(method: 'GET' | 'POST' | 'PUT', path: string, payload?: object): Promise<R> {
  const headers = { authorization: `Token ${world.token}` };
  const reply = await stack.app.inject({
    method,
    url: path.startsWith('/') ? path : `/api/${path}`,
    headers,
    ...(payload !== undefined && { payload }),
  });
  expect({ status: reply.statusCode, body: reply.body }).toMatchObject({ status: 200 });
  return reply.json<{ result: R }>().result;
}

type Balance = Record<'sent' | 'confirmed' | 'taken' | 'unknown' | 'refused', number>;
type State = {
  requestId: string;
  state: string;
  messages: number;
  codes: Record<string, number>;
  sent: Balance;
  campaigns: { campaign_id: string }[];
  ended_at: string | null;
};
type Decision = { line: number; erased: boolean; user: string | null; device_id: string | null; code: string };
type Page<T> = { items: T[]; next: string | null };

async function sendTo(users: readonly string[]): Promise<State> {
  const messages = users.map((user) => ({ user }));
  const { requestId } = await call<{ requestId: string }>('POST', 'transac', {
    campaignKey: [campaign.identifier],
    messages,
  });
  return waitFor('the end of the send', async () => {
    const state = await call<State>('GET', `transac/${requestId}`);
    return state.ended_at !== null && state;
  });
}

async function allPages<T>(path: string): Promise<T[]> {
  const all: T[] = [];
  for (let next: string | null = `/api/${path}`; next !== null;) {
    const page: Page<T> = await call<Page<T>>('GET', next);
    all.push(...page.items);
    next = page.next && page.next.slice(page.next.indexOf('/api/'));
  }
  return all;
}

const TOKENS = {
  ada: 'token',
  bob: 'token of bob',
  unknown: 'sandbox-unknown',
  refused: 'sandbox-refused',
  lost: 'sandbox-gone',
  big: 'sandbox-too-big',
};
const USERS = [...Object.keys(TOKENS), 'shy', 'nobody-here', 'gone'];

beforeAll(async () => {
  const { db, secrets } = stack.store;
  world = await makeWorld(stack.store);
  const { id: entityId } = world.entity;
  app = await insertSampleApp(db, entityId, 'com.example.requests');
  campaign = await insertSampleCampaign(db, entityId, app.id, {
    params: { ...PUSH_PARAMS, push_message: 'Hello *@name|there@*' },
  });
  for (const [userId, token] of Object.entries(TOKENS))
    await insertSampleDevice(db, entityId, app.id, `phone of ${userId}`, { userId, token });
  await insertSampleDevice(db, entityId, app.id, 'shy phone', { userId: 'shy', optIn: false });
  await insertSampleDevice(db, entityId, app.id, 'bare', { token: null });
  await insertTombstone(db, entityId, secrets.customerHash(entityId, 'user_id', 'gone'));
  stack.startWorker();
});

describe('a request', () => {
  let state: State;

  beforeAll(async () => {
    const { requestId } = await sendTo(USERS);
    await stack.store.db.query(`UPDATE attempts SET delivered_at = now(), opened_at = now() WHERE user_id = 'ada'`);
    state = await call<State>('GET', `transac/${requestId}`);
  });

  it('has as many pushes that left as were confirmed, taken, unknown and refused, and each other message by its code', async () => {
    const { codes, sent } = state;
    expect(sent).toEqual({ sent: 4, confirmed: 1, taken: 1, unknown: 1, refused: 1 });
    expect(codes).toEqual({
      PUSH_SENT: 2,
      UNKNOWN: 1,
      REFUSED: 1,
      OPT_OUT: 2,
      MESSAGE_TO_BIG: 1,
      NO_DEVICE_FOR_USER: 2,
    });
    const path = `transac/${state.requestId}/decisions`;
    const decisions = await allPages<Decision>(`${path}?per_page=2`);
    expect(decisions.map(({ line, user }) => [line, user])).toEqual(
      USERS.map((user, index) => [index + 1, user === 'gone' ? null : user]),
    );
    for (const [code, count] of Object.entries(codes))
      expect(await allPages(`${path}?code=${code}&per_page=1`)).toHaveLength(count);
    expect((await allPages<Decision>(`${path}?outcome=confirmed`)).map(({ user }) => user)).toEqual(['ada']);
    for (const outcome of ['confirmed', 'taken', 'unknown', 'refused'] as const)
      expect(await allPages(`${path}?outcome=${outcome}`)).toHaveLength(sent[outcome]);
    expect(await allPages(`${path}?outcome=not_sent`)).toHaveLength(decisions.length - sent.sent);
  });

  it('shows an erased person as a line and nothing else', async () => {
    const [gone] = (await allPages<Decision>(`transac/${state.requestId}/decisions`)).slice(-1);
    expect(Object.entries(gone!).filter(([, value]) => value !== null && value !== false)).toEqual([
      ['line', USERS.length],
      ['campaign_id', campaign.identifier],
      ['code', 'NO_DEVICE_FOR_USER'],
      ['reason', 'no device of the user has the app'],
      ['erased', true],
    ]);
  });

  it('is in the list of its campaign, newest first in pages, with the counts that it has itself', async () => {
    const second = await sendTo(['ada']);
    const third = await sendTo(['nobody-here']);
    const listed = await allPages<State>(`campaigns/${campaign.identifier}/requests?per_page=2`);
    expect(listed.map(({ requestId }) => requestId)).toEqual([third, second, state].map(({ requestId }) => requestId));
    expect(listed).toEqual(
      await Promise.all(listed.map(({ requestId }) => call<State>('GET', `transac/${requestId}`))),
    );
    expect(listed[0]).toMatchObject({
      sent: { sent: 0 },
      codes: { NO_DEVICE_FOR_USER: 1 },
      campaigns: [{ campaign_id: campaign.identifier, app_id: app.identifier }],
    });
  });

  it('counts in the outcomes of its provider by day and code, with what waits and the devices that a push reaches', async () => {
    const { db } = stack.store;
    await countAttempts({ db, boundary() {} }, world.entity.id);
    type Outcomes = {
      days: { day: string; outcome: string; code: string | null; provider: string; pushes: number }[];
      waiting: { reason: string; pushes: number; next_at: string | null }[];
      devices: Record<string, number>;
    };
    const outcomes = () => call<Outcomes>('GET', `apps/${app.identifier}/push_outcomes?days=2`);
    const { days, devices, waiting } = await outcomes();
    const found = days.toSorted((a, b) => a.outcome.localeCompare(b.outcome));
    expect(found.map(({ outcome, code, provider, pushes }) => [outcome, code, provider, pushes])).toEqual([
      ['gone', null, 'sandbox', 1],
      ['refused', 'SANDBOX_REFUSED', 'sandbox', 1],
      ['sent', null, 'sandbox', 3],
      ['too_big', null, 'sandbox', 1],
      ['unknown', null, 'sandbox', 1],
    ]);
    // The token that the provider has lost is gone, too.
    expect(devices).toEqual({ devices: 8, reachable: 5, turned_off: 1, without_token: 2, uninstalled: 0 });
    expect(waiting).toEqual([]);
    const minute = new Date().getUTCHours() * 60 + new Date().getUTCMinutes();
    const quiet = { start: (minute + 1_430) % 1_440, end: (minute + 120) % 1_440, timezone: 'UTC' };
    await db.query('UPDATE apps SET quiet_hours = $2 WHERE id = $1', [app.id, JSON.stringify(quiet)]);
    await call('POST', 'transac', { campaignKey: [campaign.identifier], messages: [{ user: 'bob' }, { user: 'ada' }] });
    const waits = await waitFor('the pushes that wait', async () => {
      const now = await outcomes();
      return now.waiting.length > 0 && now.waiting;
    });
    expect(waits).toMatchObject([{ reason: 'quiet_hours', pushes: 2 }]);
    const why = await explain({ user_id: 'bob' });
    expect(why).toMatchObject({ reaches: 'later', decisions: [{ code: 'PENDING' }, { code: 'PUSH_SENT' }] });
    expect(linesOf(why)).toContainEqual(['quiet_hours', 'waits', expect.stringContaining('quiet hours until')]);
    await db.query('UPDATE apps SET quiet_hours = NULL WHERE id = $1', [app.id]);
  });
});

type Line = { check: string; result: string; found: string };
type Explained = {
  erased: boolean;
  reaches: string;
  lines: Line[];
  audience: { blocks: { met: boolean; filters: { met: boolean }[] }[] } | null;
  devices: { device_id: string; gets: string; code: string; lines: Line[] }[];
  look: string;
};

const explain = (body: object, of = campaign) =>
  call<Explained>('POST', 'people/delivery', { campaign_id: of.identifier, ...body });
const linesOf = ({ lines }: { lines: Line[] }) => lines.map(({ check, result, found }) => [check, result, found]);

describe('why a message comes or not', () => {
  it('names the line that stops it, with what was found, and writes one entry into the audit log', async () => {
    const { rows: before } = await stack.store.db.query('SELECT FROM audit_log WHERE entity_id = $1', [
      world.entity.id,
    ]);
    const shy = await explain({ user_id: 'shy' });
    expect(shy).toMatchObject({
      reaches: 'no',
      devices: [{ device_id: 'shy phone', gets: 'nothing', code: 'OPT_OUT' }],
    });
    expect(shy.devices[0]!.lines.filter(({ result }) => result === 'stops')).toEqual([
      { check: 'permission', result: 'stops', found: 'pushes are turned off' },
    ]);
    expect(await explain({ user_id: 'shy', look: shy.look })).toMatchObject({ reaches: 'no' });
    const { rows: after } = await stack.store.db.query('SELECT FROM audit_log WHERE entity_id = $1', [world.entity.id]);
    expect(after.length - before.length).toBe(1);
    expect(await explain({ user_id: 'ada' })).toMatchObject({ reaches: 'open', devices: [{ gets: 'push' }] });
    const nobody = await explain({ user_id: 'nobody-here' });
    expect(nobody).toMatchObject({ reaches: 'no', devices: [] });
    expect(linesOf(nobody)).toContainEqual(['known', 'stops', 'no device has the app']);
    const bare = await explain({ device_id: 'bare' });
    expect(bare).toMatchObject({ reaches: 'no', devices: [{ device_id: 'bare', code: 'OPT_OUT' }] });
    expect(linesOf(bare)).toContainEqual(['known', 'stops', expect.stringContaining('the device has no user')]);
  });

  it('shows which filter keeps a person out of the audience, and the limit of the app', async () => {
    const { db } = stack.store;
    const { id: entityId } = world.entity;
    const segment = await insertSampleSegment(db, entityId, { appId: app.id, name: 'Golden', people: ['uada'] });
    const filters = {
      operator: 'and',
      blocks: [
        {
          operator: 'and',
          filters: [
            {
              filter_on: 'segments',
              operator: 'is_in',
              selection: 'any_of',
              segment_identifiers: [segment.identifier],
            },
          ],
        },
      ],
    };
    const classic = await insertSampleCampaign(db, entityId, app.id, {
      type: 'classic',
      filters,
      params: { ...PUSH_PARAMS, push_message: 'Hello' },
    });
    const ada = await explain({ user_id: 'ada' }, classic);
    expect(ada).toMatchObject({ reaches: 'yes', audience: { blocks: [{ met: true }] } });
    const named = { ...PUSH_PARAMS, push_message: `Hello *@sor:${world.sor.identifier}.plan@*` };
    const personal = await insertSampleCampaign(db, entityId, app.id, { type: 'classic', params: named });
    const unnamed = await explain({ user_id: 'ada' }, personal);
    expect(unnamed.reaches).toBe('no');
    expect(linesOf(unnamed)).toContainEqual([
      'profile_values',
      'stops',
      'the profile has no plan, and the text no default',
    ]);
    const bob = await explain({ user_id: 'bob' }, classic);
    expect(bob).toMatchObject({ reaches: 'no', audience: { blocks: [{ met: false, filters: [{ met: false }] }] } });
    expect(linesOf(bob)).toContainEqual(['audience', 'stops', 'the filters do not find the person']);
    await db.query('UPDATE apps SET message_limit = 1, message_period = 86400 WHERE id = $1', [app.id]);
    const limited = await explain({ user_id: 'ada' }, classic);
    expect(limited.reaches).toBe('no');
    expect(linesOf(limited)).toContainEqual(['message_limit', 'stops', expect.stringMatching(/^\d+ of 1 messages/)]);
  });

  it('says of an erased person that they are erased, and nothing else', async () => {
    expect(await explain({ user_id: 'gone' })).toMatchObject({ erased: true, lines: [], devices: [] });
  });
});
