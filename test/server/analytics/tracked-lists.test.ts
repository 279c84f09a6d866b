import { beforeAll, describe, expect, test } from 'vitest';
import { write } from '../../../store/core/database.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { insertSampleSegment } from '../../harness/analytics/segments.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { personId } from '../../harness/core/people.ts';
import { recountTracked } from '../../harness/tracking/recount-tracked.ts';
import { insertSampleEvents } from '../../harness/analytics/sample-events.ts';
import { sampleActivity } from '../../harness/tracking/sdk-samples.ts';
import { useServer } from '../http/use-server.ts';

const [ANNE, BEN] = [personId(701), personId(702)];
const [PHONE, TABLET] = ['phone-701', 'tablet-701'];
const BIG = '12345678901234567890.10';

const { store, server, world } = useServer();
let app: { id: number; identifier: string };
let other: { id: number; identifier: string };

const call = (path: string, query: Record<string, string> = {}) =>
  server.call('GET', `/api/${path}?${new URLSearchParams(query).toString()}`, { token: world.token });
const list = async (path: string, query?: Record<string, string>) => (await call(path, query)).body.result;
const items = async (path: string, query?: Record<string, string>): Promise<Record<string, unknown>[]> =>
  (await list(path, query)).items;

type Sample = {
  at: string;
  name?: string;
  logType?: number;
  device?: string;
  user?: string;
  detail?: string;
  offset?: number;
};

async function insertEvents(events: Sample[]) {
  await ensurePartitions(
    store.db,
    events.map(({ at }) => new Date(at)),
  );
  for (const { at, name = 'Tapped', logType = 2, device, user, detail, offset } of events) {
    await store.db.query(
      `INSERT INTO events (entity_id, app_id, happened_at, session_id, device_id, user_id, log_type, name, detail, utc_offset)
       VALUES ($1, $2, $3, 77, $4, $5, $9, $6, $7, $8)`,
      [world.entity.id, app.id, at, device ?? null, user ?? null, name, detail ?? null, offset ?? null, logType],
    );
  }
  await recountTracked(store.db);
}

beforeAll(async () => {
  const [first, second] = await write(store.db, async (tx) => [
    await insertSampleApp(tx, world.entity.id, 'com.example.lists'),
    await insertSampleApp(tx, world.entity.id, 'com.example.others'),
  ]);
  [app, other] = [first!, second!];
  await insertEvents([
    { at: '2026-09-30T23:59:59.999Z', user: BEN },
    {
      at: '2026-10-01T00:00:00Z',
      device: PHONE,
      user: ANNE,
      name: 'Bought',
      detail: `{"price": ${BIG}, "of": "shoes"}`,
      offset: -570,
    },
    { at: '2026-10-01T00:00:00Z', device: PHONE, user: ANNE, name: 'Viewed', detail: '"a page"' },
    { at: '2026-10-01T00:00:00.001Z', device: TABLET, user: BEN },
  ]);
  await sampleActivity(store.db, world.entity.id, {
    appId: app.id,
    deviceId: PHONE,
    userId: ANNE,
    at: new Date('2026-10-02T00:00:00Z'),
  });
  await sampleActivity(store.db, world.entity.id, {
    appId: other.id,
    deviceId: PHONE,
    userId: ANNE,
    at: new Date('2026-10-03T00:00:00Z'),
  });
});

/** How many entries a page may have. */
const perPageOf = (page: { navigation: { first: string } }) =>
  new URL(page.navigation.first).searchParams.get('per_page');

/** The page at a link. */
const follow = async (link: string) =>
  (await server.call('GET', link.replace(/^https?:\/\/[^/]+/, ''), { token: world.token })).body.result;

const events = () => `apps/${app.identifier}/events`;

