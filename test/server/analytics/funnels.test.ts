import { beforeAll, describe, expect, test } from 'vitest';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { insertEventDefinitions } from '../../../store/tracking/event-definitions.ts';
import { insertSampleEvents, type SampleEvent } from '../../harness/analytics/sample-events.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { tokenWith } from '../../harness/core/world.ts';
import { testServer } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';

const { store, server, world } = useServer();
let app: { id: number; identifier: string };

const call = (method: 'GET' | 'POST' | 'PUT', path: string, body?: object) =>
  server.call(method, `/api/${path}`, { token: world.token, body });
const step = (name: string, details?: object[]) => ({
  match_name: [{ app_id: app.identifier, log_type: 2, log_name: name }],
  ...(details && { match_details: details }),
});
const PERIOD = { from: '2026-11-05', till: '2026-11-06' };

async function stats(funnel: object, query: Record<string, string> = {}) {
  const search = new URLSearchParams({ app_id: app.identifier, ...PERIOD, ...query });
  return call('POST', `funnels/quick_stats?${search.toString()}`, { funnel });
}

/** 320 people view something, every second of them adds it, every fourth orders; each a minute after the other. */
function visits(): SampleEvent[] {
  return Array.from({ length: 320 }, (_, nth) => nth).flatMap((nth) => {
    const at = (minutes: number) => new Date(Date.parse('2026-11-05T00:00:00Z') + nth * 1_000 + minutes * 60_000);
    const of = { appId: app.id, user: `shopper-${nth}`, device: `phone-${nth}` };
    return [
      { ...of, at: at(0), name: 'Viewed', detail: { product: nth % 3 === 0 ? 'lamp' : 'chair' } },
      ...(nth % 2 === 0 ? [{ ...of, at: at(1), name: 'Added', detail: { price: 249.5 } }] : []),
      ...(nth % 8 === 0 ? [{ ...of, at: at(1.5), name: 'Removed' }] : []),
      ...(nth % 4 === 0 ? [{ ...of, at: at(2), name: 'Ordered' }] : []),
    ];
  });
}

beforeAll(async () => {
  app = await insertSampleApp(store.db, world.entity.id, 'com.example.funnels');
  await ensurePartitions(store.db, [new Date('2026-11-05')]);
  await insertSampleEvents(store.db, world.entity.id, visits());
  await insertEventDefinitions(
    store.db,
    world.entity.id,
    app.id,
    ['Viewed', 'Added', 'Removed', 'Ordered'].map((name) => ({ logType: 2, name })),
  );
});

