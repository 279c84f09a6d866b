import { beforeAll, describe, expect, test } from 'vitest';
import { RIGHTS } from '../../../domain/accounts/rights.ts';
import { insertServiceToken } from '../../../store/accounts/service-tokens.ts';
import type { Cell } from '../../../domain/files/cell.ts';
import { insertEventDefinitions } from '../../../store/tracking/event-definitions.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { insertDeviceUsers, insertSampleEvents } from '../../harness/analytics/sample-events.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { rowsOfFile } from '../../harness/core/rows-of-file.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { sampleActivity } from '../../harness/tracking/sdk-samples.ts';
import { useServer } from '../http/use-server.ts';

const { store, server, world } = useServer();
let app: { id: number; identifier: string };
let other: { id: number; identifier: string };
let bought: number;

const day = (date: string): string => String(Date.parse(`${date}T00:00:00Z`) / 1_000);
const DAYS = { sd: day('2026-11-02'), ed: day('2026-11-04') };

const get = (path: string, query: Record<string, string> = {}, token = world.token) =>
  server.call('GET', `/api/${path}?${new URLSearchParams({ ...query, skip_email: 'true' }).toString()}`, { token });

/** What the file that was asked for holds, with its columns. */
async function fileOf(path: string, query: Record<string, string> = {}): Promise<Cell[][]> {
  const { status, body } = await get(path, query);
  expect([status, body.error_message]).toEqual([200, undefined]);
  return rowsOfFile(store, world.entity.id, body.result.callback as string);
}

const DAY_MS = 86_400_000;

/** An app in which something was bought at these times. */
async function appWithEvents(packageName: string, times: Date[]): Promise<{ identifier: string; event: string }> {
  const { id, identifier } = await insertSampleApp(store.db, world.entity.id, packageName);
  await ensurePartitions(store.db, times);
  const bought = { appId: id, name: 'Bought', user: 'u', detail: { of: 'x' } };
  await insertSampleEvents(
    store.db,
    world.entity.id,
    times.map((at) => ({ ...bought, at })),
  );
  await insertEventDefinitions(store.db, world.entity.id, id, [{ logType: 2, name: 'Bought' }]);
  const { rows } = await store.db.query<{ id: number }>('SELECT id FROM event_definitions WHERE app_id = $1', [id]);
  return { identifier, event: String(rows[0]!.id) };
}

const refusal = async (path: string, query: Record<string, string> = {}) => {
  const { status, body } = await get(path, query);
  return [status, body.status, body.error_message, ...(body.messages ? [body.messages[0].element] : [])];
};

beforeAll(async () => {
  app = await insertSampleApp(store.db, world.entity.id, 'com.example.usage');
  other = await insertSampleApp(store.db, world.entity.id, 'com.example.unused');
  await ensurePartitions(store.db, [new Date('2026-10-31'), new Date('2026-11-01'), new Date()]);
  for (const [at, deviceId, userId] of [
    ['2026-11-02T08:00:00Z', 'phone', 'anne'],
    ['2026-11-02T23:59:59.999Z', 'phone', null],
    ['2026-11-04T12:00:00Z', 'tablet', 'ben'],
    ['2026-11-05T00:00:00Z', 'watch', null],
  ] as const)
    await sampleActivity(store.db, world.entity.id, { appId: app.id, at: new Date(at), deviceId, userId });
  await insertDeviceUsers(store.db, world.entity.id, app.id, 'car', ['anne', 'ben']);
  const event = (at: string, more: object) => ({ appId: app.id, at: new Date(at), name: 'Bought', ...more });
  await insertSampleEvents(store.db, world.entity.id, [
    event('2026-11-03T00:00:00Z', { device: 'phone', detail: { of: 'shoes', price: 5 } }),
    event('2026-11-03T10:00:00Z', { device: 'phone', user: 'anne', detail: { of: 'shoes' } }),
    event('2026-11-03T11:00:00Z', { device: 'car', detail: 'a text' }),
    event('2026-11-03T11:00:00Z', { device: 'car', name: 'Viewed' }),
    event('2026-10-31T11:00:00Z', { user: 'ben', detail: { of: 'a hat' } }),
  ]);
  await insertEventDefinitions(store.db, world.entity.id, app.id, [{ logType: 2, name: 'Bought' }]);
  const { rows } = await store.db.query<{ id: number }>(`SELECT id FROM event_definitions WHERE name = 'Bought'`);
  bought = rows[0]!.id;
});