describe('events', () => {
  test('come in order of time, each with all of its fields', async () => {
    const page = await list(events());
    expect(page).toMatchObject({
      item_count: 5,
      total_items: 5,
      total_pages: 1,
      navigation: { first: expect.stringContaining('page=1&per_page=1000') as string, prev: null, next: null },
    });
    expect(page.items.map(({ name }: { name: string }) => name)).toEqual([
      'Tapped',
      'Bought',
      'Viewed',
      'Tapped',
      'Application Crashed',
    ]);
    expect(page.items[1]).toEqual({
      event_id: expect.stringMatching(/^\d+$/),
      log_type: 2,
      name: 'Bought',
      date_utc: '2026-10-01T00:00:00.000Z',
      date_tz: '2026-09-30T14:30:00.000-09:30',
      user_id: ANNE,
      device_id: PHONE,
      session_id: '77',
      detail: expect.objectContaining({ of: 'shoes' }),
    });
    expect(page.items[0]).toMatchObject({ date_tz: null, device_id: null, detail: null });
    expect([page.items[2].detail, page.items[4].log_type]).toEqual(['a page', 1]);
    const { text } = await call(events());
    expect(text).toContain(BIG);
  });

  test('are of the time, devices, users, sessions, names and details asked for', async () => {
    const count = async (query: Record<string, string>) => (await list(events(), query)).total_items;
    expect(await count({ since_date: '2026-10-01', until_date: '2026-10-01T00:00:00Z' })).toBe(2);
    expect(await count({ since_date: '2026-10-01T02:00:00.001+02:00' })).toBe(2);
    expect(await count({ device_ids: `${PHONE},${TABLET}` })).toBe(4);
    expect(await count({ user_ids: BEN })).toBe(2);
    const repeated = async (...values: string[]) => {
      const query = values.map((value) => `user_ids[]=${encodeURIComponent(value)}`).join('&');
      return (await server.call('GET', `/api/${events()}?${query}`, { token: world.token })).body.result.total_items;
    };
    expect([await count({ user_ids: `${ANNE},${BEN}` }), await repeated(ANNE, BEN)]).toEqual([5, 5]);
    expect([await repeated(`${ANNE},${BEN}`), await repeated(`${ANNE},x`, BEN)]).toEqual([0, 2]);
    expect(await count({ session_ids: '77,none' })).toBe(4);
    expect(await count({ names: 'Bought,Viewed' })).toBe(2);
    expect(await count({ details: 'shoes' })).toBe(1);
    expect(await count({ details: 'a page,nothing' })).toBe(1);
    expect(await count({ names: 'Bought', device_ids: TABLET })).toBe(0);
  });

  test('have only the fields asked for, and always their id', async () => {
    expect(await items(events(), { fields: 'name,device_id', names: 'Bought' })).toEqual([
      { event_id: expect.any(String), name: 'Bought', device_id: PHONE },
    ]);
    expect(await items(events(), { fields: 'detail,date_tz', until_date: '2026-09-30T23:59:59.999Z' })).toEqual([
      { event_id: expect.any(String), date_tz: null, detail: null },
    ]);
    const { status, body } = await call(events(), { fields: 'name,devise_id' });
    const message = expect.stringContaining('did you mean device_id');
    expect([status, body.messages[0]]).toMatchObject([400, { element: 'fields', message }]);
  });

  test('are counted for each combination of fields, of 60 days at most', async () => {
    expect(await items(events(), { group: 'true', fields: 'name,event_id', until_date: '2026-11-01' })).toEqual([
      { count: 1, name: 'Application Crashed' },
      { count: 1, name: 'Bought' },
      { count: 2, name: 'Tapped' },
      { count: 1, name: 'Viewed' },
    ]);
    const page = await list(events(), {
      group: 'true',
      fields: 'name',
      until_date: '2026-11-30T00:00:00Z',
      per_page: '1',
      page: '2',
    });
    expect(page).toMatchObject({ items: [{ name: 'Bought' }], item_count: 1, total_items: 4, total_pages: 4 });
    expect(
      await items(events(), {
        group: 'true',
        fields: 'name',
        until_date: '2026-11-30T00:00:00.001Z',
        names: 'Tapped,Bought,Viewed',
      }),
    ).toEqual([{ count: 1, name: 'Tapped' }]);
  });

  test('are counted from 60 days before now on, whatever earlier date is given, together with those of the background', async () => {
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
    const of = { user: ANNE, device: PHONE };
    await insertEvents([
      { ...of, at: daysAgo(61), name: 'Long ago' },
      { ...of, at: daysAgo(59), name: 'Lately' },
      ...['Application Opened', 'Application Backgrounded'].map((name) => ({
        ...of,
        at: daysAgo(58),
        name,
        logType: 3,
      })),
    ]);
    const names = 'Long ago,Lately,Application Opened,Application Backgrounded';
    const counted = [
      { count: 1, log_type: 2, name: 'Lately' },
      { count: 1, log_type: 3, name: 'Application Backgrounded' },
      { count: 1, log_type: 3, name: 'Application Opened' },
    ];
    for (const path of [
      events(),
      `apps/${app.identifier}/devices/${PHONE}/events`,
      `users/${encodeURIComponent(ANNE)}/events`,
    ]) {
      const given: Record<string, string>[] = [{}, { since_date: '2020-01-01' }, { since_date: daysAgo(60.5) }];
      for (const since of given) {
        expect(await items(path, { group: 'true', fields: 'name,log_type', names, ...since })).toEqual(counted);
      }
      expect(await items(path, { group: 'true', fields: 'name', names, since_date: daysAgo(58.5) })).toHaveLength(2);
      expect(await items(path, { fields: 'name', names })).toHaveLength(4);
    }
    await store.db.query('DELETE FROM events WHERE entity_id = $1 AND name = ANY ($2)', [
      world.entity.id,
      names.split(','),
    ]);
    await recountTracked(store.db);
  });

  test('are followed by next as they were at the first page, whatever comes meanwhile', async () => {
    const first = await list(events(), { per_page: '2', fields: 'name' });
    expect(first).toMatchObject({ item_count: 2, total_items: 5, total_pages: 3, navigation: { prev: null } });
    await insertEvents([
      { at: '2026-09-30T00:00:00Z', name: 'Late' },
      { at: '2026-12-01T00:00:00Z', name: 'New' },
    ]);
    const names: string[] = first.items.map(({ name }: { name: string }) => name);
    let pages = 1;
    for (let at = first; at.navigation.next !== null; pages += 1) {
      at = await follow(at.navigation.next);
      names.push(...at.items.map(({ name }: { name: string }) => name));
      expect(at.total_items).toBe(5);
    }
    expect([pages, names]).toEqual([3, ['Tapped', 'Bought', 'Viewed', 'Tapped', 'Application Crashed']]);
    const last = await follow(first.navigation.last);
    expect(last).toMatchObject({ total_items: 7, item_count: 2 });
    const page = (number: number) => `http://millrace.test/api/${events()}?fields=name&page=${number}&per_page=2`;
    expect((await list(events(), { per_page: '2', page: '2', fields: 'name' })).navigation).toEqual({
      first: page(1),
      prev: page(1),
      next: expect.stringContaining(`${page(3)}&cursor=`) as string,
      last: page(4),
    });
    expect((await call(events(), { cursor: 'none' })).body.messages[0].element).toBe('cursor');
    const newest = { fields: 'name', per_page: '3', order: 'desc' };
    const front = await list(events(), newest);
    await insertEvents([{ at: '2026-12-02T00:00:00Z', name: 'New' }]);
    const behind = await follow(front.navigation.next);
    expect([...front.items, ...behind.items].map(({ name }: { name: string }) => name)).toEqual(
      'New,Application Crashed,Tapped,Viewed,Bought,Tapped'.split(','),
    );
    expect((await follow(behind.navigation.next)).items).toMatchObject([{ name: 'Late' }]);
    const turned = new URL(front.navigation.next);
    turned.searchParams.delete('order');
    expect((await call(events(), Object.fromEntries(turned.searchParams))).body.messages[0].element).toBe('order');
    for (const path of [
      `apps/${app.identifier}/sessions`,
      `apps/${app.identifier}/locations`,
      `users/${ANNE}/events`,
    ]) {
      const [up, down] = [await items(path), await items(path, { order: 'desc' })];
      expect(down).toEqual(up.toReversed());
    }
    await store.db.query(`DELETE FROM events WHERE entity_id = $1 AND name IN ('Late', 'New')`, [world.entity.id]);
    await recountTracked(store.db);
  });

  test('of a device, and of a user in all apps', async () => {
    expect(await items(`apps/${app.identifier}/devices/${PHONE}/events`, { fields: 'name' })).toHaveLength(3);
    expect(await items(`apps/${other.identifier}/devices/${PHONE}/events`, { fields: 'name' })).toHaveLength(1);
    expect(await items(`users/${encodeURIComponent(ANNE)}/events`, { fields: 'name' })).toHaveLength(4);
    expect(await items(`users/${encodeURIComponent(ANNE)}/events`, { application_ids: other.identifier })).toHaveLength(
      1,
    );
    expect(await items(`users/${encodeURIComponent(ANNE)}/events`, { application_ids: 'app_none' })).toHaveLength(0);
    const [ofDevice, ofUser] = [
      `apps/${app.identifier}/devices/${PHONE}/events`,
      `users/${encodeURIComponent(ANNE)}/events`,
    ];
    for (const [path, filters] of [
      [
        ofDevice,
        {
          user_ids: [`${ANNE},${BEN}`, 3, BEN],
          session_ids: ['77', 2, '0'],
          names: ['Bought,Viewed', 2, 'None'],
          details: ['shoes,a page', 2, 'none'],
          since_date: ['2026-10-01', 3, '2026-10-02T00:00:01Z'],
          until_date: ['2026-10-01', 2, '2026-09-30'],
        },
      ],
      [
        ofUser,
        {
          device_ids: [`${PHONE},${TABLET}`, 4, TABLET],
          session_ids: ['77', 2, '0'],
          names: ['Bought,Viewed', 2, 'None'],
          details: ['shoes,a page', 2, 'none'],
          application_ids: [`${app.identifier},${other.identifier}`, 4, 'app_none'],
          since_date: ['2026-10-02', 2, '2026-10-04'],
          until_date: ['2026-10-02', 3, '2026-09-30'],
        },
      ],
    ] as [string, Record<string, [string, number, string]>][]) {
      for (const [name, [some, count, none]] of Object.entries(filters)) {
        const totals = [await list(path, { [name]: some }), await list(path, { [name]: none })].map(
          (page) => page.total_items,
        );
        expect([path, name, ...totals]).toEqual([path, name, count, 0]);
      }
    }
  });

  test('that arrived since, however long ago they happened, come to a reader who goes on from received_until', async () => {
    const path = `apps/${app.identifier}/events`;
    const read = async (since: string) => {
      const names: string[] = [];
      const first = await list(path, { received_since: since, fields: 'name', per_page: '1' });
      for (
        let page = first;
        ;
        page = await list(path, Object.fromEntries(new URL(page.navigation.next).searchParams))
      ) {
        names.push(...(page.items as { name: string }[]).map(({ name }) => name));
        if (page.navigation.next === null) return { names: names.toSorted(), until: first.received_until as string };
      }
    };
    const { names: all, until } = await read('2020-01-01');
    expect(all).toEqual((await items(path, { fields: 'name' })).map(({ name }) => name as string).toSorted());
    expect(Date.now() - Date.parse(until)).toBeGreaterThanOrEqual(30_000);
    await store.db.query(`UPDATE events SET received_at = $2::timestamptz - interval '1 ms' WHERE entity_id = $1`, [
      world.entity.id,
      until,
    ]);
    expect((await read(until)).names).toEqual([]);
    await insertSampleEvents(store.db, world.entity.id, [
      { appId: app.id, at: new Date('2026-10-01T00:00:00Z'), name: 'Late', device: PHONE },
    ]);
    expect((await read(until)).names).toEqual(['Late']);
    await store.db.query(`DELETE FROM events WHERE entity_id = $1 AND name = 'Late'`, [world.entity.id]);
  });

  test('of a user, asked for with aliases, are also those of ids that became the user where an app says so', async () => {
    const [carla, early] = [personId(703), personId(704)];
    await insertEvents([
      { at: '2026-10-04T00:00:00Z', user: carla, name: 'Own' },
      { at: '2026-10-05T00:00:00Z', user: early, name: 'Earlier' },
      { at: '2026-10-06T00:00:00Z', device: 'anonymous-703', name: 'Anonymous' },
      { at: '2026-10-07T00:00:00Z', device: 'anonymous-703', user: BEN, name: 'Another person' },
      { at: '2026-10-08T00:00:00Z', user: 'refused-703', name: 'Refused' },
      { at: '2026-10-08T00:00:00Z', user: 'two-703', name: 'Of two' },
    ]);
    await store.db.query(
      `INSERT INTO user_aliases (entity_id, app_id, previous_id, user_id, decision) VALUES ($1, $2, $4, $3, NULL),
         ($1, $2, 'anonymous-703', $4, NULL), ($1, $2, 'refused-703', $3, 'refused'), ($1, $2, 'two-703', $3, NULL),
         ($1, $2, 'two-703', 'x', NULL), ($1, $5, 'elsewhere', $3, NULL)`,
      [world.entity.id, app.id, carla, early, other.id],
    );
    const names = async (query: Record<string, string>) =>
      (await items(`users/${encodeURIComponent(carla)}/events`, { fields: 'name', ...query })).map(({ name }) => name);
    expect(await names({})).toEqual(['Own']);
    expect(await names({ aliases: 'true' })).toEqual(['Own', 'Earlier', 'Anonymous']);
    const first = await list(`users/${encodeURIComponent(carla)}/events`, { aliases: 'true', per_page: '2' });
    expect([first.total_items, (await follow(first.navigation.next)).items]).toMatchObject([
      3,
      [{ name: 'Anonymous' }],
    ]);
    await store.db.query(
      `DELETE FROM events WHERE entity_id = $1 AND happened_at BETWEEN '2026-10-03T12:00Z' AND '2026-10-09Z'`,
      [world.entity.id],
    );
    await recountTracked(store.db);
  });

  test('of what is not there, or from a date that is none', async () => {
    const said = async (path: string, query?: Record<string, string>) => {
      const { status, body } = await call(path, query);
      return [status, body.status, body.error_message];
    };
    expect(await said('apps/app_none/events')).toEqual([404, 'not_found', 'App not found']);
    expect(await said(`apps/${app.identifier}/devices/none/events`)).toEqual([404, 'not_found', 'Device not found']);
    expect(await said(`apps/${other.identifier}/devices/${TABLET}/events`)).toEqual([
      404,
      'not_found',
      'Device not found',
    ]);
    expect(await said('users/nobody/events')).toEqual([404, 'not_found', 'User not found']);
    expect(await said(events(), { segment_ids: 'seg_none' })).toEqual([404, 'not_found', "Couldn't find Segment"]);
    expect(await said(events(), { since_date: 'yesterday' })).toEqual([400, 'bad_request', 'Wrong date format']);
    expect(await said(`users/${encodeURIComponent(ANNE)}/events`, { until_date: '2026-02-30' })).toEqual([
      400,
      'bad_request',
      'Wrong date format',
    ]);
  });

  test('reading them is written down: of an app, or of each person asked for', async () => {
    const {
      rows: [{ last } = { last: 0 }],
    } = await store.db.query<{ last: number }>('SELECT max(id) AS last FROM audit_log');
    await list(events());
    await list(events(), { user_ids: `${ANNE},${BEN}`, device_ids: PHONE });
    await list(`users/${encodeURIComponent(ANNE)}/events`);
    const { rows } = await store.db.query<{ kind: string; hash: Buffer | null }>(
      'SELECT subject_kind AS kind, customer_hash AS hash FROM audit_log WHERE entity_id = $1 AND id > $2 ORDER BY id',
      [world.entity.id, last],
    );
    const hash = (type: 'user_id' | 'device_id', id: string) => store.secrets.customerHash(world.entity.id, type, id);
    expect(rows).toEqual([
      { kind: 'app', hash: null },
      { kind: 'customer', hash: hash('user_id', ANNE) },
      { kind: 'customer', hash: hash('user_id', BEN) },
      { kind: 'customer', hash: hash('device_id', PHONE) },
      { kind: 'customer', hash: hash('user_id', ANNE) },
    ]);
  });
});

