import { Readable } from 'node:stream';
import { parquetReadObjects } from 'hyparquet';
import { beforeAll, describe, expect, it } from 'vitest';
import { parquetOf } from '../../../activities/exports/type-files.ts';
import { exportColumns } from '../../../domain/exports/export-columns.ts';
import { EXPORT_DATA_TYPES } from '../../../domain/exports/export-data-type.ts';
import type { ExportScope } from '../../../store/exports/export-sources.ts';
import { insertDeviceUsers } from '../../harness/analytics/sample-events.ts';
import { insertSampleSegment } from '../../harness/analytics/segments.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { exportedRows, readExported } from '../../harness/exports/exported-rows.ts';
import {
  makeTrackedWorld,
  type SampleCall,
  sampleCall,
  sampleEvent,
  takeIn,
  type TrackedWorld,
} from '../../harness/tracking/tracked-calls.ts';

let store: TestStore;
let world: TrackedWorld;

beforeAll(async () => {
  store = await testStore();
  world = await makeTrackedWorld(store);
  await takeIn(
    store,
    world,
    CALLS.map((given) => call(given)),
  );
});

const call = (given: SampleCall, of: TrackedWorld = world) => sampleCall(of, given);

const TRICKY = 'a "quote", a comma;\r\na line\n\\. \u{1F600} é \t\\N';

const CALLS: SampleCall[] = [
  {
    deviceId: personId(1),
    userId: personId(2),
    second: 1.5,
    event: sampleEvent(TRICKY, {
      detail: { z: 'last', a: 1.5, nested: { list: [1, null, 'x"y'] }, nil: null, flag: true, '': 'no key', empty: '' },
    }),
    context: {
      appVersion: '1.2',
      sdkVersion: '3',
      osVersion: '17.1',
      deviceType: 'ios',
      deviceModel: 'iPhone14,2',
      idiom: 'phone',
      country: 'FR',
      lang: 'fr',
      carrier: 'O2, "the" one',
      utcOffset: -570,
      city: 'Paris',
      latitude: 48.8566,
      longitude: 2.5,
      pushToken: 'token',
      optIn: true,
      optOut: false,
    },
  },
  { deviceId: personId(1), userId: personId(3), second: 61, event: sampleEvent('Plain', { detail: 'only; a "text"' }) },
  {
    deviceId: personId(1),
    second: 63.25,
    event: sampleEvent('Application Crashed', {
      logType: 1,
      fingerprint: 'ab'.repeat(32),
      crashTitle: 'Out of memory',
      detail: [1, 2],
    }),
  },
  {
    deviceId: null,
    userId: personId(4),
    second: 2,
    event: sampleEvent('Served', { detail: null }),
    context: { utcOffset: 60 },
  },
];

const scopeOf = (of: TrackedWorld, changes: Partial<ExportScope> = {}): ExportScope => ({
  entityId: of.entity.id,
  apps: [of.app],
  sors: [of.sor],
  format: 'csv',
  window: { kind: 'received', start: null, end: new Date(Date.now() + 60_000) },
  ...changes,
});

async function column(text: string): Promise<string[]> {
  const { rows } = await store.db.query<{ value: string }>(`SELECT (${text})::text AS value`);
  return rows.map(({ value }) => value);
}

const idOf = async (table: string, condition: string) =>
  (await column(`SELECT id FROM ${table} WHERE entity_id = ${world.entity.id} AND ${condition}`))[0]!;

const row = async (type: Parameters<typeof exportedRows>[1], at: number) =>
  (await exportedRows(store.db, type, scopeOf(world)))[at];

