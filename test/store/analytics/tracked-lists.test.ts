import { beforeAll, expect, it } from 'vitest';
import { returnedFields, type UsageListName } from '../../../domain/analytics/usage-lists.ts';
import { countFunnel, exploreFunnel, type FunnelQuery } from '../../../store/analytics/funnel-stats.ts';
import { countFiltered } from '../../../store/analytics/segment-counts.ts';
import type { ResolvedFilter, SegmentQuery } from '../../../store/analytics/segment-sql.ts';
import {
  countUsage,
  findHighestId,
  listGrouped,
  listUsage,
  type PageStart,
  type UsageFilter,
} from '../../../store/analytics/usage-lists.ts';
import { listTimeline } from '../../../store/analytics/person-timeline.ts';
import { findAudience } from '../../../store/campaigns/audience.ts';
import type { Database } from '../../../store/core/database.ts';
import type { Person } from '../../../store/gdpr/tombstones.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { insertMany, testStore, type TestStore, vacuum } from '../../harness/core/database.ts';
import { recountTracked } from '../../harness/tracking/recount-tracked.ts';

const ENTITY = 7;
const APP = 1;
const MONTHS = [6, 7, 8, 9].map((month) => Date.UTC(2026, month));
const [SINCE, UNTIL] = [new Date('2026-09-03T11:00:00Z'), new Date('2026-09-20T13:00:00Z')];

let store: TestStore;

/**
 * Half of all is of one of three apps, and a tenth of another entity; a device has some 30 events, and every other one
 * a user.
 */
beforeAll(async () => {
  store = await testStore();
  await ensurePartitions(store.db, MONTHS);
  const given = (rows: number) => `(
    SELECT CASE n % 10 WHEN 0 THEN ${ENTITY + 1} ELSE ${ENTITY} END AS entity_id, (ARRAY[1, 2, 1, 3])[1 + n % 4] AS app_id,
       timestamptz '2026-07-01' + n * interval '120 days' / ${rows} AS at, 'device-' || hashint4(n % 2003) AS device,
    CASE WHEN n % 2003 % 2 = 0 THEN 'user-' || hashint4(n % 2003) END AS user_id, n FROM generate_series(1, ${rows}) n) AS given`;
  await insertMany(
    store.db,
    `
    INSERT INTO events (entity_id, app_id, happened_at, session_id, log_type, name, device_id, user_id, detail)
      SELECT entity_id, app_id, at, n / 5, 2, 'Event ' || n % 11, device, user_id, '{"of": "shoes"}' FROM ${given(60_000)};
    INSERT INTO sessions (entity_id, app_id, started_at, ended_at, timeout, subject, device_id, user_id, country)
      SELECT entity_id, app_id, at, at, 120, 'd' || device, device, user_id, 'FR' FROM ${given(20_000)};
    INSERT INTO locations (entity_id, app_id, happened_at, session_id, latitude, longitude, device_id, user_id)
      SELECT entity_id, app_id, at, n, n % 90, n % 180, device, user_id FROM ${given(20_000)};
    INSERT INTO devices (entity_id, app_id, device_id, last_user_id, current_user_id, first_seen_at, last_seen_at, received_at)
      SELECT entity_id, app_id, 'phone-' || n, 'user-' || n, 'user-' || n, at, at, at FROM ${given(20_000)};
    INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
      SELECT entity_id, app_id, device_id, last_user_id, last_seen_at FROM devices`,
  );
  await recountTracked(store.db);
  for (const table of ['events', 'sessions', 'locations', 'devices', 'device_users', 'tracked_counts']) {
    await vacuum(store.db, table);
  }
});

/** The plans of all statements that are run, each as one text. */
async function plansOf(work: (db: Database) => Promise<unknown>): Promise<string[]> {
  const plans: string[] = [];
  const explaining = (run: TestStore['db']['query']) =>
    (async (text: string, values?: unknown[]) => {
      const statement = text.startsWith('DECLARE') ? text.replace(/^.*? FOR /s, '') : text;
      if (/^\s*(SELECT|WITH)/.test(statement)) {
        const { rows } = await (run as Database['query'])<Record<string, string>>(`EXPLAIN ${statement}`, values);
        plans.push(rows.map((line) => line['QUERY PLAN']).join('\n'));
      }
      return (run as Database['query'])(text, values);
    }) as Database['query'];
  const connect = async () => {
    const tx = await store.db.connect();
    return {
      query: explaining(tx.query.bind(tx) as Database['query']),
      release: (error?: Error) => {
        tx.release(error);
      },
    };
  };
  await work({ query: explaining(store.db.query.bind(store.db)), connect } as unknown as Database);
  return plans;
}