test('sessions come in order of time, filtered, with their app', async () => {
  const path = `apps/${app.identifier}/sessions`;
  await store.db.query(
    `UPDATE sessions SET ended_at = started_at + interval '90.9 s', background_seconds = 30, country = 'FR', lang = 'fr',
       app_version = '1.2', utc_offset = 120, sdk_version = '4.5', os_version = '17.1', device_type = 'ios', device_model = 'iPhone14,2',
       idiom = 'phone', carrier = 'Orange' WHERE entity_id = $1 AND app_id = $2`,
    [world.entity.id, app.id],
  );
  expect(await items(path)).toEqual([
    {
      session_id: expect.any(String),
      application_id: app.identifier,
      device_id: PHONE,
      user_id: ANNE,
      app_version: '1.2',
      sdk_version: '4.5',
      os_version: '17.1',
      start_date_utc: '2026-10-02T00:00:00.000Z',
      start_date_tz: '2026-10-02T02:00:00.000+02:00',
      end_date_utc: '2026-10-02T00:01:30.900Z',
      end_date_tz: '2026-10-02T02:01:30.900+02:00',
      duration: 60,
      timezone: 120,
      timeout: 120,
      device_type: 'ios',
      device_model: 'iPhone14,2',
      idiom: 'phone',
      country: 'FR',
      lang: 'fr',
      carrier: 'Orange',
    },
  ]);
  expect(await items(path, { fields: 'lang' })).toEqual([{ session_id: expect.any(String), lang: 'fr' }]);
  for (const [name, [right, wrong]] of Object.entries({
    device_ids: [PHONE, TABLET],
    user_ids: [ANNE, BEN],
    app_versions: ['1.2', '1'],
    countries: ['FR,DE', 'DE'],
    langs: ['fr', 'en'],
    since_date: ['2026-10-02', '2026-10-03'],
    until_date: ['2026-10-02', '2026-10-01'],
    received_since: ['2026-10-02', '2100-01-01'],
  })) {
    const totals = [await list(path, { [name]: right! }), await list(path, { [name]: wrong! })].map(
      (page) => page.total_items,
    );
    expect([name, ...totals]).toEqual([name, 1, 0]);
  }
});

