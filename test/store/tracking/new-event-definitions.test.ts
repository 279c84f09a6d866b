import { beforeAll, expect, test } from 'vitest';
import type { LogType } from '../../../domain/tracking/call.ts';
import { openDatabase, write } from '../../../store/core/database.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { setLabels } from '../../../store/apps/labels.ts';
import { deleteExcessCrashes } from '../../../store/tracking/crashes.ts';
import { insertNewDefinitions } from '../../../store/tracking/event-definitions.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import {
  makeTrackedWorld,
  sampleCall,
  type SampleCall,
  sampleEvent,
  takeIn,
  type TrackedWorld,
} from '../../harness/tracking/tracked-calls.ts';

let store: TestStore;
let world: TrackedWorld;
let apps = 0;

beforeAll(async () => {
  store = await testStore();
  world = await makeTrackedWorld(store);
});

/** An app of its own, with what its calls define. */
async function newApp() {
  const app = await insertSampleApp(store.db, world.entity.id, `com.example.kinds${(apps += 1)}`);
  return {
    call: (name: string, given: SampleCall = {}, logType: LogType = 2) =>
      sampleCall({ ...world, app }, { ...given, event: sampleEvent(name, { logType }) }),
    appId: app.id,
    async names() {
      const { rows } = await store.db.query<{ name: string }>(
        'SELECT name FROM event_definitions WHERE entity_id = $1 AND app_id = $2 ORDER BY id',
        [world.entity.id, app.id],
      );
      return rows.map(({ name }) => name);
    },
    async events() {
      const { rows } = await store.db.query<{ name: string }>(
        'SELECT name FROM events WHERE entity_id = $1 AND app_id = $2 ORDER BY id',
        [world.entity.id, app.id],
      );
      return rows.map(({ name }) => name);
    },
  };
}

const define = (calls: ReturnType<typeof sampleCall>[], most?: number, db = store.db) =>
  insertNewDefinitions(db, store.secrets, world.entity.id, calls, most);

test('an app has so many definitions and no more, and further events are taken in all the same', async () => {
  const { call, names, events } = await newApp();
  await define(
    ['a', 'b'].map((name) => call(name)),
    3,
  );
  await define(
    ['b', 'd', 'c', 'a'].map((name) => call(name)),
    3,
  );
  expect(await names()).toEqual(['a', 'b', 'd']);
  await define(
    ['c', 'e'].map((name) => call(name)),
    3,
  );
  expect(await names()).toEqual(['d', 'c', 'e']);
  await define([call('a', {}, 1)], 3);
  expect(await names()).toEqual(['c', 'e', 'a']);
  expect(await takeIn(store, world, [call('c'), call('b')])).toEqual(['accepted', 'accepted']);
  expect(await events()).toEqual(['c', 'b']);
});

test('servers that define at once make no more than an app may have, and each kind once', async () => {
  const { call, names } = await newApp();
  const servers = [1, 2, 3].map(() => openDatabase({ url: store.url, max: 4 }));
  onFileEnd(async () => {
    for (const db of servers) await db.end();
  });
  await Promise.all(
    servers.flatMap((db, at) =>
      [0, 1, 2].map((nth) =>
        define(
          Array.from({ length: 10 }, (_, of) => call(`Event ${at * 4 + nth * 7 + of}`)),
          25,
          db,
        ),
      ),
    ),
  );
  expect(new Set(await names()).size).toBe(25);
  expect(await names()).toHaveLength(25);
});

test('what is known is looked up no more, and a new kind among them is still defined', async () => {
  const { call, names } = await newApp();
  let sessions = 0;
  const db = openDatabase({ url: store.url, max: 1 });
  onFileEnd(() => db.end());
  db.on('acquire', () => {
    sessions += 1;
  });
  await define([call('a'), call('b')], undefined, db);
  expect(sessions).toBeGreaterThan(0);
  const before = sessions;
  await define([call('b'), call('a'), call('b')], undefined, db);
  expect(sessions).toBe(before);
  await define([call('b'), call('b', {}, 3)], undefined, db);
  expect(await names()).toEqual(['a', 'b', 'b']);
});

