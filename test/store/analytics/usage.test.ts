import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { countAppDays, listAppDays, listEventCounts, listEventDetails } from '../../../store/analytics/usage.ts';
import type { Database } from '../../../store/core/database.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { insertMany, testStore, type TestStore } from '../../harness/core/database.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 9, 28);
const PERIOD = { from: new Date(START + 2 * DAY_MS), until: new Date(START + 6 * DAY_MS) };

let store: TestStore;

beforeAll(async () => {
  store = await testStore();
  await ensurePartitions(store.db, [START, START + 10 * DAY_MS]);
});

type Event = {
  at: number;
  name: string;
  device: string | null;
  user: string | null;
  session: number | null;
  detail: unknown;
};

const device = fc.constantFrom('phone', 'tablet', 'watch', null);
const user = fc.constantFrom('anne', 'ben', null);
const moment = fc
  .oneof(
    fc.integer({ min: 0, max: 8 * DAY_MS }),
    fc.integer({ min: 0, max: 8 }).map((day) => day * DAY_MS),
    fc.integer({ min: 1, max: 8 }).map((day) => day * DAY_MS - 1),
  )
  .map((offset) => START + offset);
const detail = fc.oneof(
  fc.constant(null),
  fc.constantFrom('a page', 'another'),
  fc.dictionary(
    fc.constantFrom('of', 'price'),
    fc.oneof(fc.constantFrom('shoes', null), fc.integer({ min: 1, max: 2 })),
    { maxKeys: 2 },
  ),
);
const events: fc.Arbitrary<Event[]> = fc.array(
  fc.record({
    at: moment,
    name: fc.constantFrom('Bought', 'Viewed'),
    device,
    user,
    session: fc.option(fc.integer({ min: 1, max: 4 })),
    detail,
  }),
  { maxLength: 40 },
);
/** A device that several users used is a person of its own. */
const deviceUsers = fc.uniqueArray(
  fc.tuple(fc.constantFrom('phone', 'tablet', 'watch'), fc.constantFrom('anne', 'ben', 'carla')),
  { selector: String, maxLength: 4 },
);

type Aliases = readonly (readonly [previous: string, user: string])[];
/**
 * Ids that staff have confirmed to be others by now: of a user, of a user who became another in turn, and of a device.
 */
const aliasesOf = fc.subarray<[string, string]>([
  ['anne', 'ben'],
  ['ben', 'dora'],
  ['phone', 'carla'],
]);

function personOf(
  users: readonly (readonly [string, string])[],
  row: Pick<Event, 'device' | 'user'>,
  aliases: Aliases = [],
): string | null {
  const seen = users.filter(([of]) => of === row.device);
  const user = row.user ?? (row.device !== null && seen.length === 1 ? seen[0]![1] : null);
  const id = user ?? row.device;
  if (id === null) return null;
  let became: string = id;
  for (let next; (next = aliases.find(([previous]) => previous === became)) !== undefined;) [, became] = next;
  return became !== id || user !== null ? `u${became}` : `d${id}`;
}

const distinct = (values: readonly (string | number | null)[]): number =>
  new Set(values.filter((value) => value !== null)).size;
const inPeriod = (at: number): boolean => at >= PERIOD.from.getTime() && at < PERIOD.until.getTime();
const dateOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

function grouped<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  return Map.groupBy(rows, keyOf);
}

let entityId = 1000;

