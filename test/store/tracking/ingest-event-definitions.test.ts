import { beforeAll, expect, test } from 'vitest';
import type { LogType } from '../../../domain/tracking/tracked-call.ts';
import { openDatabase } from '../../../store/core/database.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { insertNewDefinitions } from '../../../store/tracking/ingest-event-definitions.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import {
  makeTrackedWorld, sampleCall, type SampleCall, sampleEvent, takeIn, type TrackedWorld,
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
  const app = await insertSampleApp(store.db, world.entity.id, `com.example.kinds${apps += 1}`);
  return {
    call: (name: string, given: SampleCall = {}, logType: LogType = 2) =>
      sampleCall({ ...world, app }, { ...given, event: sampleEvent(name, { logType }) }),
    async names() {
      const { rows } = await store.db.query<{ name: string }>(
        'SELECT name FROM event_definitions WHERE entity_id = $1 AND app_id = $2 ORDER BY id', [world.entity.id, app.id]);
      return rows.map(({ name }) => name);
    },
    async events() {
      const { rows } = await store.db.query<{ name: string }>(
        'SELECT name FROM events WHERE entity_id = $1 AND app_id = $2 ORDER BY id', [world.entity.id, app.id]);
      return rows.map(({ name }) => name);
    },
  };
}

const define = (calls: ReturnType<typeof sampleCall>[], most?: number, db = store.db) =>
  insertNewDefinitions(db, store.secrets, world.entity.id, calls, most);

test('an app has so many definitions and no more, and further events are taken in all the same', async () => {
  const { call, names, events } = await newApp();
  await define(['a', 'b'].map((name) => call(name)), 3);
  await define(['b', 'd', 'c', 'a'].map((name) => call(name)), 3);
  expect(await names()).toEqual(['a', 'b', 'd']);
  await define(['c', 'e'].map((name) => call(name)), 3);
  await define([call('a', {}, 1)], 3);
  expect(await names()).toEqual(['a', 'b', 'd']);
  expect(await takeIn(store, world, [call('c'), call('a')])).toEqual(['accepted', 'accepted']);
  expect(await events()).toEqual(['c', 'a']);
});

test('servers that define at once make no more than an app may have, and each kind once', async () => {
  const { call, names } = await newApp();
  const servers = [1, 2, 3].map(() => openDatabase({ url: store.url, max: 4 }));
  onFileEnd(async () => { for (const db of servers) await db.end(); });
  await Promise.all(servers.flatMap((db, at) => [0, 1, 2].map((nth) =>
    define(Array.from({ length: 10 }, (_, of) => call(`Event ${at * 4 + nth * 7 + of}`)), 25, db))));
  expect(new Set(await names()).size).toBe(25);
  expect(await names()).toHaveLength(25);
});

test('what is known is looked up no more, and a new kind among them is still defined', async () => {
  const { call, names } = await newApp();
  let sessions = 0;
  const db = openDatabase({ url: store.url, max: 1 });
  onFileEnd(() => db.end());
  db.on('acquire', () => { sessions += 1; });
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
  await insertTombstone(store.db, world.entity.id, store.secrets.customerHash(world.entity.id, 'user_id', personId(70)));
  const calls = [call('Theirs', { userId: personId(70) }), call('Another', { userId: personId(71) })];
  expect(await takeIn(store, world, calls)).toEqual(['erased', 'accepted']);
  expect(await names()).toEqual(['Another']);
  await takeIn(store, world, [call('Theirs', { userId: personId(71) })]);
  expect(await names()).toEqual(['Another', 'Theirs']);
});