describe('what export-only files hold', () => {
  const performanceOf = ({ identifier }: { identifier: string }, ...days: number[][]) =>
    days.map((counts, at) => [identifier, `2026-11-0${at + 2}`, ...counts]);

  test('performance: of each app and day sessions, people, errors and new devices, in the order asked for', async () => {
    const rows = await fileOf('performance_export.csv', { apps: `${other.identifier},${app.identifier}`, ...DAYS });
    expect(rows).toEqual([
      ['application_id', 'date', 'sessions', 'people', 'crashes', 'new_devices'],
      ...performanceOf(other, [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]),
      ...performanceOf(app, [2, 1, 2, 1], [0, 0, 0, 0], [1, 1, 1, 1]),
    ]);
    expect(
      await fileOf(`apps/${app.identifier}/analytics/download_metrics`, { ...DAYS, apps: other.identifier }),
    ).toEqual([rows[0], ...performanceOf(app, [2, 1, 2, 1], [0, 0, 0, 0], [1, 1, 1, 1])]);
  });

  test('events: of each day and event hits, people and sessions', async () => {
    expect(await fileOf('events_export.xlsx', { app: app.identifier, ...DAYS })).toEqual([
      ['date', 'event_id', 'name', 'display_name', 'log_type', 'hits', 'people', 'sessions'],
      ['2026-11-02', null, 'Application Crashed', 'Application Crashed', 1, 2, 1, 2],
      ['2026-11-03', bought, 'Bought', 'Bought', 2, 3, 2, 0],
      ['2026-11-03', null, 'Viewed', 'Viewed', 2, 1, 1, 0],
      ['2026-11-04', null, 'Application Crashed', 'Application Crashed', 1, 1, 1, 1],
    ]);
    expect(await fileOf('events_export', { app: other.identifier })).toHaveLength(1);
    const [today, before, longBefore] = [0, 4, 7].map((days) => new Date(Date.now() - days * DAY_MS));
    const recent = await appWithEvents('com.example.recent', [today!, before!, longBefore!]);
    const rows = await fileOf('events_export', { app: recent.identifier });
    expect(rows.slice(1).map(([date]) => date)).toEqual([before, today].map((at) => at!.toISOString().slice(0, 10)));
  });

  test('details of an event: of each day, key and value hits, people and sessions', async () => {
    const event = { app: app.identifier, event_id: String(bought) };
    expect(await fileOf('event_details_export.xls', { ...event, ...DAYS })).toEqual([
      ['date', 'event_id', 'name', 'key', 'value', 'hits', 'people', 'sessions'],
      ['2026-11-03', bought, 'Bought', '', 'a text', 1, 1, 0],
      ['2026-11-03', bought, 'Bought', 'of', 'shoes', 2, 1, 0],
      ['2026-11-03', bought, 'Bought', 'price', '5', 1, 1, 0],
    ]);
    const month = Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth());
    const [last, first, ...outside] = [1, 6 * DAY_MS, 6 * DAY_MS + 1, -1].map((before) => new Date(month - before));
    const past = await appWithEvents('com.example.past', [last!, first!, ...outside]);
    const rows = await fileOf('event_details_export', { app: past.identifier, event_id: past.event });
    expect(rows.slice(1).map(([date, id, name]) => [date, id, name])).toEqual(
      [first, last].map((at) => [at!.toISOString().slice(0, 10), Number(past.event), 'Bought']),
    );
  });

  test('with aliases=true each counts as one person who an app says two ids are of', async () => {
    const at = new Date('2026-11-03T12:00:00Z');
    const { identifier, event } = await appWithEvents('com.example.aliases', [at]);
    const {
      rows: [row],
    } = await store.db.query<{ id: number }>('SELECT id FROM apps WHERE identifier = $1', [identifier]);
    const { id: appId } = row!;
    await insertSampleEvents(store.db, world.entity.id, [
      { appId, name: 'Bought', user: 'v', detail: { of: 'x' }, at },
    ]);
    for (const userId of ['u', 'v'])
      await sampleActivity(store.db, world.entity.id, { appId, at, deviceId: `of ${userId}`, userId });
    await store.db.query(
      `INSERT INTO user_aliases (entity_id, app_id, previous_id, user_id, decision)
       VALUES ($1, $2, 'v', 'u', 'confirmed')`,
      [world.entity.id, appId],
    );
    const peopleOf = async (path: string, query: Record<string, string>) => {
      const [header, ...rows] = await fileOf(path, { ...query, sd: day('2026-11-03'), ed: day('2026-11-03') });
      return rows
        .filter((cells) => !cells.includes('Application Crashed'))
        .map((cells) => cells[header!.indexOf('people')]);
    };
    for (const [path, query] of [
      ['performance_export', { apps: identifier }],
      [`apps/${identifier}/analytics/download_metrics`, {}],
      ['events_export', { app: identifier }],
      ['event_details_export', { app: identifier, event_id: event }],
    ] as const) {
      expect([path, await peopleOf(path, query), await peopleOf(path, { ...query, aliases: 'true' })]).toEqual([
        path,
        [2],
        [1],
      ]);
    }
  });

  test('occurrences of a crash: those of one UTC day', async () => {
    const {
      rows: [crash],
    } = await store.db.query<{ identifier: string }>('SELECT identifier FROM crashes WHERE app_id = $1', [app.id]);
    const path = `crashes/${crash!.identifier}/export_occurrences`;
    const rows = await fileOf(`${path}.csv`, { id: crash!.identifier, date: '2026-11-02' });
    expect(rows).toEqual([
      ['id', 'date'],
      [expect.stringMatching(/^\d+$/), '2026-11-02'],
      [expect.stringMatching(/^\d+$/), '2026-11-02'],
    ]);
    const missing = [400, 'bad_request', 'id or start_day not provided'];
    expect(await refusal(path, { id: crash!.identifier })).toEqual([...missing, 'date']);
    expect(await refusal(path, { date: '2026-11-02' })).toEqual([...missing, 'id']);
    expect(await refusal(path, { id: 'crs_other', date: '2026-11-02' })).toMatchObject([
      400,
      'bad_request',
      expect.anything(),
      'id',
    ]);
    expect(
      await refusal('crashes/crs_unknown/export_occurrences', { id: 'crs_unknown', date: '2026-11-02' }),
    ).toMatchObject([404, 'not_found', 'Crash not found']);
    const blind = await makeWorld(store, { rights: RIGHTS.filter((right) => right !== 'crashes_view'), admin: false });
    const { status, body } = await get(path, { id: crash!.identifier, date: '2026-11-02' }, blind.token);
    expect([status, body.error_message]).toEqual([404, 'You have no access to this app crash']);
  });
});