test('devices come by their ids, with what is known of their users, sessions and crashes', async () => {
  const path = `apps/${app.identifier}/devices`;
  const now = new Date();
  await ensurePartitions(store.db, [now]);
  await sampleActivity(store.db, world.entity.id, { appId: app.id, deviceId: TABLET, userId: BEN, at: now });
  await store.db.query(
    `UPDATE sessions SET ended_at = started_at + interval '65.5 s', background_seconds = 5 WHERE entity_id = $1 AND device_id = $2`,
    [world.entity.id, TABLET],
  );
  await store.db.query(
    `UPDATE devices SET number_of_sessions = 2, number_of_crashes = 1, opt_in = true, opt_out = false, uninstalled = true, country = 'FR',
       lang = 'fr', app_version = '1.2', os_version = '17.1', sdk_version = '4.5', device_model = 'iPad13,1', device_type = 'ios',
       last_latitude = 48.85, last_longitude = -2.5, utc_offset = 60, first_campaign_received_at = '2026-10-30Z',
       last_campaign_received_at = '2026-10-31Z', received_at = '2026-11-01Z' WHERE entity_id = $1 AND device_id = $2`,
    [world.entity.id, TABLET],
  );
  const found = await items(path);
  expect(found.map(({ device_id: id }) => id)).toEqual([PHONE, TABLET]);
  expect(found[1]).toEqual({
    device_id: TABLET,
    application_id: app.identifier,
    current_user_id: BEN,
    users: [{ user_id: BEN }],
    last_user_id: BEN,
    segments: [],
    opt_in: true,
    opt_out: false,
    uninstalled: true,
    number_of_sessions: 2,
    number_of_sessions_30d: 1,
    total_session_duration: 60,
    total_session_duration_30d: 60,
    last_city: 'Paris',
    country_code: 'FR',
    language_code: 'fr',
    app_version: '1.2',
    os_version: '17.1',
    sdk_version: '4.5',
    device_model: 'iPad13,1',
    device_type: 'ios',
    last_location_latitude: 48.85,
    last_location_longitude: -2.5,
    timezone_offset: 60,
    number_of_crashes: 1,
    number_of_crashes_30d: 1,
    first_campaign_received_at: '2026-10-30T00:00:00.000Z',
    last_campaign_received_at: '2026-10-31T00:00:00.000Z',
    first_opened_app_at: now.toISOString(),
    last_opened_app_at: now.toISOString(),
    updated_at: '2026-11-01T00:00:00.000Z',
  });
  expect(found[0]).toMatchObject({
    opt_in: null,
    opt_out: null,
    timezone_offset: null,
    first_campaign_received_at: null,
  });
  expect(Object.keys(found[0]!)).toHaveLength(31);
  expect(await items(path, { fields: 'users:user_id', current_user_ids: `${ANNE},nobody` })).toEqual([
    { device_id: PHONE, application_id: app.identifier, users: [{ user_id: ANNE }] },
  ]);
  expect(await items(path, { updated_since: '2026-11-01T00:00:00.001Z', fields: 'segments:name' })).toEqual([
    { device_id: PHONE, application_id: app.identifier, segments: [] },
  ]);
  const first = await list(path, { per_page: '1', fields: 'device_id' });
  const next = await follow(first.navigation.next);
  expect([first.navigation.next.includes(PHONE), next.items, next.navigation.next]).toEqual([
    false,
    [{ device_id: TABLET, application_id: app.identifier }],
    null,
  ]);
  expect((await call(`${path}/${TABLET}`, { fields: 'last_city' })).body.result).toEqual({
    device_id: TABLET,
    application_id: app.identifier,
    last_city: 'Paris',
  });
  const { status, body } = await call(`${path}/none`);
  expect([status, body.error_message]).toEqual([404, 'Device not found']);
  for (const path of ['apps/app_none/devices', `apps/app_none/devices/${TABLET}`]) {
    expect((await call(path)).body).toMatchObject({
      success: false,
      status: 'not_found',
      error_message: "Couldn't find App",
    });
  }
});