async function insertAll(
  list: readonly Event[],
  users: readonly (readonly [string, string])[],
  aliases: Aliases,
): Promise<void> {
  entityId += 1;
  for (const [previous, became] of aliases) {
    await store.db.query(
      `INSERT INTO user_aliases (entity_id, app_id, previous_id, user_id, decision)
      VALUES ($1, 1, $2, $3, 'confirmed'), ($1, 2, $2, 'not ' || $3, 'confirmed')`,
      [entityId, previous, became],
    );
  }
  for (const [of, used] of users) {
    await store.db.query(`INSERT INTO device_users VALUES ($1, 1, $2, $3, now()), ($1, 2, $2, 'not ' || $3, now())`, [
      entityId,
      of,
      used,
    ]);
  }
  for (const appId of [1, 2]) {
    await store.db.query(
      `INSERT INTO events (entity_id, app_id, happened_at, session_id, device_id, user_id, log_type, name, detail)
       SELECT $1, $2, happened_at, session_id, device_id, user_id, 2, name, detail FROM unnest(
         $3::timestamptz[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::jsonb[])
         AS given (happened_at, session_id, device_id, user_id, name, detail)`,
      [
        entityId,
        appId,
        list.map(({ at }) => new Date(at)),
        list.map(({ session }) => session),
        list.map((event) => event.device),
        list.map((event) => event.user),
        list.map(({ name }) => name),
        list.map((event) => (event.detail === null ? null : JSON.stringify(event.detail))),
      ],
    );
  }
}