test('they go by mail by default: to the user who asks, and for a service token to its creator', async () => {
  const expiresAt = new Date(Date.now() + 60_000);
  const machine = await insertServiceToken(store.db, world.entity.id, {
    name: 'BI',
    rights: RIGHTS,
    createdBy: world.user.id,
    expiresAt,
  });
  rememberSecret(machine.token);
  for (const token of [world.token, machine.token]) {
    for (const [path, query] of [
      ['performance_export.csv', { ...DAYS, apps: app.identifier }],
      [`apps/${app.identifier}/analytics/download_metrics`, DAYS],
      ['events_export', { app: app.identifier }],
      ['event_details_export.csv', { app: app.identifier, event_id: String(bought) }],
    ] as const) {
      const search = new URLSearchParams({ ...query, skip_email: 'false' }).toString();
      const { body } = await server.call('GET', `/api/${path}?${search}`, { token });
      expect(body).toEqual({
        success: true,
        result: `The report is being generated and will be sent to ${world.user.email}`,
      });
    }
  }
});

test('a wrong request is refused by what is wrong with it', async () => {
  const ofApp = { app: app.identifier };
  const event = { ...ofApp, event_id: String(bought) };
  for (const [path, query] of [
    ['performance_export', { apps: app.identifier }],
    [`apps/${app.identifier}/analytics/download_metrics`, {}],
    ['events_export', ofApp],
    ['event_details_export.csv', event],
  ] as const) {
    expect(await refusal(path, { ...query, ed: DAYS.ed })).toMatchObject([404, '400', 'Missing start date']);
    expect(await refusal(path, { ...query, sd: DAYS.sd })).toMatchObject([404, '400', 'Missing end date']);
    expect(await refusal(path, { ...query, sd: '1793491201', ed: DAYS.ed })).toMatchObject([
      400,
      'bad_request',
      expect.anything(),
      'sd',
    ]);
    expect(await refusal(path, { ...query, sd: DAYS.ed, ed: DAYS.sd })).toMatchObject([
      400,
      'bad_request',
      expect.anything(),
      'ed',
    ]);
  }
  expect(await refusal('performance_export', { apps: app.identifier })).toMatchObject([
    404,
    '400',
    'Missing start date',
  ]);
  expect(await refusal('performance_export', DAYS)).toMatchObject([400, 'bad_request', expect.anything(), 'apps']);
  expect(await refusal('performance_export', { ...DAYS, apps: `${app.identifier},app_no` })).toEqual([
    404,
    'not_found',
    'App not found',
    'apps',
  ]);
  expect(await refusal('events_export', DAYS)).toMatchObject([400, 'bad_request', expect.anything(), 'app']);
  expect(await refusal('events_export', { app: 'app_no' })).toEqual([404, 'not_found', 'App not found', 'app']);
  expect(await refusal('event_details_export', ofApp)).toMatchObject([
    400,
    'bad_request',
    expect.anything(),
    'event_id',
  ]);
  expect(await refusal('event_details_export', { ...ofApp, event_id: 'Bought' })).toMatchObject([
    400,
    'bad_request',
    expect.anything(),
    'event_id',
  ]);
  expect(await refusal('event_details_export', { ...ofApp, event_id: '2147483647' })).toEqual([
    404,
    'not_found',
    'Event not found',
    'event_id',
  ]);
  expect((await refusal('events_export.ods', ofApp))[0]).toBe(400);
});