test('locations come in order of time, filtered by exact degrees', async () => {
  const path = `apps/${app.identifier}/locations`;
  expect(await items(path, { until_date: '2026-10-03' })).toEqual([
    {
      location_id: expect.any(String),
      device_id: PHONE,
      application_id: app.identifier,
      latitude: 48.85,
      longitude: 2.35,
      session_id: expect.any(String),
      user_id: ANNE,
      date_utc: '2026-10-02T00:00:00.000Z',
    },
  ]);
  expect(await items(path, { latitude: '48.85', longitude: '2.35', device_ids: PHONE, fields: 'latitude' })).toEqual([
    { location_id: expect.any(String), latitude: 48.85 },
  ]);
  expect(await items(path, { latitude: '48.8' })).toEqual([]);
  expect(await items(path, { longitude: '2.3' })).toEqual([]);
  const [{ session_id: session }] = (await items(path)) as [{ session_id: string }];
  for (const [name, [right, wrong]] of Object.entries({
    session_ids: [`${session},none`, '0'],
    device_ids: [`${PHONE},none`, 'none'],
    since_date: ['2026-10-02', '2100-01-01'],
    received_since: ['2026-10-02', '2100-01-01'],
    until_date: ['2026-10-02T02:00:00+02:00', '2026-10-01'],
  })) {
    const totals = [await list(path, { [name]: right! }), await list(path, { [name]: wrong! })].map(
      (page) => page.total_items > 0,
    );
    expect([name, ...totals]).toEqual([name, true, false]);
  }
  const { status, body } = await call('apps/app_none/locations');
  expect([status, body.status, body.error_message]).toEqual([404, 'not_found', "Couldn't find App"]);
  expect((await call(path, { latitude: 'north' })).body.messages[0].element).toBe('latitude');
});