describe('what an app was used for', () => {
  it('counts events, people and sessions of a period by kind of event and by its details, as one counts by hand', async () => {
    await fc.assert(
      fc.asyncProperty(events, deviceUsers, aliasesOf, fc.boolean(), async (list, users, others, aliases) => {
        await insertAll(list, users, others);
        const asked = { ...PERIOD, aliases };
        const wanted = list.filter(({ at }) => inPeriod(at));
        const tally = (rows: readonly Event[]) => ({
          hits: rows.length,
          people: distinct(rows.map((row) => personOf(users, row, aliases ? others : []))),
          sessions: distinct(rows.map(({ session }) => session)),
        });
        const counts = await Array.fromAsync(listEventCounts(store.db, entityId, 1, asked));
        expect(counts).toEqual(
          [...grouped(wanted, ({ name }) => name)]
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .map(([name, rows]) => ({ eventId: null, name, displayName: null, logType: 2, ...tally(rows) })),
        );

        const entries = wanted
          .filter(({ name, detail: of }) => name === 'Bought' && of !== null)
          .flatMap((event) =>
            Object.entries(typeof event.detail === 'string' ? { '': event.detail } : (event.detail as object)).map(
              ([key, value]) => ({ key, value: value === null ? null : String(value), event }),
            ),
          );
        const details = await Array.fromAsync(
          listEventDetails(store.db, entityId, 1, { logType: 2, name: 'Bought' }, asked),
        );
        const expected = [...grouped(entries, ({ key, value }) => JSON.stringify([key, value])).values()].map(
          (rows) => ({ key: rows[0]!.key, value: rows[0]!.value, ...tally(rows.map(({ event }) => event)) }),
        );
        expect(details).toHaveLength(expected.length);
        expect(details).toEqual(expect.arrayContaining(expected));
      }),
      { numRuns: sampledRuns(40) },
    );
  });

  it('counts events, sessions, people, errors and devices first seen for each day, also for days without any', async () => {
    const seenFirst = fc.array(moment, { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(events, deviceUsers, seenFirst, aliasesOf, async (list, users, firstSeen, others) => {
        await insertAll([], users, others);
        const {
          rows: [crash],
        } = await store.db.query<{ id: number }>(
          `INSERT INTO crashes (entity_id, app_id, identifier, fingerprint, title, first_seen_at, last_seen_at, occurrences)
         VALUES ($1, 1, 'crash_' || $1::integer, '\\x00', 'Crashed', now(), now(), 0) RETURNING id`,
          [entityId],
        );
        for (const event of list) {
          await store.db.query(
            `INSERT INTO sessions (entity_id, app_id, started_at, ended_at, timeout, subject, device_id, user_id)
           VALUES ($1, 1, $2, $2, 120, 'any', $3, $4)`,
            [entityId, new Date(event.at), event.device, event.user],
          );
          await store.db.query(
            `INSERT INTO events (entity_id, app_id, happened_at, log_type, name, crash_id) VALUES ($1, 1, $2, $3, 'any', $4)`,
            [entityId, new Date(event.at), event.name === 'Bought' ? 1 : 2, event.name === 'Bought' ? crash!.id : null],
          );
          await store.db.query('INSERT INTO tracked_counts (entity_id, app_id, day, events) VALUES ($1, 1, $2, 1)', [
            entityId,
            dateOf(event.at),
          ]);
        }
        for (const [at, seen] of firstSeen.entries()) {
          await store.db.query(
            'INSERT INTO devices (entity_id, app_id, device_id, first_seen_at, last_seen_at) VALUES ($1, 1, $2, $3, $3)',
            [entityId, `device ${at}`, new Date(seen)],
          );
        }
        for (const aliases of [false, true]) {
          const asked = { ...PERIOD, aliases };
          const days = await Array.fromAsync(listAppDays(store.db, entityId, 1, asked));
          const counted = await countAppDays(
            store.db,
            entityId,
            1,
            { ...asked, withPeople: true },
            new AbortController().signal,
          );
          expect(counted).toEqual({
            days,
            people: distinct(
              list.filter(({ at }) => inPeriod(at)).map((row) => personOf(users, row, aliases ? others : [])),
            ),
          });
          expect(days).toEqual(
            ['2026-10-30', '2026-10-31', '2026-11-01', '2026-11-02'].map((date) => {
              const rows = list.filter(({ at }) => dateOf(at) === date);
              return {
                date,
                events: rows.length,
                sessions: rows.length,
                people: distinct(rows.map((row) => personOf(users, row, aliases ? others : []))),
                crashes: rows.filter(({ name }) => name === 'Bought').length,
                newDevices: firstSeen.filter((at) => dateOf(at) === date).length,
              };
            }),
          );
        }
      }),
      { numRuns: sampledRuns(25) },
    );
  });

  it('is read from the days asked for alone, by keys', async () => {
    await insertMany(
      store.db,
      `INSERT INTO events (entity_id, app_id, happened_at, log_type, name, device_id)
       SELECT 7, 1, '2026-10-01'::timestamptz + i * interval '30 seconds', 2, 'Tapped', 'phone' FROM generate_series(1, 100000) i`,
    );
    // Of a table with a few rows any index will do, once it is analyzed.
    await store.db.query(
      `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
       SELECT 7, 1, 'device ' || i, 'user ' || i, now() FROM generate_series(1, 10000) i`,
    );
    await store.db.query('ANALYZE events, device_users');
    const plans = [
      await planOf((db) => listAppDays(db, 7, 1, PERIOD)),
      await planOf((db) => listEventCounts(db, 7, 1, PERIOD)),
      await planOf((db) => listEventDetails(db, 7, 1, { logType: 2, name: 'Tapped' }, PERIOD)),
    ];
    for (const plan of plans) {
      expect(plan).not.toContain('Seq Scan');
      expect(plan).toMatch(/device_users_pkey/);
    }
    expect(plans[0]).toMatch(/Index (Only )?Scan using devices_first_seen/);
    for (const plan of plans.slice(1))
      expect(plan).toMatch(/Index Scan using events_2026_1[01]_pkey.*\n.*Index Cond: .*happened_at >= /);
  });
});

/** Of the one statement that is read. */
async function planOf(reading: (db: Database) => AsyncGenerator<unknown>): Promise<string> {
  let plan = '';
  const tx = await store.db.connect();
  const query = async (text: string, values?: unknown[]) => {
    if (text.startsWith('DECLARE')) {
      const { rows } = await tx.query<Record<string, string>>(text.replace(/^.*? FOR /, 'EXPLAIN '), values);
      plan = rows.map((line) => line['QUERY PLAN']).join('\n');
    }
    return tx.query(text, values);
  };
  const release = (error?: Error) => {
    tx.release(error);
  };
  await Array.fromAsync(reading({ connect: async () => ({ query, release }) } as unknown as Database));
  return plan;
}