const APP_ALONE: UsageFilter = { appIds: [APP], oneOf: {} };
const IN_SEPTEMBER = { ...APP_ALONE, since: SINCE, until: UNTIL };

async function page(
  list: UsageListName,
  filter: UsageFilter,
  start: PageStart = { offset: 0 },
  newestFirst = false,
): Promise<string> {
  const fields = returnedFields(list, undefined, false);
  const plans = await plansOf((db) =>
    Array.fromAsync(listUsage(db, list, ENTITY, filter, { fields, start, newestFirst, limit: 101 })),
  );
  expect(plans).toHaveLength(1);
  return plans[0]!;
}

async function onlyPlan(work: (db: Database) => Promise<unknown>): Promise<string> {
  const plans = await plansOf(work);
  expect(plans).toHaveLength(1);
  return plans[0]!;
}

/** Plans that name no table of another month. */
const ofMonths = (months: string) => new RegExp(`^(?:(?!_2026_(?!${months})\\d\\d).)*$`, 's');

it.each(['events', 'sessions', 'locations'] as const)(
  '%s are read by keys, from the months asked for alone',
  async (list) => {
    const by = (index: string) => new RegExp(`Index Scan using ${list}_2026_\\d\\d_${index}`);
    const cursor = { after: ['2026-09-05Z', '30000'], upTo: await findHighestId(store.db, list) };
    const first = await page(list, APP_ALONE);
    const [next, ofTime] = [await page(list, APP_ALONE, cursor), await page(list, IN_SEPTEMBER)];
    for (const plan of [first, next, ofTime]) {
      expect(plan).toMatch(by('pkey'));
      expect(plan).not.toMatch(/Seq Scan|Sort/);
    }
    expect(next).toMatch(ofMonths('09|10'));
    const newest = await page(list, APP_ALONE, { offset: 0 }, true);
    const older = await page(list, APP_ALONE, { after: ['2026-08-05Z', '30000'], upTo: cursor.upTo }, true);
    for (const plan of [newest, older]) {
      expect(plan).toMatch(new RegExp(`Index Scan Backward using ${list}_2026_\\d\\d_pkey`));
      expect(plan).not.toMatch(/Seq Scan|Sort/);
    }
    expect(older).toMatch(ofMonths('07|08'));
    expect(ofTime).toMatch(ofMonths('09'));

    const ofUser = { ...IN_SEPTEMBER, oneOf: { user_id: ['user-5', 'user-6'] } };
    const ofDevice = { ...APP_ALONE, oneOf: { device_id: ['device-5', 'device-6'] } };
    for (const plan of [await page(list, ofUser), await onlyPlan((db) => countUsage(db, list, ENTITY, ofUser))]) {
      expect(plan).toMatch(/Index Scan (using|on) \w+_user_id_/);
      expect(plan).toMatch(ofMonths('09'));
      expect(plan).not.toMatch('Seq Scan');
    }
    for (const plan of [await page(list, ofDevice), await onlyPlan((db) => countUsage(db, list, ENTITY, ofDevice))]) {
      expect(plan).toMatch(/Index Scan (using|on) \w+_(device_id|subject)_/);
      expect(plan).not.toMatch('Seq Scan');
    }

    const late = { ...APP_ALONE, updatedSince: new Date(Date.now() + 86_400_000) };
    for (const plan of [await page(list, late), await onlyPlan((db) => countUsage(db, list, ENTITY, late))]) {
      expect(plan).toMatch(/Bitmap Index Scan on \w+_received/);
      expect(plan).not.toMatch('Seq Scan');
    }

    const total = await onlyPlan((db) => countUsage(db, list, ENTITY, IN_SEPTEMBER));
    expect(total).toMatch(/Index Cond: .*day >= '2026-09-04'::date\) AND \(day < '2026-09-20'::date/);
    // what lies before and after whole days
    expect(total.match(new RegExp(`(on|using) ${list}_2026_09_pkey`, 'g'))).toHaveLength(2);
    expect(total).not.toMatch('Seq Scan');
    const all = await onlyPlan((db) => countUsage(db, list, ENTITY, APP_ALONE));
    expect(all).toMatch('tracked_counts');
    expect(all).not.toMatch(list);
  },
);

