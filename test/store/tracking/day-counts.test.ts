import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { countUsage } from '../../../store/analytics/usage-lists.ts';
import { write } from '../../../store/core/database.ts';
import type { KnownBy } from '../../../store/gdpr/personal-data-location.ts';
import { ensurePartitions, keepRetention, foldDayCounts } from '../../../store/tracking/event-partitions.ts';
import { events, locations, sessionHeads, sessions } from '../../../store/tracking/personal-data.ts';
import { INSERT_CALLS } from '../../../store/tracking/insert-calls.ts';
import type { AppCall } from '../../../store/tracking/app-call.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { sampledRuns } from '../../harness/run/seed.ts';
import {
  ingestHeld,
  makeTrackedWorld,
  sampleCall,
  sampleEvent,
  takeIn,
  type TrackedWorld,
} from '../../harness/tracking/tracked-calls.ts';
import { recountTracked } from '../../harness/tracking/recount-tracked.ts';

const DAY_MS = 86_400_000;
/** Five minutes before a month ends, so that a session may begin in either. */
const EDGE = Date.UTC(2026, 9, 31, 23, 55);
const LISTS = ['events', 'sessions', 'locations'] as const;
const always = () => true;
const dateOf = (at: number | undefined) => (at === undefined ? undefined : new Date(at));

let store: TestStore;

beforeAll(async () => {
  store = await testStore();
});

type Totals = Record<(typeof LISTS)[number], number>;
type Asked = { appIds: number[] | null; since?: Date | undefined; until?: Date | undefined };

async function totals(entityId: number, asked: Asked): Promise<Totals> {
  const found = {} as Totals;
  for (const list of LISTS) found[list] = await countUsage(store.db, list, entityId, { ...asked, oneOf: {} });
  return found;
}

async function counted(entityId: number, { appIds, since, until }: Asked): Promise<Totals> {
  const { rows } = await store.db.query<Totals>(
    `SELECT ${LISTS.map((list) => {
      const at = list === 'sessions' ? 'started_at' : 'happened_at';
      return `(SELECT count(*) FROM ${list} WHERE entity_id = $1 AND ($2::integer[] IS NULL OR app_id = ANY ($2))
      AND ${at} >= $3 AND ${at} <= $4) AS ${list}`;
    }).join(', ')}`,
    [entityId, appIds, since ?? '-infinity', until ?? 'infinity'],
  );
  return rows[0]!;
}

const DEVICES = 3;
type Step =
  | {
      kind: 'ingest';
      app: number;
      calls: { minute: number; device: number; user: number | null; message: number; located: boolean }[];
    }
  | { kind: 'erase'; user: number }
  | { kind: 'retain'; day: number }
  | { kind: 'drop' }
  | { kind: 'fold'; batch: number };

const minute = fc.oneof(fc.integer({ min: -6, max: 6 }), fc.integer({ min: -4_000, max: 4_000 }));
const ingest: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('ingest' as const),
  app: fc.nat(1),
  calls: fc.array(
    fc.record({
      minute,
      device: fc.nat(DEVICES - 1),
      user: fc.option(fc.nat(2)),
      message: fc.nat(40),
      located: fc.boolean(),
    }),
    { minLength: 1, maxLength: 12 },
  ),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: ingest, weight: 5 },
  { arbitrary: fc.record({ kind: fc.constant('erase' as const), user: fc.nat(2) }), weight: 1 },
  { arbitrary: fc.record({ kind: fc.constant('retain' as const), day: fc.integer({ min: -3, max: 3 }) }), weight: 1 },
  { arbitrary: fc.constant({ kind: 'drop' as const }), weight: 1 },
  { arbitrary: fc.record({ kind: fc.constant('fold' as const), batch: fc.integer({ min: 1, max: 5 }) }), weight: 2 },
);
const moment = fc.option(
  fc.oneof(
    minute.map((at) => EDGE + at * 60_000 + 1),
    fc.integer({ min: -3, max: 4 }).map((day) => Math.floor(EDGE / DAY_MS) * DAY_MS + day * DAY_MS),
  ),
  { nil: undefined },
);
const period = fc.record({ since: moment, until: moment, apps: fc.constantFrom('one', 'both', 'all') });

async function take(world: TrackedWorld, apps: number[], run: number, given: Step & { kind: 'ingest' }): Promise<void> {
  await takeIn(
    store,
    world,
    given.calls.map(({ minute: at, device, user, message, located }, index) =>
      sampleCall(world, {
        index,
        appId: apps[given.app]!,
        messageId: `${run} ${message}`,
        deviceId: `phone-${run}-${device}`,
        happenedAt: EDGE + at * 60_000,
        userId: user === null ? null : personId(run * 10 + user),
        sessionTimeout: 600,
        ...(located && { context: { latitude: 1, longitude: 2 }, event: index % 2 === 0 ? null : sampleEvent('Seen') }),
      }),
    ),
  );
}