test('bad input is refused by its name, or leads to what the page of reading says, for lists and their files alike', async () => {
  const said = async (path: string, query: Record<string, string>) => {
    const { status, body } = await call(path, query);
    return [status, body.error_message, body.messages?.[0]?.element];
  };
  // Earlier than what came before it.
  await sampleActivity(store.db, world.entity.id, {
    appId: app.id,
    deviceId: 'late-701',
    userId: null,
    at: new Date('2026-09-20Z'),
  });
  await recountTracked(store.db);
  for (const [name, date] of [
    ['events', 'date_utc'],
    ['sessions', 'start_date_utc'],
    ['locations', 'date_utc'],
  ] as const) {
    for (const path of [`apps/${app.identifier}/${name}`, `apps/${app.identifier}/${name}_export.csv`]) {
      for (const end of ['since_date', 'until_date']) {
        for (const date of [
          '',
          'tomorrow',
          '2026-02-29',
          '2026-13-01T00:00:00Z',
          '1793491200',
          '2026-10-01T25:00:00Z',
          '+275760-09-13',
        ]) {
          expect([path, date, ...(await said(path, { [end]: date })).slice(0, 2)]).toEqual([
            path,
            date,
            400,
            'Wrong date format',
          ]);
        }
      }
      expect(await said(path, { fields: 'date' })).toEqual([
        400,
        expect.stringMatching('date_utc|start_date_utc'),
        'fields',
      ]);
    }
    const path = `apps/${app.identifier}/${name}`;
    const whole = await list(path);
    const dates = (whole.items as Record<string, string>[]).map((item) => item[date]!);
    expect([dates[0], dates]).toEqual(['2026-09-20T00:00:00.000Z', dates.toSorted()]);
    expect(dates.length).toBeGreaterThan(2);
    for (const [asked, ignored] of [
      ['page', '0'],
      ['page', '-1'],
      ['page', '1.5'],
      ['page', '1e3'],
      ['page', '1000001'],
      ['per_page', '0'],
      ['per_page', '10001'],
      ['per_page', 'all'],
    ] as const)
      expect(await list(path, { [asked]: ignored })).toEqual(whole);
    expect(await list(path, { page: '1000000' })).toMatchObject({
      items: [],
      item_count: 0,
      total_items: whole.total_items,
      navigation: { next: null },
    });
    expect(
      [whole, await list(path, { per_page: '1' }), await list(path, { per_page: '10000' })].map(perPageOf),
    ).toEqual(['1000', '1', '10000']);
    const reversed = { since_date: '2026-10-03', until_date: '2026-10-01' };
    expect(await list(path, reversed)).toMatchObject({ items: [], total_items: 0, total_pages: 0 });
    expect(await list(path, { since_date: '2026-10-02T00:00:00.001Z', until_date: '2026-10-02' })).toMatchObject({
      items: [],
      total_items: 0,
    });
    expect(await list(path, { since_date: '0001-01-01', until_date: '9999-12-31T23:59:59.999Z' })).toMatchObject({
      total_items: whole.total_items,
    });
  }
  expect(
    await list(events(), { group: 'true', fields: 'name', since_date: '2026-10-03', until_date: '2026-10-01' }),
  ).toMatchObject({ items: [], total_items: 0 });
  expect(await said(events(), { group: 'maybe' })).toEqual([400, expect.any(String), 'group']);
  const devices = `apps/${app.identifier}/devices`;
  const whole = await list(devices);
  expect(perPageOf(whole)).toBe('1000');
  for (const [asked, ignored] of [
    ['page', '-1'],
    ['page', '0'],
    ['per_page', '0'],
    ['per_page', '10001'],
    ['per_page', 'all'],
  ] as const) {
    expect(await list(devices, { [asked]: ignored })).toEqual(whole);
  }
  expect(await said(devices, { updated_since: 'today' })).toEqual([400, expect.any(String), 'updated_since']);
});