describe('a funnel', () => {
  test('whose steps are larger than their bound is refused, also where only Postgres writes so many digits', async () => {
    const message = 'steps: must have at most 256 KiB as JSON';
    const texts = await call('POST', 'funnels', {
      name: 'Large',
      steps: [step('Viewed', [{ product: 'x'.repeat(270_000) }])],
    });
    expect([texts.status, texts.body.error_message]).toEqual([400, message]);
    const details = Array.from({ length: 50 }, () =>
      Object.fromEntries(Array.from({ length: 18 }, (_, nth) => [`price${nth}`, 1e308])),
    );
    const { status, body } = await call('POST', 'funnels', { name: 'Digits', steps: [step('Viewed', details)] });
    expect([status, body.error_message]).toEqual([400, message]);
  });

  test('is created, listed, labeled, archived and restored', async () => {
    const created = await call('POST', 'funnels', {
      name: 'Sale',
      steps: [step('Viewed'), step('Ordered')],
      labels: ['shop'],
    });
    const { identifier, created_at: at } = created.body.result;
    const whole = {
      identifier,
      name: 'Sale',
      description: null,
      max_duration: 2_592_000,
      labels: ['shop'],
      archived: false,
      archived_at: null,
      steps: [
        { ...step('Viewed'), match_details: [] },
        { ...step('Ordered'), match_details: [] },
      ],
      created_at: at,
      updated_at: at,
    };
    expect(created.body).toEqual({ success: true, result: whole });
    expect((await call('GET', `funnels/${identifier}`)).body.result).toEqual(whole);
    expect((await call('GET', 'funnels')).body.result).toEqual([whole]);
    const labels = ['autumn', 'web shop'];
    expect((await call('PUT', `funnels/${identifier}`, { labels })).body.result).toMatchObject({ labels });
    expect((await call('GET', 'labels')).body.result).toMatchObject([
      { name: 'shop', targets: 0 },
      { targets: 1 },
      { targets: 1 },
    ]);
    const archived = (await call('PUT', `funnels/${identifier}/archive`)).body.result;
    expect(archived).toMatchObject({
      archived: true,
      archived_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
      labels,
    });
    expect((await call('PUT', `funnels/${identifier}/archive`)).body.result).toEqual(archived);
    expect(await call('PUT', `funnels/${identifier}`, { labels: [] })).toMatchObject({ status: 409 });
    expect((await call('PUT', `funnels/${identifier}/restore`)).body.result).toMatchObject({
      archived: false,
      archived_at: null,
      labels,
    });
    expect((await call('GET', 'funnels/fun_none')).body).toMatchObject({
      status: 'not_found',
      error_message: 'Funnel not found',
    });
  });

  test('is listed, oldest first, by the apps of its steps', async () => {
    const {
      body: { result: older },
    } = await call('GET', 'funnels');
    const other = await insertSampleApp(store.db, world.entity.id, 'com.example.other-funnels');
    await insertEventDefinitions(store.db, world.entity.id, other.id, [{ logType: 3, name: 'Application Opened' }]);
    const opened = { match_name: [{ app_id: other.identifier, log_type: 3, log_name: 'Application Opened' }] };
    const mixed = {
      match_name: [...opened.match_name, ...step('Viewed').match_name],
      match_details: [{ product: 'lamp', price: 5 }, {}],
    };
    const asked = { name: 'Of both', description: 'Opens, or views', max_duration: 90, steps: [mixed], labels: [] };
    const both = (await call('POST', 'funnels', asked)).body.result;
    expect(both).toMatchObject(asked);
    const one = (await call('POST', 'funnels', { name: 'Of the other', steps: [opened] })).body.result;
    const listed = async (query: string) => (await call('GET', `funnels${query}`)).body.result as object[];
    expect(await listed('')).toEqual([...older, both, one]);
    expect(await listed(`?apps=${other.identifier}`)).toEqual([both, one]);
    for (const query of [`?apps=${app.identifier}`, `?apps[]=${app.identifier}`])
      expect(await listed(query)).toEqual([...older, both]);
    for (const query of [
      `?apps=${app.identifier},${other.identifier}`,
      `?apps=${app.identifier}&apps=${other.identifier}`,
    ]) {
      expect(await listed(query)).toEqual([...older, both, one]);
    }
    expect((await call('GET', `funnels?apps=${app.identifier},app_none`)).body).toMatchObject({
      error_message: 'App not found',
    });
  });

  test('is refused by the member of a step that it lacks, and by a log_type that there is not', async () => {
    const { app_id, log_type, log_name } = step('Viewed').match_name[0]!;
    const faultsOf = async (bad: object) =>
      ((await call('POST', 'funnels', { name: 'Bad', steps: [bad] })).body.messages as { element: string }[]).map(
        ({ element }) => element.replace('steps.0.', ''),
      );
    expect(await faultsOf({})).toEqual(['match_name']);
    expect(await faultsOf({ match_name: [] })).toEqual(['match_name']);
    expect(await faultsOf({ match_name: [{ log_type, log_name }] })).toEqual(['match_name.0.app_id']);
    expect(await faultsOf({ match_name: [{ app_id, log_name }] })).toEqual(['match_name.0.log_type']);
    expect(await faultsOf({ match_name: [{ app_id, log_type }] })).toEqual(['match_name.0.log_name']);
    expect(await faultsOf({ match_name: [{ app_id, log_type: 4, log_name }] })).toEqual(['match_name.0.log_type']);
    for (const every of [0, 1, 2, 3]) {
      const faults = await faultsOf({ match_name: [{ app_id, log_type: every, log_name: 'None' }] });
      expect(faults, `log_type ${every}`).toEqual(['match_name.0.log_name']);
    }
  });

  test('whose steps no app has sent is refused, by the field, with the nearest name', async () => {
    const steps = [
      step('Viewed'),
      step('Orderd'),
      { match_name: [{ app_id: 'app_other', log_type: 2, log_name: 'Viewed' }] },
    ];
    expect((await call('POST', 'funnels', { name: 'Sale', steps })).body).toMatchObject({
      status: 'bad_request',
      messages: [
        {
          element: 'steps.1.match_name.0.log_name',
          message: expect.stringContaining('did you mean Ordered?') as string,
        },
        { element: 'steps.2.match_name.0.app_id', message: expect.stringContaining('GET /api/apps') as string },
      ],
    });
  });
});

