import { beforeAll, expect, test } from 'vitest';
import { RIGHTS } from '../../../domain/accounts/rights.ts';
import { listEventValues } from '../../../store/analytics/event-values.ts';
import { raiseTombstones } from '../../../store/gdpr/tombstone-batches.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { insertEventDefinitions, updateEventDefinition } from '../../../store/tracking/event-definitions.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { useServer } from '../http/use-server.ts';

const { store, server, world } = useServer();
let app: { id: number; identifier: string };

const DAY = 86_400;
const [SECOND, THIRD, FOURTH] = [2, 3, 4].map((day) => Date.parse(`2026-11-0${day}T00:00:00Z`) / 1_000) as [
  number,
  number,
  number,
];
const get = (path: string, token = world.token) => server.call('GET', `/api/${path}`, { token });

/** [day of November, session, name] */
const EVENTS: [at: string, session: number, name: string][] = [
  ['01T12:00', 1, 'Viewed'],
  ['02T23:59', 2, 'Viewed'],
  ['03T00:00', 2, 'Viewed'],
  ['03T00:01', 2, 'Viewed'],
  ['03T08:00', 3, 'Viewed'],
  ['03T23:59', 4, 'Ordered'],
  ['04T00:00', 5, 'Ordered'],
];

beforeAll(async () => {
  app = await insertSampleApp(store.db, world.entity.id, 'com.example.counts');
  await ensurePartitions(store.db, [new Date('2026-11-01')]);
  for (const [at, session, name] of EVENTS) {
    await store.db.query(
      `INSERT INTO events (entity_id, app_id, happened_at, session_id, user_id, log_type, name) VALUES ($1, $2, $3, $4, 'u', 2, $5)`,
      [world.entity.id, app.id, `2026-11-${at}:00Z`, session, name],
    );
  }
  await insertEventDefinitions(
    store.db,
    world.entity.id,
    app.id,
    ['Viewed', 'Ordered', 'Shared'].map((name) => ({ logType: 2, name })),
  );
  const {
    rows: [ordered],
  } = await store.db.query<{ id: number }>(`SELECT id FROM event_definitions WHERE name = 'Ordered'`);
  await updateEventDefinition(store.db, world.entity.id, app.id, ordered!.id, { displayName: 'Order', goal: true });
});

test('events are counted by definition and day, sessions once, with as many days before', async () => {
  const {
    body: { result },
  } = await get(`apps/${app.identifier}/analytics/events?sd=${SECOND}&ed=${THIRD}`);
  const [current, previous] = [
    [SECOND, THIRD],
    [SECOND - 2 * DAY, SECOND - DAY],
  ];
  const none = {
    current: { period: current, values: {}, sessions: 0 },
    previous: { period: previous, values: {}, sessions: 0 },
  };
  expect(result[app.identifier]).toMatchObject([
    {
      name: 'Viewed',
      display_name: 'Viewed',
      goal: false,
      labels: [],
      log_type: 2,
      hits: {
        current: { period: current, values: { [SECOND]: 1, [THIRD]: 3 }, sessions: 2 },
        previous: { period: previous, values: { [SECOND - DAY]: 1 }, sessions: 1 },
      },
    },
    {
      name: 'Ordered',
      display_name: 'Order',
      goal: true,
      hits: { current: { period: current, values: { [THIRD]: 1 }, sessions: 1 }, previous: none.previous },
    },
    { name: 'Shared', hits: none },
  ]);
  const only = await get(`apps/${app.identifier}/analytics/events?sd=${FOURTH}&ed=${FOURTH}&only_current=true`);
  const [, { hits }] = only.body.result[app.identifier];
  expect(hits).toEqual({ current: { period: [FOURTH, FOURTH], values: { [FOURTH]: 1 }, sessions: 1 } });
});

test('the days of an app are counted in events, sessions, people, crashes and new devices', async () => {
  const entity = [world.entity.id, app.id];
  await store.db.query(
    `INSERT INTO sessions (entity_id, app_id, started_at, ended_at, timeout, subject, device_id, user_id)
     SELECT $1, $2, at::timestamptz, at::timestamptz, 120, 'd' || device, device, person FROM (VALUES
       ('2026-11-02T12:00Z', 'phone', 'anne'), ('2026-11-03T12:00Z', 'phone', 'anne'), ('2026-11-03T13:00Z', 'phone', 'ben'),
       ('2026-11-03T14:00Z', 'tablet', NULL)) AS given (at, device, person)`,
    entity,
  );
  await store.db.query(
    `INSERT INTO tracked_counts (entity_id, app_id, day, events, sessions) VALUES ($1, $2, '2026-11-02', 1, 1),
       ($1, $2, '2026-11-03', 3, 2), ($1, $2, '2026-11-03', 1, 1)`,
    entity,
  );
  await store.db.query(
    `INSERT INTO devices (entity_id, app_id, device_id, first_seen_at, last_seen_at)
     VALUES ($1, $2, 'phone', '2026-11-02T12:00Z', now()), ($1, $2, 'tablet', '2026-11-03T14:00Z', now())`,
    entity,
  );
  const { body } = await get(`apps/${app.identifier}/analytics/days?sd=${THIRD}&ed=${FOURTH}`);
  const none = { events: 0, sessions: 0, people: 0, crashes: 0, new_devices: 0 };
  expect(body.result).toEqual({
    current: {
      days: [
        { date: '2026-11-03', events: 4, sessions: 3, people: 3, crashes: 0, new_devices: 1 },
        { date: '2026-11-04', ...none },
      ],
      people: 3,
    },
    previous: {
      days: [
        { date: '2026-11-01', ...none },
        { date: '2026-11-02', events: 1, sessions: 1, people: 1, crashes: 0, new_devices: 1 },
      ],
      people: 1,
    },
  });
  const fast = await get(
    `apps/${app.identifier}/analytics/days?sd=${THIRD}&ed=${THIRD}&only_current=true&people=false`,
  );
  expect(fast.body.result).toEqual({
    current: { days: [{ date: '2026-11-03', events: 4, sessions: 3, crashes: 0, new_devices: 1 }] },
  });
  expect(await get(`apps/${app.identifier}/analytics/days?ed=${THIRD}`)).toMatchObject({ status: 404 });
});

