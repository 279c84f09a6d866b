import { beforeAll, expect, test } from 'vitest';
import { RIGHTS } from '../../../domain/accounts/rights.ts';
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