test('somebody who was erased defines nothing', async () => {
  const { call, names } = await newApp();
  await insertTombstone(
    store.db,
    world.entity.id,
    store.secrets.customerHash(world.entity.id, 'user_id', personId(70)),
  );
  const calls = [call('Theirs', { userId: personId(70) }), call('Another', { userId: personId(71) })];
  expect(await takeIn(store, world, calls)).toEqual(['erased', 'accepted']);
  expect(await names()).toEqual(['Another']);
  await takeIn(store, world, [call('Theirs', { userId: personId(71) })]);
  expect(await names()).toEqual(['Another', 'Theirs']);
});

test('10,000 made-up names keep no new event out, and push out none that staff touched or that came on more days', async () => {
  const { call, names, appId } = await newApp();
  const most = 200;
  await define(
    ['Bought', 'Labelled', 'Goal', 'Daily', 'Seldom', 'Also seldom'].map((name) => call(name)),
    most,
  );
  const set = (name: string, change: string) =>
    store.db.query(`UPDATE event_definitions SET ${change} WHERE entity_id = $1 AND app_id = $2 AND name = $3`, [
      world.entity.id,
      appId,
      name,
    ]);
  await set('Bought', `display_name = 'Order'`);
  await set('Goal', 'goal = true');
  await set('Daily', 'last_seen_on = last_seen_on - 1');
  const {
    rows: [labelled],
  } = await store.db.query<{ id: number }>(
    `SELECT id FROM event_definitions WHERE entity_id = $1 AND app_id = $2 AND name = 'Labelled'`,
    [world.entity.id, appId],
  );
  await write(store.db, (tx) =>
    setLabels(tx, world.entity.id, { kind: 'event_definition', id: labelled!.id }, ['Shop']),
  );
  // Servers that know nothing yet: the event comes on a second day.
  const server = () => {
    const db = openDatabase({ url: store.url, max: 1 });
    onFileEnd(() => db.end());
    return db;
  };
  await define([call('Daily')], most, server());
  const flood = (from: number) =>
    define(
      Array.from({ length: 300 }, (_, n) => call(`made up ${from + n}`)),
      most,
      server(),
    );
  await flood(0);
  await flood(300);
  await define([call('Really new')], most, server());
  const known = await names();
  expect(known).toHaveLength(most);
  expect(known).toEqual(expect.arrayContaining(['Bought', 'Labelled', 'Goal', 'Daily', 'Really new']));
  expect(known).not.toContain('Seldom');
});

test('a flood of names replaces no more than 500 definitions in five minutes by one server', async () => {
  const { call, names } = await newApp();
  const db = openDatabase({ url: store.url, max: 1 });
  onFileEnd(() => db.end());
  const flood = (from: number) =>
    define(
      Array.from({ length: 300 }, (_, n) => call(`${from + n}`)),
      300,
      db,
    );
  await flood(0);
  const first = await names();
  for (const from of [1_000, 2_000, 3_000]) await flood(from);
  expect(first).toHaveLength(300);
  const kept = (await names()).map(Number);
  expect(kept).toHaveLength(300);
  expect(kept.filter((name) => name < 2_000)).toHaveLength(100);
  expect(kept.filter((name) => name >= 3_000)).toEqual([]);
});

test('an app has so many kinds of errors, and those that came least give way', async () => {
  const { call, appId } = await newApp();
  const crash = (nth: number) => {
    const { event, ...error } = call('Application Crashed', { second: nth }, 1);
    return {
      ...error,
      event: { ...event!, fingerprint: nth.toString(16).padStart(64, '0'), crashTitle: `Kind ${nth}` },
    };
  };
  const come = async (calls: ReturnType<typeof crash>[]) => {
    await takeIn(store, world, calls);
    await deleteExcessCrashes(store.db, world.entity.id, calls, { most: 5, every: 10 });
  };
  const titles = async () =>
    (
      await store.db.query<{ title: string }>(
        'SELECT title FROM crashes WHERE entity_id = $1 AND app_id = $2 ORDER BY id',
        [world.entity.id, appId],
      )
    ).rows.map(({ title }) => title);
  await come([crash(1), crash(1), crash(2)]);
  await come([3, 4, 5, 6].map(crash));
  expect(await titles()).toHaveLength(6);
  await come([7, 8, 8].map(crash));
  expect(await titles()).toEqual(['Kind 1', 'Kind 5', 'Kind 6', 'Kind 7', 'Kind 8']);
  await come([crash(2)]);
  expect(await titles()).toContain('Kind 2');
  const { rows } = await store.db.query('SELECT FROM events WHERE entity_id = $1 AND app_id = $2', [
    world.entity.id,
    appId,
  ]);
  expect(rows).toHaveLength(11);
});