it('events by session or name are read from the app and time asked for, and so are groups', async () => {
  for (const filter of [{ session_id: [7_000] }, { name: ['Event 3'] }, { name: ['none'] }]) {
    const asked = { ...IN_SEPTEMBER, oneOf: filter };
    for (const plan of [await page('events', asked), await onlyPlan((db) => countUsage(db, 'events', ENTITY, asked))]) {
      expect(plan).toMatch(/events_2026_09_pkey.*\n.*Index Cond: .*app_id = 1.*happened_at >= .*happened_at <= /);
      expect(plan).toMatch(ofMonths('09'));
      expect(plan).not.toMatch('Seq Scan');
    }
  }
  const groups = await onlyPlan((db) =>
    Array.fromAsync(listGrouped(db, ENTITY, IN_SEPTEMBER, { fields: ['name'], offset: 0, limit: 10 })),
  );
  expect(groups).toMatch(/Index Scan using events_2026_09_pkey.*\n.*Index Cond: .*happened_at >= /);
  expect(groups).toMatch(ofMonths('09'));
  const ofUser = await page('events', { appIds: null, oneOf: { user_id: ['user-5'] } });
  expect(ofUser).toMatch(/_user_id_happened_at_idx/);
  expect(ofUser).not.toMatch('Seq Scan');
});

it('devices are read by their ids, or by who uses them', async () => {
  const plans = {
    first: await page('devices', APP_ALONE),
    next: await page('devices', APP_ALONE, { after: ['phone-5'], upTo: null }),
    ofUser: await page('devices', { ...APP_ALONE, oneOf: { current_user_id: ['user-9'] } }),
    total: await onlyPlan((db) => countUsage(db, 'devices', ENTITY, APP_ALONE)),
  };
  for (const plan of Object.values(plans)) {
    expect(plan).not.toMatch('Seq Scan');
    expect(plan).toMatch(/Index (Only )?Scan using devices_(pkey|first_seen)/);
  }
  expect(plans.next).toMatch(/Index Cond: .*device_id > 'phone-5'/);
  expect(plans.ofUser).toMatch('device_users_by_user');
});

it('no event or device of a small app beside a large one is compared with each other one', async () => {
  const appId = 9;
  const period = { from: SINCE, until: UNTIL };
  const kind = { appId, logType: 2, name: 'Event 3' } as const;
  const query: FunnelQuery = {
    ...period,
    events: [{ ...kind, steps: [0, 1], breaksAfter: [] }],
    details: [[], []],
    maxSeconds: 60,
    aliases: false,
    sample: null,
    breakdown: null,
  };
  const counted: ResolvedFilter = { on: 'events', ...kind, details: null, operator: 'at_least', count: 2, period };
  const segment: SegmentQuery = {
    appId,
    now: UNTIL,
    filters: { operator: 'and', blocks: [{ operator: 'and', filters: [counted] }] },
  };
  const ways: Record<string, (db: Database) => Promise<unknown>> = {
    countFunnel: (db) => countFunnel(db, ENTITY, query),
    exploreFunnel: (db) => exploreFunnel(db, ENTITY, query, { position: 0, followed: [appId] }),
    countFiltered: (db) => countFiltered(db, ENTITY, segment, { timeoutMs: 60_000 }),
    findAudience: (db) => Array.fromAsync(findAudience(db, ENTITY, segment)),
  };
  for (const [name, way] of Object.entries(ways)) {
    const plans = (await plansOf(way)).filter((plan) => plan.includes('only_users'));
    expect({ name, plans }).not.toEqual({ name, plans: [] });
    for (const plan of plans) expect(`${name}: ${plan}`).not.toMatch(/Nested Loop(?! Semi)/);
  }
});

it('the timeline of a person is read by the indexes by user or device, also their messages', async () => {
  const kinds = new Set(['message', 'session', 'event'] as const);
  const page = { after: null, limit: 51 };
  const timeline = (person: Person) => plansOf((db) => listTimeline(db, ENTITY, person, kinds, page));
  const ofUser = await timeline({ customerType: 'user_id', customerId: 'user-5' });
  expect(ofUser.join('\n')).toMatch('attempts_by_user');
  expect(ofUser.join('\n')).toMatch(/sessions_2026_09_entity_id_user_id_started_at_idx/);
  expect(ofUser.join('\n')).toMatch(/events_2026_09_\w*user_id_happened_at_idx/);
  const ofDevice = await timeline({ customerType: 'device_id', customerId: 'device-5' });
  expect(ofDevice.join('\n')).toMatch('attempts_by_device');
  expect(ofDevice.join('\n')).toMatch(/sessions_2026_09_\w*subject_\w+_idx/);
  for (const plan of [...ofUser, ...ofDevice]) expect(plan).not.toMatch(/Seq Scan on (events|sessions|attempts)/);
});