describe('quick stats', () => {
  const steps = () => [step('Viewed'), step('Added', [{ price: 249.5 }]), step('Ordered')];

  test('count people at each step, with seconds since the first and when the last of them completed it', async () => {
    const { result } = (await stats({ steps: steps() })).body;
    const took = (people: number) => ({
      since_previous: { median: 60, nine_in_ten: 60, histogram: [{ from: 60, until: 120, people }] },
    });
    const exactly = { completions_error: 0, exact: true };
    expect(result).toMatchObject([
      { step: 0, completions: 320, average_duration: 0, last_completed_at: '2026-11-05T00:05:19.000Z', ...exactly },
      { step: 1, completions: 160, average_duration: 60, last_completed_at: '2026-11-05T00:06:18.000Z', ...took(160) },
      { step: 2, completions: 80, average_duration: 120, last_completed_at: '2026-11-05T00:07:16.000Z', ...took(80) },
    ]);
    expect(result[0]).toMatchObject({ share: 1, since_previous: null });
    expect(result[2]).toMatchObject({ share: 0.25, share_error: expect.closeTo(0.0502, 4) as number });
    const counts = async (funnel: object, query?: Record<string, string>) =>
      ((await stats(funnel, query)).body.result as { completions: number }[]).map(({ completions }) => completions);
    expect(await counts({ steps: steps(), max_duration: 119.9 })).toEqual([320, 160, 0]);
    const exclusions = [{ after_step: 1, match_name: step('Removed').match_name }];
    expect(await counts({ steps: steps(), exclusions })).toEqual([320, 160, 40]);
    const none = { average_duration: null, last_completed_at: null };
    expect((await stats({ steps: steps() }, { from: '2026-11-06' })).body.result).toMatchObject(
      [0, 1, 2].map((number) => ({ step: number, completions: 0, share: null, ...none })),
    );
    expect(await counts({ steps: steps() }, { from: '2026-11-04', till: '2026-11-05' })).toEqual([320, 160, 80]);
    expect(await counts({ steps: steps() }, { from: '2026-11-03', till: '2026-11-04' })).toEqual([0, 0, 0]);
    expect(await counts({ steps: [{ match_name: [{ ...step('Viewed').match_name[0]!, log_type: 0 }] }] })).toEqual([
      320,
    ]);
  });

  test('are those of a stored funnel, too, with the same query', async () => {
    const funnel = { max_duration: 90, steps: steps() };
    const {
      body: {
        result: { identifier },
      },
    } = await call('POST', 'funnels', { name: 'Stored', ...funnel });
    const stored = (query: object, of: string = identifier) =>
      call(
        'GET',
        `funnels/${of}/stats?${new URLSearchParams({ app_id: app.identifier, ...PERIOD, ...query }).toString()}`,
      );
    const queries: Record<string, string>[] = [
      {},
      { breakdown: 'detail.product' },
      { mode: 'fast' },
      { from: '2026-11-06' },
    ];
    for (const query of queries) {
      const answer = await stored(query);
      expect(answer).toMatchObject({ status: 200, body: (await stats(funnel, query)).body });
      expect(answer.body.result.length).toBeGreaterThan(0);
    }
    const { rows } = await store.db.query('SELECT details FROM audit_log WHERE subject = $1 AND action = $2', [
      identifier,
      'read',
    ]);
    expect(rows).toEqual([{ details: { app: app.identifier, breakdown: 'detail.product' } }]);
    expect((await stored({}, 'fun_none')).body).toMatchObject({
      status: 'not_found',
      error_message: 'Funnel not found',
    });
  });

  test("count an id that staff confirmed as another one's alias as that one with aliases=true, of a stored funnel, too", async () => {
    const day = { from: '2026-11-07', till: '2026-11-07' };
    const at = (minute: number) => new Date(Date.parse('2026-11-07T12:00:00Z') + minute * 60_000);
    await insertSampleEvents(store.db, world.entity.id, [
      { appId: app.id, user: 'before', at: at(0), name: 'Viewed' },
      { appId: app.id, user: 'after', at: at(1), name: 'Ordered' },
    ]);
    await store.db.query(
      `INSERT INTO user_aliases (entity_id, app_id, previous_id, user_id, decision) VALUES ($1, $2, 'before', 'after', 'confirmed')`,
      [world.entity.id, app.id],
    );
    const funnel = { max_duration: 90, steps: [step('Viewed'), step('Ordered')] };
    const {
      body: {
        result: { identifier },
      },
    } = await call('POST', 'funnels', { name: 'With aliases', ...funnel });
    const counted = async (aliases: Record<string, string>) => {
      const query = new URLSearchParams({ app_id: app.identifier, ...day, ...aliases }).toString();
      const bodies = [
        await stats(funnel, { ...day, ...aliases }),
        await call('GET', `funnels/${identifier}/stats?${query}`),
      ];
      return bodies.map(({ body }) => (body.result as { completions: number }[]).map(({ completions }) => completions));
    };
    expect(await counted({})).toEqual([
      [1, 0],
      [1, 0],
    ]);
    expect(await counted({ aliases: 'true' })).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  test('divide people by a property of their first step', async () => {
    const {
      body: { result },
    } = await stats({ steps: [step('Viewed'), step('Ordered')] }, { breakdown: 'detail.product' });
    expect(
      (result as { breakdown: string; step: number; completions: number }[]).map(
        ({ breakdown, step: number, completions }) => [breakdown, number, completions],
      ),
    ).toEqual([
      ['chair', 0, 213],
      ['chair', 1, 53],
      ['lamp', 0, 107],
      ['lamp', 1, 27],
    ]);
    expect((await stats({ steps: [step('Viewed')] }, { breakdown: 'week' })).body.result).toMatchObject([
      { breakdown: '2026-11-02', step: 0, completions: 320 },
    ]);
  });

  test('list values of events only to those who may read events', async () => {
    const token = await tokenWith(store, world, ['funnels_view']);
    const asked = async (breakdown: string) => {
      const search = new URLSearchParams({ app_id: app.identifier, ...PERIOD, breakdown });
      return server.call('POST', `/api/funnels/quick_stats?${search.toString()}`, {
        token,
        body: { funnel: { steps: steps() } },
      });
    };
    expect(await asked('detail.product')).toMatchObject({
      status: 403,
      body: { status: 'forbidden', message: expect.stringContaining('usage_analytics_view') as string },
    });
    expect((await asked('device_type')).status).toBe(200);
    const { rows } = await store.db.query(
      `SELECT DISTINCT details FROM audit_log WHERE entity_id = $1 AND action = 'read' AND subject_kind = 'funnel'`,
      [world.entity.id],
    );
    expect(rows).toEqual([{ details: { app: app.identifier, breakdown: 'detail.product' } }]);
  });

  test('are exact in the mode fast while people are few, then estimated, and say how far they may be off', async () => {
    const fast = async () => {
      const { body, headers } = await stats({ steps: steps() }, { mode: 'fast' });
      const result = body.result as { completions: number; completions_error: number; exact: boolean }[];
      const errors = result.map(({ completions_error: error }) => error);
      expect(String(headers['x-funnel-error'])).toBe(errors.join(', '));
      return result;
    };
    const exact = { exact: true, completions_error: 0 };
    expect(await fast()).toMatchObject([320, 160, 80].map((completions) => ({ completions, ...exact })));
    await store.db.query(
      `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
       SELECT $1, $2, 'other-' || n, 'other-' || n, now() FROM generate_series(1, 10000) n`,
      [world.entity.id, app.id],
    );
    const estimated = await fast();
    for (const [number, people] of [320, 160, 80].entries()) {
      const { completions, completions_error: error, exact: isExact } = estimated[number]!;
      expect(isExact).toBe(false);
      expect(completions % 16).toBe(0);
      expect(Math.abs(completions - people)).toBeLessThanOrEqual(error);
    }
    await store.db.query(`DELETE FROM device_users WHERE device_id LIKE 'other-%'`);
  });

  test('list people who completed a step, or dropped out before it, and write each into the audit log', async () => {
    const people = async (query: Record<string, string>, token = world.token) => {
      const search = new URLSearchParams({ app_id: app.identifier, ...PERIOD, ...query });
      return server.call('POST', `/api/funnels/people?${search.toString()}`, {
        token,
        body: { funnel: { steps: steps() } },
      });
    };
    const dropped = (await people({ step: '1', outcome: 'dropped' })).body.result;
    expect(dropped).toMatchObject({ completions: 160, completions_error: 0, exact: true });
    expect(dropped.people).toHaveLength(100);
    expect(dropped.people.slice(0, 2)).toEqual([
      { user_id: 'shopper-319', device_id: null, last_completed_at: '2026-11-05T00:05:19.000Z' },
      { user_id: 'shopper-317', device_id: null, last_completed_at: '2026-11-05T00:05:17.000Z' },
    ]);
    const completed = (await people({ step: '2' })).body.result;
    expect([completed.completions, completed.people.length]).toEqual([80, 80]);
    const { rows } = await store.db.query(
      `SELECT count(*)::integer AS looks, count(DISTINCT customer_hash)::integer AS people FROM audit_log
       WHERE entity_id = $1 AND subject_kind = 'customer' AND details = '{"what": "people of a funnel"}'`,
      [world.entity.id],
    );
    expect(rows).toEqual([{ looks: 180, people: 180 }]);
    const wrong: Record<string, string>[] = [{ step: '3' }, { step: '0', outcome: 'dropped' }];
    for (const query of wrong) expect((await people(query)).body.messages).toMatchObject([{ element: 'step' }]);
    expect((await people({ step: '2' }, await tokenWith(store, world, ['funnels_view']))).status).toBe(403);
  });

  test("refuse what can't be counted, and name it", async () => {
    const refused = async (funnel: object, query?: Record<string, string>) =>
      (await stats(funnel, query)).body.messages[0].element as string;
    expect(await refused({ steps: [] })).toBe('funnel.steps');
    expect(await refused({})).toBe('funnel.steps');
    expect(await refused({ steps: steps() }, { till: '2026-11-04' })).toBe('till');
    expect(await refused({ steps: steps() }, { from: '2026-02-30' })).toBe('from');
    expect(await refused({ steps: steps() }, { mode: 'slow' })).toBe('mode');
    expect(await refused({ steps: steps() }, { breakdown: 'color' })).toBe('breakdown');
    expect(
      await refused({ steps: steps(), exclusions: [{ after_step: 2, match_name: step('Removed').match_name }] }),
    ).toBe('funnel.exclusions.0.after_step');
    expect((await stats({ steps: steps() }, { app_id: 'app_other' })).body).toMatchObject({
      error_message: 'App not found',
    });
  });
});

test('exploring lists what people do after a step, by what it is called', async () => {
  await store.db.query(`UPDATE event_definitions SET display_name = 'Order' WHERE name = 'Ordered'`);
  const search = new URLSearchParams({ app_id: app.identifier, ...PERIOD, position: '1' });
  const funnel = { max_duration: 60, steps: [step('Viewed'), step('Added')] };
  const explore = await call('POST', `funnels/explore?${search.toString()}`, { funnel });
  const of = { application_id: app.identifier, log_type: 2 };
  const exactly = { completions_error: 0, exact: true };
  expect(explore.body.result).toEqual([
    { ...of, log_name: 'Ordered', display_name: 'Order', completions: 80, average_duration: 60, ...exactly },
    { ...of, log_name: 'Removed', display_name: 'Removed', completions: 40, average_duration: 30, ...exactly },
  ]);
  const dropped = new URLSearchParams({ app_id: app.identifier, ...PERIOD, position: '0', dropped: 'true' });
  const sale = { steps: [step('Viewed'), step('Ordered')] };
  expect((await call('POST', `funnels/explore?${dropped.toString()}`, { funnel: sale })).body.result).toEqual([
    { ...of, log_name: 'Added', display_name: 'Added', completions: 80, average_duration: 60, ...exactly },
  ]);
  search.set('position', '2');
  expect(
    (await call('POST', `funnels/explore?${search.toString()}`, { funnel: { steps: [step('Viewed')] } })).body.messages,
  ).toMatchObject([{ element: 'position' }]);
});

describe('a funnel that computes', () => {
  /** Holds the events, so that each funnel runs until it is ended. */
  async function whileEventsAreLocked(work: (url: string, close: () => Promise<void>) => Promise<void>): Promise<void> {
    const { app: other } = await testServer(store);
    const url = await other.listen({ port: 0, host: '127.0.0.1' });
    const lock = await store.db.connect();
    try {
      await lock.query('BEGIN; LOCK TABLE events IN ACCESS EXCLUSIVE MODE');
      await work(url, () => other.close());
    } finally {
      await lock.query('ROLLBACK');
      lock.release();
      await other.close();
    }
  }

  const ask = (url: string, signal?: AbortSignal) =>
    fetch(`${url}/api/funnels/quick_stats?${new URLSearchParams({ app_id: app.identifier, ...PERIOD }).toString()}`, {
      method: 'POST',
      headers: { authorization: `Token ${world.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ funnel: { steps: [step('Viewed')] } }),
      ...(signal && { signal }),
    });

  const computing = async () =>
    (
      await store.db.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
    ).rows.length;

  test('ends with its caller, and frees its place', () =>
    whileEventsAreLocked(async (url) => {
      const hangingUp = new AbortController();
      const gone = ask(url, hangingUp.signal).catch(() => 'gone');
      await waitFor('both sessions to compute', async () => (await computing()) === 2);
      hangingUp.abort();
      expect(await gone).toBe('gone');
      await waitFor('both sessions to end', async () => (await computing()) === 0);
    }));

  test('ends with its server', () =>
    whileEventsAreLocked(async (url, close) => {
      const asked = [ask(url), ask(url)];
      await waitFor('both sessions to compute', async () => (await computing()) === 2);
      await close();
      for (const answer of await Promise.all(asked)) {
        expect(answer.status).toBe(503);
        expect(answer.headers.get('retry-after')).toBe('1');
      }
      await waitFor('both sessions to end', async () => (await computing()) === 0);
    }));
});

test('a funnel has at most 500 pairs in all of its details', async () => {
  const pairs = (count: number) => [
    Object.fromEntries(Array.from({ length: count }, (_, nth) => [`member-${nth}`, nth])),
  ];
  const steps = (last: number) => [...Array.from({ length: 24 }, () => pairs(20)).flat(), ...pairs(last)];
  expect((await stats({ steps: [step('Viewed', steps(20)), step('Ordered')] })).status).toBe(200);
  const refused = await stats({ steps: [step('Viewed', steps(20)), step('Ordered', pairs(1))] });
  expect(refused.status).toBe(400);
  expect(refused.body.error_message).toContain('at most 500 pairs');
});