test('values of a detail are offered only if three people sent them, and none that names an erased person', async () => {
  await store.db.query(
    `INSERT INTO events (entity_id, app_id, happened_at, device_id, user_id, log_type, name, detail)
     SELECT $1, $2, '2026-11-04T10:00Z', device, person, 2, 'Rated', detail::jsonb FROM (VALUES
       ('d1', 'anne', '{"stars": 5, "by": "anne", "size": null}'), ('d2', 'ben', '{"stars": 5, "by": "anne", "size": null}'),
       ('d3', 'carla', '{"stars": 5, "by": "anne", "of": "carla"}'), ('d3', 'carla', '{"stars": 4, "by": "carla"}'),
       ('d4', 'carla', '{"stars": 4}'), (NULL, 'dora', '{"stars": 4, "by": "dora"}')) AS given (device, person, detail)`,
    [world.entity.id, app.id],
  );
  const query = `name=Rated&sd=${FOURTH}&ed=${FOURTH}`;
  const { body } = await get(`apps/${app.identifier}/analytics/event_values?${query}`);
  // "4" came from two people; "anne" is a text of three; what only carla sent stays hers, name and value.
  expect(body.result).toEqual({
    events: 6,
    is_whole: true,
    members: [
      { key: 'stars', events: 6, values: [{ value: '5', events: 3 }], other_values: 1 },
      { key: 'by', events: 5, values: [{ value: 'anne', events: 3 }], other_values: 2 },
    ],
  });
  await raiseTombstones(store, world.entity.id, [store.secrets.customerHash(world.entity.id, 'user_id', 'anne')]);
  const later = await get(`apps/${app.identifier}/analytics/event_values?${query}`);
  expect(later.body.result).toMatchObject({ members: [{ key: 'stars' }, { key: 'by', values: [], other_values: 3 }] });
  const none = await get(`apps/${app.identifier}/analytics/event_values?name=Rated&log_type=1`);
  expect(none.body.result).toEqual({ events: 0, is_whole: true, members: [] });
  const bounded = async (searched: number, read: number) => {
    const found = await listEventValues(
      store.db,
      world.entity.id,
      app.id,
      { logType: 2, name: 'Rated' },
      { from: new Date(THIRD * 1_000), until: new Date((FOURTH + DAY) * 1_000) },
      undefined,
      { searched, read },
    );
    return [found.events, found.isWhole];
  };
  expect(await bounded(100, 4)).toEqual([4, false]);
  expect(await bounded(3, 100)).toEqual([3, false]);
});

test('a period is refused by what is wrong with it', async () => {
  const answer = async (query: string) => {
    const { status, body } = await get(`apps/${app.identifier}/analytics/events?${query}`);
    return [status, body.status, body.messages?.[0].element ?? body.error_message];
  };
  expect(await answer(`ed=${THIRD}`)).toEqual([404, '400', 'Missing start date']);
  expect(await answer(`sd=${THIRD}`)).toEqual([404, '400', 'Missing end date']);
  expect(await answer(`sd=${THIRD + 1}&ed=${THIRD}`)).toEqual([400, 'bad_request', 'sd']);
  expect(await answer(`sd=2026-11-03&ed=${THIRD}`)).toEqual([400, 'bad_request', 'sd']);
  expect(await answer(`sd=${THIRD}&ed=${SECOND}`)).toEqual([400, 'bad_request', 'ed']);
  expect(await answer(`sd=${THIRD}&ed=${THIRD + 731 * DAY}`)).toEqual([400, 'bad_request', 'ed']);
});