test('a filter takes as many ids as an address holds; a longer one is refused with the limit', async () => {
  const url = await server.app.listen({ port: 0, host: '127.0.0.1' });
  const ask = async (ids: string[]) => {
    const reply = await fetch(
      `${url}/api/${events()}?user_ids=${[...ids, encodeURIComponent(ANNE)].join(',')}&fields=name`,
      {
        headers: { authorization: `Token ${world.token}` },
      },
    );
    return {
      status: reply.status,
      body: (await reply.json()) as { result: { total_items: number }; error_message: string },
    };
  };
  const many = await ask(Array.from({ length: 2_500 }, (_, at) => `u${at}`));
  expect([many.status, many.body.result.total_items]).toEqual([200, 3]);
  const tooMany = await ask(Array.from({ length: 100_000 }, (_, at) => `user-${at}`));
  expect([tooMany.status, tooMany.body.error_message]).toEqual([
    431,
    'The address and the headers are larger than 16 KiB: ask for fewer values at once',
  ]);
});

describe('of segments', () => {
  const NUMBER = 700;
  /** So many are not looked up by their ids. Most have no device. */
  const MANY = 20_001;
  const [CARL, DORA] = [personId(711), personId(712)];
  let own: { id: number; identifier: string };
  /** Carl and a device that no user signed in on; a crowd and a device of several; people of another app's. */
  const segments: Record<'few' | 'crowd' | 'ofOther', { id: number; identifier: string }> = {} as never;

  /**
   * A phone whose only user was Carl; a tablet of Carl and Dora, last used by Dora; a watch of both, and neither used
   * it last; one that no user signed in on; and the crowd's.
   */
  beforeAll(async () => {
    const { db } = store;
    const entityId = world.entity.id;
    own = await write(db, (tx) => insertSampleApp(tx, entityId, 'com.example.segments'));
    const devices = async (ids: string[], users: (string | null)[]) => {
      await db.query(
        `INSERT INTO devices (entity_id, app_id, device_id, last_user_id, current_user_id, first_seen_at, last_seen_at)
         SELECT $1, $2, d, u, u, now(), now() FROM unnest($3::text[], $4::text[]) AS given (d, u)`,
        [entityId, own.id, ids, users],
      );
    };
    await devices(['carl-phone', 'both-tablet', 'both-watch', 'lone'], [null, DORA, null, null]);
    await db.query(
      `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at) SELECT $1, $2, d, u, now()
       FROM (VALUES ('carl-phone', $3), ('both-tablet', $3), ('both-tablet', $4), ('both-watch', $3), ('both-watch', $4)) AS v (d, u)`,
      [entityId, own.id, CARL, DORA],
    );
    const crowd = Array.from({ length: NUMBER }, (_, nth) => `crowd-${String(nth).padStart(4, '0')}`);
    // The higher the person, the lower the device.
    await devices(
      crowd,
      crowd.map((_, nth) => `zqperson-crowd-${String(NUMBER - nth).padStart(4, '0')}`),
    );
    const event = (name: string, device: string | null, user: string | null) =>
      db.query(
        `INSERT INTO events (entity_id, app_id, happened_at, device_id, user_id, log_type, name) VALUES ($1, $2, $3, $4, $5, 2, $6)`,
        [entityId, own.id, '2026-10-05T00:00:00Z', device, user, name],
      );
    await event('By Carl', null, CARL);
    await event('By Dora', 'carl-phone', DORA);
    await event('On the phone', 'carl-phone', null);
    await event('On the tablet', 'both-tablet', null);
    await event('On the watch', 'both-watch', null);
    await event('On the lone one', 'lone', null);
    await event('By nobody', null, null);
    const given = { appId: own.id, description: 'Who came' };
    segments.few = await insertSampleSegment(db, entityId, {
      ...given,
      name: 'Few',
      people: [`u${CARL}`, 'dlone', 'unot here'],
    });
    const people = Array.from({ length: MANY }, (_, nth) => `uzqperson-crowd-${String(nth + 1).padStart(4, '0')}`);
    segments.crowd = await insertSampleSegment(db, entityId, {
      appId: own.id,
      name: 'Crowd',
      people: [...people, 'dboth-watch'],
    });
    segments.ofOther = await insertSampleSegment(db, entityId, {
      appId: other.id,
      name: 'Other',
      people: [`u${DORA}`, 'dboth-watch'],
    });
    // As autovacuum does within a minute: of a table that it knows nothing of, the planner goes through an app's
    // devices for each member.
    await db.query('ANALYZE devices, device_users, segment_members');
  });

  const ids = async (path: string, query: Record<string, string> = {}) =>
    (await items(path, { per_page: '10000', ...query })).map(({ device_id: id }) => id);
  const names = async (segment: string) =>
    (await items(`apps/${own.identifier}/events`, { segment_ids: segment, fields: 'name' })).map(({ name }) => name);

  test("events and devices are those of its people, also of several segments, and of another app's", async () => {
    const { few, crowd, ofOther } = segments;
    const path = `apps/${own.identifier}/devices`;
    expect(await ids(path, { segment_ids: few.identifier })).toEqual(['carl-phone', 'lone']);
    expect(await ids(path, { segment_ids: ofOther.identifier })).toEqual(['both-tablet', 'both-watch']);
    expect(await ids(path, { segment_ids: `${few.identifier},${ofOther.identifier}` })).toEqual([
      'both-tablet',
      'both-watch',
      'carl-phone',
      'lone',
    ]);
    expect(await ids(path, { segment_ids: few.identifier, device_ids: 'lone,both-watch' })).toEqual(['lone']);
    expect(await list(path, { segment_ids: crowd.identifier, per_page: '1' })).toMatchObject({
      total_items: NUMBER + 1,
    });
    expect(await names(few.identifier)).toEqual(['By Carl', 'On the phone', 'On the lone one']);
    expect(await names(ofOther.identifier)).toEqual(['By Dora', 'On the watch']);
    expect(
      await items(`apps/${own.identifier}/events`, {
        segment_ids: `${few.identifier},${crowd.identifier}`,
        group: 'true',
        fields: 'device_id',
        until_date: '2026-10-06',
      }),
    ).toEqual([
      { count: 1, device_id: 'both-watch' },
      { count: 1, device_id: 'carl-phone' },
      { count: 1, device_id: 'lone' },
      { count: 1, device_id: null },
    ]);
    for (const list of ['events', 'devices']) {
      const { status, body } = await call(`apps/${own.identifier}/${list}`, {
        segment_ids: `${few.identifier},seg_none`,
      });
      expect([status, body.error_message]).toEqual([404, "Couldn't find Segment"]);
    }
    const { db } = store;
    await db.query(
      `UPDATE segments SET filters = '{"operator": "and", "blocks": []}', snapshot_at = NULL WHERE id = $1`,
      [few.id],
    );
    for (const [unready, given] of [
      [path, { segment_ids: few.identifier }],
      [`segments/${few.identifier}/devices`, {}],
    ] as const) {
      const { status, body } = await call(unready, given);
      expect([status, body.error_message]).toEqual([
        409,
        `The people of the segment ${few.identifier} are not found yet: try again in a moment`,
      ]);
    }
    const {
      body: { result: shown },
    } = await call(`${path}/lone`, { fields: 'segments:name' });
    expect(shown).toEqual({ device_id: 'lone', application_id: own.identifier, segments: [] });
    await db.query('UPDATE segments SET filters = NULL, snapshot_at = now() WHERE id = $1', [few.id]);
  });

  test('a device shows those of its app that its person is in, with what is asked for', async () => {
    const { few } = segments;
    const path = `apps/${own.identifier}/devices`;
    const shown = async (fields: string) => items(path, { device_ids: 'both-watch,carl-phone', fields });
    const of = (device: string, ...in_: object[]) => ({
      device_id: device,
      application_id: own.identifier,
      segments: in_,
    });
    const inCrowd = { segment_id: segments.crowd.identifier };
    for (const fields of ['segments', 'segments:segment_id']) {
      expect(await shown(fields)).toEqual([
        of('both-watch', inCrowd),
        of('carl-phone', { segment_id: few.identifier }),
      ]);
    }
    expect(await shown('segments,segments:name')).toEqual([
      of('both-watch', { ...inCrowd, name: 'Crowd' }),
      of('carl-phone', { segment_id: few.identifier, name: 'Few' }),
    ]);
    expect(await shown('segments:description,segments:name')).toEqual([
      of('both-watch', { ...inCrowd, name: 'Crowd', description: null }),
      of('carl-phone', { segment_id: few.identifier, name: 'Few', description: 'Who came' }),
    ]);
    expect((await call(`${path}/lone`, { fields: 'segments:name' })).body.result).toEqual(
      of('lone', { segment_id: few.identifier, name: 'Few' }),
    );
    expect((await call(`${path}/both-tablet`)).body.result.segments).toEqual([]);
  });

  test('its devices come by person, page by page, and are the same ones', async () => {
    const { few, crowd, ofOther } = segments;
    expect(await ids(`segments/${few.identifier}/devices`)).toEqual(['lone', 'carl-phone']);
    expect(
      await items(`segments/${few.identifier}/devices`, { fields: 'segments:name', current_user_ids: CARL }),
    ).toEqual([]);
    expect(await ids(`segments/${ofOther.identifier}/devices`)).toEqual([]);
    const path = `segments/${crowd.identifier}/devices`;
    expect(await items(path, { fields: 'segments:name', current_user_ids: 'zqperson-crowd-0001,none' })).toEqual([
      {
        device_id: 'crowd-0699',
        application_id: own.identifier,
        segments: [{ segment_id: crowd.identifier, name: 'Crowd' }],
      },
    ]);
    const first = await list(path, { per_page: '300', fields: 'device_id' });
    const found: string[] = [];
    for (let at = first; ; at = await follow(at.navigation.next)) {
      expect(at.total_items).toBe(NUMBER + 1);
      found.push(...at.items.map(({ device_id: id }: { device_id: string }) => id));
      if (at.navigation.next === null) break;
    }
    const inOrder = await ids(`apps/${own.identifier}/devices`, { segment_ids: crowd.identifier });
    expect([found[0], found[1], found.toSorted()]).toEqual(['both-watch', 'crowd-0699', inOrder]);
    expect(await ids(path, { updated_since: '2100-01-01' })).toEqual([]);
    const { status, body } = await call('segments/seg_none/devices');
    expect([status, body.status, body.error_message]).toEqual([404, 'not_found', "Couldn't find Segment"]);
    const {
      rows: [audited],
    } = await store.db.query<{ kind: string; subject: string }>(
      'SELECT subject_kind AS kind, subject FROM audit_log WHERE entity_id = $1 ORDER BY id DESC LIMIT 1',
      [world.entity.id],
    );
    expect(audited).toEqual({ kind: 'segment', subject: crowd.identifier });
  });
});