/** Up to so many days from the edge the entity keeps nothing. */
async function retain({ entity }: TrackedWorld, now: number): Promise<void> {
  await store.db.query('UPDATE entities SET data_retention_in_months = CASE WHEN id = $1 THEN 3 ELSE 12 END', [
    entity.id,
  ]);
  await keepRetention(store.db, new Date(now), always);
}

it('totals are those of count(*), whatever comes in, comes late or twice, is erased, goes by retention or is folded', async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 3, maxLength: 9 }),
      fc.array(period, { minLength: 3, maxLength: 3 }),
      async (steps, periods) => {
        run += 1;
        const world = await makeTrackedWorld(store);
        const { id: entityId } = world.entity;
        const apps = [world.app.id, (await insertSampleApp(store.db, entityId, `com.example.other${run}`)).id];
        for (const each of steps) {
          if (each.kind === 'ingest') await take(world, apps, run, each);
          if (each.kind === 'fold') await foldDayCounts(store.db, always, each.batch);
          if (each.kind === 'retain') await retain(world, Date.UTC(2027, 0, 31 + each.day));
          // of October for all, of November for this one
          if (each.kind === 'drop') await retain(world, Date.UTC(2027, 10, 2));
          if (each.kind === 'erase') {
            const people: KnownBy[] = [{ customerType: 'user_id', customerId: personId(run * 10 + each.user) }];
            for (const location of [sessionHeads, sessions, events, locations])
              await location.erase!(store, entityId, people);
          }
          for (const { since, until, apps: asked } of [
            { since: undefined, until: undefined, apps: 'one' },
            ...periods,
          ]) {
            const appIds = asked === 'all' ? null : asked === 'both' ? apps : [apps[0]!];
            const filter = { appIds, since: dateOf(since), until: dateOf(until) };
            expect(await totals(entityId, filter)).toEqual(await counted(entityId, filter));
          }
        }
      },
    ),
    { numRuns: sampledRuns(20), endOnFailure: true },
  );
});

it('a person with more rows than one transaction deletes is taken off the counts', async () => {
  const { entity, app } = await makeTrackedWorld(store);
  await ensurePartitions(store.db, [EDGE]);
  await store.db.query(
    `INSERT INTO events (entity_id, app_id, happened_at, log_type, name, user_id)
     SELECT $1, $2, $3::timestamptz - n * interval '1 minute', 2, 'Tapped', 'u' || n / 20100 FROM generate_series(1, 20500) n`,
    [entity.id, app.id, new Date(EDGE)],
  );
  await recountTracked(store.db);
  const asked = { appIds: [app.id] };
  expect((await totals(entity.id, asked)).events).toBe(20_500);
  await events.erase!(store, entity.id, [{ customerType: 'user_id', customerId: 'u0' }]);
  expect((await totals(entity.id, asked)).events).toBe(401);
});

it('calls that come at once wait for no count, and a total is exact while counts are folded', async () => {
  const world = await makeTrackedWorld(store);
  const { id: entityId } = world.entity;
  await ensurePartitions(store.db, [EDGE]);
  const batch = (device: string): AppCall[] =>
    Array.from({ length: 20 }, (_, index) =>
      sampleCall(world, {
        index,
        messageId: `${device} ${index}`,
        deviceId: device,
        happenedAt: EDGE + index,
        event: sampleEvent('Seen'),
      }),
    );
  const total = async () => (await totals(entityId, { appIds: [world.app.id] })).events;

  await takeIn(store, world, batch('before'));
  const first = await store.db.connect();
  await first.query(`BEGIN;${INSERT_CALLS.settings}`);
  await ingestHeld(first, store.secrets, entityId, batch('first'));
  await write(store.db, (tx) => ingestHeld(tx, store.secrets, entityId, batch('second')), INSERT_CALLS);
  await foldDayCounts(store.db, always);
  expect(await total()).toBe(40);
  await first.query('COMMIT');
  first.release();
  expect(await total()).toBe(60);

  for (let device = 0; device < 40; device += 1) await takeIn(store, world, batch(`phone ${device}`));
  let isFolded = false;
  const folding = foldDayCounts(store.db, always, 2).finally(() => {
    isFolded = true;
  });
  const seen = new Set<number>();
  while (!isFolded) seen.add(await total());
  await folding;
  expect([...seen]).toEqual([860]);
  expect((await store.db.query('SELECT FROM tracked_counts WHERE entity_id = $1', [entityId])).rowCount).toBe(1);
});