describe('what is exported', () => {
  it('of events is all of their fields but the detail', async () => {
    const session = await idOf('sessions', `device_id = '${personId(1)}'`);
    expect(await exportedRows(store.db, 'logs', scopeOf(world))).toEqual([
      {
        event_id: await idOf('events', `user_id = '${personId(2)}'`),
        log_type: '2',
        name: TRICKY,
        date_utc: '2026-11-03T10:00:01.500Z',
        date_tz: '2026-11-03T00:30:01.500-09:30',
        user_id: personId(2),
        device_id: personId(1),
        session_id: session,
        application_id: world.app.identifier,
      },
      expect.objectContaining({
        name: 'Served',
        date_tz: '2026-11-03T11:00:02.000+01:00',
        user_id: personId(4),
        device_id: null,
      }),
      expect.objectContaining({
        name: 'Plain',
        date_utc: '2026-11-03T10:01:01.000Z',
        date_tz: null,
        user_id: personId(3),
        session_id: session,
      }),
      expect.objectContaining({
        name: 'Application Crashed',
        log_type: '1',
        date_utc: '2026-11-03T10:01:03.250Z',
        user_id: null,
      }),
    ]);
  });

  it('of their details is a row an entry, of a plain one a row without a key', async () => {
    const rows = await exportedRows(store.db, 'details', scopeOf(world));
    const event_id = await idOf('events', `user_id = '${personId(2)}'`);
    expect(rows.slice(0, 7)).toEqual(
      [
        ['', 'no key'],
        ['a', '1.5'],
        ['z', 'last'],
        ['nil', null],
        ['flag', 'true'],
        ['empty', ''],
        ['nested', '{"list": [1, null, "x\\"y"]}'],
      ].map(([key, value]) => ({ event_id, key, value })),
    );
    expect(rows.slice(7).map(({ key, value }) => [key, value])).toEqual([
      ['', 'only; a "text"'],
      ['', '[1, 2]'],
    ]);
  });

  it('of a session is all but the carrier, unless that is asked for', async () => {
    const {
      rows: [found],
    } = await store.db.query<{ id: number }>('SELECT id FROM sessions WHERE carrier IS NOT NULL');
    const expected = {
      session_id: String(found!.id),
      application_id: world.app.identifier,
      device_id: personId(1),
      user_id: personId(3),
      app_version: '1.2',
      sdk_version: '3',
      os_version: '17.1',
      start_date_utc: '2026-11-03T10:00:01.500Z',
      start_date_tz: '2026-11-03T00:30:01.500-09:30',
      end_date_utc: '2026-11-03T10:01:03.250Z',
      end_date_tz: '2026-11-03T00:31:03.250-09:30',
      duration: '61',
      timezone: '-570',
      timeout: '120',
      device_type: 'ios',
      device_model: 'iPhone14,2',
      idiom: 'phone',
      country: 'FR',
      lang: 'fr',
    };
    expect(await exportedRows(store.db, 'sessions', scopeOf(world))).toContainEqual(expected);
    expect(await exportedRows(store.db, 'sessions_with_carrier', scopeOf(world))).toContainEqual({
      ...expected,
      carrier: 'O2, "the" one',
    });
  });

  it('of a session leaves the time in the background out of its duration', async () => {
    const other = await makeTrackedWorld(store);
    const moved = (name: string, second: number, transition: 'background' | 'foreground' | null) =>
      call({ second, event: sampleEvent(name, { logType: transition ? 3 : 2, transition }) }, other);
    await takeIn(store, other, [
      moved('Tapped', 0, null),
      moved('Application Backgrounded', 10, 'background'),
      moved('Application Opened', 70, 'foreground'),
      moved('Tapped', 75.9, null),
    ]);
    const [session] = await exportedRows(store.db, 'sessions', scopeOf(other));
    expect(session).toMatchObject({ duration: '15', end_date_utc: '2026-11-03T10:01:15.900Z' });
  });

  it('of a place is where it was, and whose', async () => {
    expect(await row('locations', 0)).toEqual({
      location_id: await idOf('locations', 'true'),
      device_id: personId(1),
      application_id: world.app.identifier,
      latitude: '48.8566',
      longitude: '2.5',
      session_id: await idOf('sessions', `device_id = '${personId(1)}'`),
      user_id: personId(2),
      date_utc: '2026-11-03T10:00:01.500Z',
    });
  });

  it('of an error is its kind, and the versions of its session', async () => {
    const [kind] = await column(`SELECT identifier FROM crashes WHERE entity_id = ${world.entity.id}`);
    expect(await exportedRows(store.db, 'crashes', scopeOf(world))).toEqual([
      {
        crash_id: kind,
        date: '2026-11-03T10:01:03.250Z',
        device_id: personId(1),
        user_id: null,
        app_version: '1.2',
        os_version: '17.1',
        session_id: await idOf('sessions', `device_id = '${personId(1)}'`),
      },
    ]);
  });

  it('of a device is what it is now, its users and segments, and what it did before the end of the window', async () => {
    const other = await insertSampleApp(store.db, world.entity.id, 'com.example.other-segments');
    const segments: string[] = [];
    for (const [appId, name] of [
      [world.app.id, 'Buyers'],
      [world.app.id, 'Readers'],
      [other.id, 'Others'],
    ] as const) {
      const people = [`u${personId(3)}`, `d${personId(1)}`];
      segments.push((await insertSampleSegment(store.db, world.entity.id, { appId, name, people })).identifier);
    }
    const end = new Date('2026-12-03T10:01:00.000Z');
    const [device] = await exportedRows(
      store.db,
      'devices',
      scopeOf(world, { window: { kind: 'received', start: null, end } }),
    );
    expect(device).toEqual({
      device_id: personId(1),
      application_id: world.app.identifier,
      current_user_id: personId(3),
      users: `${personId(2)};${personId(3)}`,
      last_user_id: personId(3),
      segments: `${segments[0]};${segments[1]}`,
      opt_in: 'true',
      opt_out: 'false',
      uninstalled: 'false',
      number_of_sessions: '1',
      // The session began over 30 days before, its error happened within them.
      number_of_sessions_30d: '0',
      total_session_duration: '61',
      total_session_duration_30d: '0',
      last_city: 'Paris',
      country_code: 'FR',
      language_code: 'fr',
      app_version: '1.2',
      os_version: '17.1',
      sdk_version: '3',
      device_model: 'iPhone14,2',
      device_type: 'ios',
      last_location_latitude: '48.8566',
      last_location_longitude: '2.5',
      timezone_offset: '-570',
      number_of_crashes: '1',
      number_of_crashes_30d: '1',
      first_campaign_received_at: null,
      last_campaign_received_at: null,
      first_opened_app_at: '2026-11-03T10:00:01.500Z',
      last_opened_app_at: '2026-11-03T10:01:03.250Z',
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
  });

  it('is the same as lines of JSON, with numbers, booleans and nothing left out', async () => {
    const scope = scopeOf(world, { format: 'jsonl' });
    for (const type of EXPORT_DATA_TYPES) {
      const lines = (await readExported(store.db, type, scope)).text.split('\n').slice(0, -1);
      const rows = lines.map((line) => JSON.parse(line) as Record<string, string | number | boolean | null>);
      const texts = rows.map(({ user_ids: _, ...read }) =>
        Object.fromEntries(Object.entries(read).map(([name, value]) => [name, value?.toString() ?? null])),
      );
      expect(texts).toEqual(await exportedRows(store.db, type, scopeOf(world)));
      for (const read of rows) expect(Object.keys(read)).toEqual(exportColumns(type, 'jsonl'));
    }
    const [device] = (await readExported(store.db, 'devices', scope)).text
      .split('\n')
      .map((line) => JSON.parse(line || 'null') as unknown);
    expect(device).toMatchObject({
      user_ids: [personId(2), personId(3)],
      opt_in: true,
      last_location_latitude: 48.8566,
      number_of_sessions: 1,
      total_session_duration: 61,
    });
  });

  it('gives the users of a device back as a list, whatever stands in their ids', async () => {
    const other = await makeTrackedWorld(store);
    const users = ['a;b', ';', 'c,"d"', 'é\u{1F600}'].toSorted();
    await store.db.query(
      `INSERT INTO devices (entity_id, app_id, device_id, first_seen_at, last_seen_at, received_at)
       VALUES ($1, $2, 'shared', now(), now(), now())`,
      [other.entity.id, other.app.id],
    );
    await insertDeviceUsers(store.db, other.entity.id, other.app.id, 'shared', users);
    const read = async (format: ExportScope['format']) =>
      (await readExported(store.db, 'devices', scopeOf(other, { format }))).text;
    expect((JSON.parse(await read('jsonl')) as { user_ids: string[] }).user_ids.toSorted()).toEqual(users);
    const bytes = Buffer.concat(
      await Array.fromAsync(parquetOf('devices', Readable.from([Buffer.from(await read('parquet'))]))),
    );
    const [device] = await parquetReadObjects({ file: Uint8Array.from(bytes).buffer });
    expect((device!['user_ids'] as string[]).toSorted()).toEqual(users);
  });

  it('is of the entity and of the apps asked for, and of no others', async () => {
    const other = await makeTrackedWorld(store);
    const second = { ...other, app: await insertSampleApp(store.db, other.entity.id, 'com.example.second') };
    const event = sampleEvent('Crash', { logType: 1, fingerprint: 'cd'.repeat(32), detail: 'x' });
    const told = { context: { latitude: 1, longitude: 2 }, event };
    await takeIn(store, other, [call(told, other), call({ ...told, deviceId: personId(7) }, second)]);
    for (const type of EXPORT_DATA_TYPES.filter(
      (name) => !['attributes', 'campaign_results_per_user'].includes(name),
    )) {
      expect((await readExported(store.db, type, scopeOf(other))).rows).toBe(1);
      expect((await readExported(store.db, type, scopeOf(second, { apps: [other.app, second.app] }))).rows).toBe(2);
      expect((await readExported(store.db, type, scopeOf(second, { entityId: world.entity.id }))).rows).toBe(0);
      expect((await readExported(store.db, type, scopeOf(other, { apps: [] }))).rows).toBe(0);
    }
    const both = await exportedRows(store.db, 'logs', scopeOf(second, { apps: [other.app, second.app] }));
    expect(both.map(({ application_id: app, device_id: device }) => [app, device])).toEqual([
      [other.app.identifier, personId(1)],
      [second.app.identifier, personId(7)],
    ]);
  });
});