test('a crash lists each of its occurrences, however many, to who may see crashes', async () => {
  const {
    rows: [crash],
  } = await store.db.query<{ id: number }>(
    `INSERT INTO crashes (entity_id, app_id, identifier, fingerprint, title, first_seen_at, last_seen_at, occurrences)
     VALUES ($1, $2, 'crs_counted', '\\x01', 'Crash', now(), now(), 2500) RETURNING id`,
    [world.entity.id, app.id],
  );
  await store.db.query(
    `INSERT INTO events (entity_id, app_id, happened_at, crash_id, user_id, log_type, name)
     SELECT $1, $2, timestamptz '2026-11-05' + n / 3 * interval '1 minute', $3, 'u', 1, 'Application Crashed'
     FROM generate_series(0, 2499) n`,
    [world.entity.id, app.id, crash!.id],
  );
  const { body } = await get('crashes/crs_counted/occurrences');
  expect(body).toMatchObject({ loading: [false], job_id: null, success: true });
  const found = body.result as unknown as { id: string; date: string }[];
  expect(new Set(found.map(({ id }) => id)).size).toBe(2_500);
  expect(
    found.filter(({ date }) => date === '2026-11-05').length + found.filter(({ date }) => date === '2026-11-06').length,
  ).toBe(2_500);
  expect(found.map(({ date }) => date)).toEqual(found.map(({ date }) => date).toSorted());
  expect(await get('crashes/crs_other/occurrences')).toMatchObject({
    status: 404,
    body: { success: false, status: 'not_found', error_message: 'Crash not found' },
  });
  const { token } = await makeWorld(store, {
    rights: RIGHTS.filter((right) => right !== 'crashes_view'),
    admin: false,
  });
  expect(await get('crashes/crs_counted/occurrences', token)).toMatchObject({
    status: 404,
    body: { success: false, status: 'not_found', error_message: 'You have no access to this app crash' },
  });
});

test('a crash shows its days, versions and devices, and a sample that can be read', async () => {
  const at = [world.entity.id, app.id];
  const {
    rows: [crash],
  } = await store.db.query<{ id: number }>(
    `INSERT INTO crashes (entity_id, app_id, identifier, fingerprint, title, first_seen_at, last_seen_at, occurrences)
     VALUES ($1, $2, 'crs_viewed', '\\x02', 'Out of memory', '2026-11-02', '2026-11-04', 4) RETURNING id`,
    at,
  );
  await store.db.query(
    `WITH given AS (SELECT * FROM (VALUES ('2026-11-02T10:00Z'::timestamptz, 'old', 'a', NULL, '1.0', 'Pixel'),
         ('2026-11-03T10:00Z', 'known', 'b', 'ben', '2.0', 'Pixel'), ('2026-11-03T11:00Z', 'known', 'c', NULL, '2.1', NULL),
         ('2026-11-04T10:00Z', 'gone', 'c', NULL, NULL, NULL)) AS given (at, kind, device, person, version, model)),
     begun AS (
       INSERT INTO sessions (entity_id, app_id, started_at, ended_at, timeout, subject, device_id, user_id, app_version, device_model)
       SELECT $1, $2, at - interval '1 hour', at, 120, 'd' || device, device, person, version, model FROM given WHERE kind <> 'gone'
       RETURNING id, ended_at, device_id)
     INSERT INTO events (entity_id, app_id, happened_at, session_id, crash_id, device_id, user_id, log_type, name, detail)
     SELECT $1, $2, g.at, coalesce(b.id, 0), $3, g.device, g.person, 1, 'Application Crashed', jsonb_build_object('stack', 'at ' || g.device)
     FROM given g LEFT JOIN begun b ON b.ended_at = g.at AND b.device_id = g.device`,
    [...at, crash!.id],
  );
  const { body } = await get(`crashes/crs_viewed?sd=${THIRD}&ed=${FOURTH}`);
  const unknown = { value: null, errors: 1, devices: 1 };
  expect(body.result).toMatchObject({
    identifier: 'crs_viewed',
    title: 'Out of memory',
    application_id: app.identifier,
    occurrences: 4,
    days: [
      { date: '2026-11-03', errors: 2 },
      { date: '2026-11-04', errors: 1 },
    ],
    looked_at: 3,
    devices: 2,
    app_versions: [{ value: '2.0', errors: 1, devices: 1 }, { value: '2.1', errors: 1, devices: 1 }, unknown],
    device_models: [
      { value: null, errors: 2, devices: 1 },
      { value: 'Pixel', errors: 1, devices: 1 },
    ],
  });
  const { sample_event_id: id } = body.result as unknown as { sample_event_id: string };
  const event = await get(`apps/${app.identifier}/events/${id}?fields=detail,device_id`);
  expect(event.body.result).toEqual({ event_id: id, device_id: 'c', detail: { stack: 'at c' } });
  const none = await get('crashes/crs_viewed?sd=0&ed=86400');
  expect(none.body.result).toMatchObject({ days: [{ errors: 0 }, { errors: 0 }], looked_at: 0, sample_event_id: null });
  for (const other of ['0', 'none', `${id}0`])
    expect(await get(`apps/${app.identifier}/events/${other}`)).toMatchObject({ status: 404 });
  const { token } = await makeWorld(store, {
    rights: RIGHTS.filter((right) => right !== 'crashes_view'),
    admin: false,
  });
  expect(await get('crashes/crs_viewed', token)).toMatchObject({ status: 403 });
});
