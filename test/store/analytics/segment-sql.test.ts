import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type DetailPairs, eventsOfFunnel } from '../../../domain/analytics/funnel.ts';
import {
  type CampaignsFilter,
  eachFilter,
  type FilterBlock,
  isBlock,
  type SegmentFilter,
  type SegmentFilters,
} from '../../../domain/analytics/segment-filters.ts';
import type { ValueType } from '../../../domain/attributes/attribute-value.ts';
import { countFiltered } from '../../../store/analytics/segment-counts.ts';
import type { App } from '../../../store/apps/apps.ts';
import { countFunnel } from '../../../store/analytics/funnel-stats.ts';
import { insertFunnel } from '../../../store/analytics/funnels.ts';
import { aliasesSql } from '../../../store/analytics/people.ts';
import { resolveFilters } from '../../../store/analytics/resolve-filters.ts';
import { insertMembers } from '../../../store/analytics/segment-members.ts';
import { listPeople } from '../../../store/analytics/segment-refresh.ts';
import { insertSegment } from '../../../store/analytics/segments.ts';
import { listEventCounts } from '../../../store/analytics/usage.ts';
import { write } from '../../../store/core/database.ts';
import { insertEventDefinitions } from '../../../store/tracking/event-definitions.ts';
import { deleteOldAttempts } from '../../../store/sends/report-rollups.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { insertSampleEvents } from '../../harness/analytics/sample-events.ts';
import { type ModelOptions, type SampleData, SegmentModel } from '../../harness/analytics/segment-model.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { sampledRuns } from '../../harness/run/seed.ts';
import { insertSampleCampaign } from '../../harness/sends/campaigns.ts';
import { sampleCall, sampleEvent, takeIn } from '../../harness/tracking/tracked-calls.ts';

const NOW = new Date('2026-11-10T12:00:00Z');
const DAY_MS = 86_400_000;
const ago = (days: number) => new Date(NOW.getTime() - days * DAY_MS);
const TYPES: Record<string, ValueType> = {
  plan: 'String',
  score: 'Number',
  vip: 'Boolean',
  born: 'Date',
  seen: 'Datetime',
  tags: 'Set',
};
const FUNNEL = { steps: ['A', 'B'], maxMs: 2 * DAY_MS };

let store: TestStore;
let world: World;
let apps: App[];
let segments: { id: number; identifier: string }[];
let funnel: string;
let campaigns: { id: number; identifier: string; apiIdentifier: string; app: number }[];
let options: ModelOptions;

beforeAll(async () => {
  store = await testStore();
  world = await makeWorld(store);
  const { id: entityId } = world.entity;
  apps = [];
  for (const name of ['one', 'two']) apps.push(await insertSampleApp(store.db, entityId, name));
  await ensurePartitions(store.db, [ago(40), NOW]);
  await write(store.db, async (tx) => {
    const keys = ['A', 'B'].flatMap((name) => [1, 2].map((logType) => ({ logType: logType as 1 | 2, name })));
    for (const { id } of apps) await insertEventDefinitions(tx, entityId, id, keys);
    segments = [];
    for (const name of ['first', 'second']) {
      segments.push(
        (await insertSegment(tx, entityId, {
          appId: apps[0]!.id,
          name,
          description: null,
          filters: null,
          createdBy: world.user.id,
        }))!,
      );
    }
    const steps = FUNNEL.steps.map((name) => ({
      match_name: [{ app_id: apps[0]!.identifier, log_type: 2 as const, log_name: name }],
    }));
    funnel = (await insertFunnel(tx, entityId, {
      name: 'A to B',
      description: null,
      maxDuration: FUNNEL.maxMs / 1_000,
      steps,
      appIds: [apps[0]!.id],
      createdBy: world.user.id,
    }))!.identifier;
  });
  campaigns = [];
  for (const app of [0, 0, 1])
    campaigns.push({ ...(await insertSampleCampaign(store.db, entityId, apps[app]!.id)), app });
  await store.db.query('INSERT INTO report_rollups (entity_id, counted_until, kept_since) VALUES ($1, $2, $3)', [
    entityId,
    NOW,
    ago(30),
  ]);
  options = {
    now: NOW,
    types: TYPES,
    apps: apps.map(({ identifier }) => identifier),
    campaigns,
    funnel: FUNNEL,
  };
});

const USERS = ['ann', 'ben', 'cleo'];
const DEVICES = ['phone', 'tablet', 'watch', 'shared'];
const VALUES: Record<string, (string | string[])[]> = {
  plan: ['gold', 'golden', 'silver'],
  score: ['1', '1.50', '2', '9223372036854775807'],
  vip: ['true', 'false'],
  born: ['2026-11-10', '2026-11-08', '1990-01-31'],
  seen: [ago(0.1), ago(2), ago(30)].map((at) => at.toISOString()),
  tags: [[], ['a'], ['a', 'b'], ['c']],
};
const maybe = <T>(...values: T[]) => fc.constantFrom(null, ...values);
const moment = fc.integer({ min: 0, max: 12 }).map((half) => ago(half / 2));
const data: fc.Arbitrary<SampleData> = fc.record({
  devices: fc.uniqueArray(
    fc.record({
      id: fc.constantFrom(...DEVICES),
      lastUser: maybe(...USERS),
      country: maybe('FR', 'DE'),
      appVersion: maybe('2.9', '2.10', '2.10.0-beta3', 'v3', 'dev'),
      optIn: maybe(true, false),
      uninstalled: maybe(true, false),
      sessions: fc.nat(3),
      lastSeenAt: moment,
      hasToken: fc.boolean(),
    }),
    { selector: ({ id }) => id, maxLength: 4 },
  ),
  seen: fc.uniqueArray(fc.tuple(fc.constantFrom(...DEVICES, 'gone'), fc.constantFrom(...USERS)), {
    selector: String,
    maxLength: 5,
  }),
  values: fc.uniqueArray(
    fc.constantFrom(...Object.keys(VALUES)).chain((key) =>
      fc.record({
        customer: fc.constantFrom(
          ...USERS.map((id) => ({ type: 'user_id' as const, id })),
          ...DEVICES.map((id) => ({ type: 'device_id' as const, id })),
        ),
        key: fc.constant(key),
        value: fc.constantFrom(...VALUES[key]!),
      }),
    ),
    { selector: ({ customer, key }) => `${customer.type}${customer.id}/${key}`, maxLength: 15 },
  ),
  events: fc.array(
    fc.record({
      app: fc.constantFrom(0, 0, 0, 1),
      user: maybe(...USERS),
      device: fc.constantFrom(...DEVICES),
      name: fc.constantFrom('A', 'B'),
      logType: fc.constantFrom(2, 2, 2, 1),
      at: moment,
      detail: fc.constantFrom({ price: 2 }, { price: 3, color: 'red' }),
    }),
    { maxLength: 15 },
  ),
  messages: fc.array(
    fc
      .record({
        campaign: fc.constantFrom(0, 1, 2),
        user: maybe(...USERS),
        device: fc.constantFrom(...DEVICES, 'gone'),
        code: fc.constantFrom('PUSH_SENT', 'OPT_OUT', 'UNKNOWN'),
        at: fc.oneof(moment, fc.constant(ago(35))),
        isOpened: fc.boolean(),
        isShown: fc.boolean(),
        isClicked: fc.boolean(),
      })
      .map((message) => ({ ...message, isShown: message.isShown || message.isClicked })),
    { maxLength: 10 },
  ),
  members: fc
    .tuple(...[0, 1].map(() => fc.subarray([...USERS.map((id) => `u${id}`), ...DEVICES.map((id) => `d${id}`)])))
    .map((lists) => Object.fromEntries(lists.map((list, index) => [`#${index}`, list]))),
  aliases: fc.subarray<[string, string]>([
    ['ann', 'ben'],
    ['phone', 'cleo'],
    ['watch', 'dora'],
  ]),
});

const OPERATORS: Record<string, [operator: string, count: [number, number]][]> = {
  String: [
    ['is', [1, 2]],
    ['is_not', [1, 2]],
    ['contains', [1, 2]],
    ['does_not_contain', [1, 1]],
    ['starts_with', [1, 2]],
  ],
  Number: [
    ['is', [1, 2]],
    ['is_not', [1, 1]],
    ['greater_than', [1, 1]],
    ['at_least', [1, 1]],
    ['less_than', [1, 1]],
    ['at_most', [1, 1]],
    ['between', [2, 2]],
  ],
  Boolean: [
    ['is', [1, 1]],
    ['is_not', [1, 1]],
  ],
  Date: [
    ['is', [1, 2]],
    ['is_not', [1, 1]],
    ['before', [1, 1]],
    ['after', [1, 1]],
    ['between', [2, 2]],
  ],
  Datetime: [
    ['before', [1, 1]],
    ['after', [1, 1]],
    ['between', [2, 2]],
  ],
  Set: [
    ['contains_any', [1, 2]],
    ['contains_all', [1, 2]],
    ['contains_none', [1, 2]],
  ],
};
OPERATORS.Version = OPERATORS.Number!;

/** An operator of the type with values of the pool. */
function comparison(type: string, pool: string[]): fc.Arbitrary<{ operator: string; values: string[] }> {
  const compared = fc.constantFrom(...OPERATORS[type]!).chain(([operator, [minLength, maxLength]]) =>
    fc.record({
      operator: fc.constant(operator),
      values: fc.array(fc.constantFrom(...pool), { minLength, maxLength }),
    }),
  );
  const set = fc.constantFrom('is_set', 'is_not_set').map((operator) => ({ operator, values: [] as string[] }));
  const inDays = fc.record({
    operator: fc.constantFrom('in_last_days', 'not_in_last_days'),
    values: fc.constantFrom('1', '3').map((days) => [days]),
  });
  return type.startsWith('Date') ? fc.oneof(compared, set, inDays) : fc.oneof({ weight: 3, arbitrary: compared }, set);
}

const POOLS: Record<string, string[]> = {
  plan: ['gold', 'old', 'silver', 'g'],
  score: ['1.5', '2', '1e0', '9223372036854775806'],
  vip: ['true', 'false'],
  born: ['2026-11-08', '2000-01-01'],
  seen: ['2026-11-08', ago(2).toISOString()],
  tags: ['a', 'b', 'c'],
};
const FIELDS: Record<string, [type: string, pool: string[]]> = {
  country_code: ['String', ['FR', 'F', 'DE']],
  app_version: ['Version', ['2.9', '2.10', '2.10.0', '3']],
  opt_in: ['Boolean', ['true', 'false']],
  uninstalled: ['Boolean', ['true']],
  number_of_sessions: ['Number', ['0', '1', '2.5']],
  last_opened_app_at: ['Datetime', ['2026-11-08', ago(2).toISOString()]],
};
const period = fc.constantFrom({ last_days: 1 }, { last_days: 3 }, { from: '2026-11-06', till: '2026-11-08' });
const isIn = fc.constantFrom('is_in' as const, 'is_not_in' as const);

const filter: fc.Arbitrary<SegmentFilter> = fc.oneof(
  fc.constantFrom(...Object.keys(TYPES)).chain((key) =>
    comparison(TYPES[key]!, POOLS[key]!).map((compared) => ({
      filter_on: 'attributes' as const,
      sor_identifier: '#sor',
      attribute_key: key,
      ...compared,
    })),
  ),
  fc
    .constantFrom(...Object.keys(FIELDS))
    .chain((field) =>
      comparison(...FIELDS[field]!).map((compared) => ({ filter_on: 'devices' as const, field, ...compared })),
    ),
  fc
    .record({
      filter_on: fc.constant('events' as const),
      app_id: fc.constantFrom(undefined, undefined, '#1'),
      log_type: fc.constantFrom(0 as const, 2 as const),
      log_name: fc.constantFrom('A', 'B'),
      match_details: fc.constantFrom<DetailPairs[] | undefined>(
        undefined,
        [],
        [{ price: 2 }],
        [{ price: '3', color: 'red' }, { price: 9 }],
      ),
      operator: fc.constantFrom('at_least' as const, 'at_most' as const, 'exactly' as const),
      count: fc.nat(3),
      period,
    })
    .filter(({ operator, count }) => operator !== 'at_least' || count > 0),
  fc.record({
    filter_on: fc.constant('segments' as const),
    selection: fc.constantFrom('any_of' as const, 'all_of' as const, 'none_of' as const),
    segment_identifiers: fc.subarray(['#0', '#1'], { minLength: 1 }),
    operator: isIn,
  }),
  fc
    .record({
      filter_on: fc.constant('funnels' as const),
      funnel_identifier: fc.constant('#funnel'),
      step: fc.constantFrom(0, 1),
      outcome: fc.constantFrom('completed' as const, 'dropped' as const),
      operator: isIn,
      period,
    })
    .filter(({ outcome, step }) => outcome === 'completed' || step > 0),
  fc.record({
    filter_on: fc.constant('campaigns' as const),
    outcome: fc.constantFrom('received' as const, 'opened' as const),
    operator: isIn,
    campaign_identifiers: fc.option(fc.subarray(['#c0', '#c1', '#c2'], { minLength: 1 }), { nil: undefined }),
    last_days: fc.constantFrom(undefined, 3, 30),
  }),
);
const operator = fc.constantFrom('and' as const, 'or' as const);
const block: fc.Arbitrary<FilterBlock> = fc.record({
  operator,
  filters: fc.array(
    fc.oneof(
      { weight: 3, arbitrary: filter as fc.Arbitrary<SegmentFilter | FilterBlock> },
      fc.record({
        operator,
        filters: fc.array(filter, { minLength: 1, maxLength: 3 }),
      }),
    ),
    { minLength: 1, maxLength: 3 },
  ),
});
const filters: fc.Arbitrary<SegmentFilters> = fc.record(
  { operator, blocks: fc.array(block, { maxLength: 2 }), aliases: fc.constant(true as const) },
  { requiredKeys: ['operator', 'blocks'] },
);

/** What is drawn names things by their numbers, since their identifiers are made before each run. */
function named(drawn: SegmentFilters): SegmentFilters {
  const names: Record<string, string> = {
    '#sor': world.sor.identifier,
    '#0': segments[0]!.identifier,
    '#1': segments[1]!.identifier,
    '#funnel': funnel,
    ...Object.fromEntries(campaigns.map(({ identifier }, index) => [`#c${index}`, identifier])),
  };
  return JSON.parse(
    JSON.stringify(drawn)
      .replaceAll('"app_id":"#1"', `"app_id":"${apps[1]!.identifier}"`)
      .replaceAll(/"(#\w+)"/g, (_, name: string) => `"${names[name]!}"`),
  ) as SegmentFilters;
}

async function insert({ devices, seen, values, events, messages, members, aliases }: SampleData): Promise<SampleData> {
  const { id: entityId } = world.entity;
  const [appId, otherId] = apps.map(({ id }) => id);
  for (const table of [
    'devices',
    'device_users',
    'attribute_values',
    'events',
    'segment_members',
    'attempts',
    'campaign_people',
    'user_aliases',
    'session_heads',
  ]) {
    await store.db.query(`DELETE FROM ${table} WHERE entity_id = $1`, [entityId]);
  }
  // Another app's devices, of the same ids, are other devices.
  await store.db.query(
    `INSERT INTO devices (entity_id, app_id, device_id, last_user_id, country, app_version, opt_in, uninstalled, number_of_sessions,
       first_seen_at, last_seen_at, push_token)
     SELECT $1::integer, $2::integer, id, "lastUser", country, "appVersion", "optIn", uninstalled, sessions, "lastSeenAt", "lastSeenAt",
       CASE WHEN "hasToken" THEN 'token' END
     FROM json_to_recordset($4) AS d (id text, "lastUser" text, country text, "appVersion" text, "optIn" boolean, uninstalled boolean,
       sessions integer, "lastSeenAt" timestamptz, "hasToken" boolean)
     UNION ALL
     SELECT $1::integer, $3::integer, id, last_user, 'FR', '9', true, false, 9, now(), now(), 'token'
     FROM unnest($5::text[]) AS id CROSS JOIN (VALUES ('dora')) AS other (last_user)`,
    [entityId, appId, otherId, JSON.stringify(devices), DEVICES],
  );
  await store.db.query(
    `INSERT INTO user_aliases (entity_id, app_id, previous_id, user_id, decision)
     SELECT $1, $2, *, 'confirmed' FROM unnest($3::text[], $4::text[])`,
    [entityId, appId, aliases.map(([previous]) => previous), aliases.map(([, user]) => user)],
  );
  await store.db.query(
    `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
     SELECT $1::integer, $2::integer, device, used, now() FROM unnest($4::text[], $5::text[]) AS seen (device, used)
     UNION ALL SELECT $1::integer, $3::integer, device, used, now() FROM unnest($4::text[], $5::text[]) AS seen (device, used)`,
    [entityId, appId, otherId, seen.map(([device]) => device), seen.map(([, user]) => user)],
  );
  for (const { customer, key, value } of values) {
    const column = {
      String: 'string',
      Number: 'number',
      Boolean: 'boolean',
      Date: 'date',
      Datetime: 'datetime',
      Set: '',
    }[TYPES[key]!];
    await store.db.query(
      `INSERT INTO attribute_values (entity_id, sor_id, customer_type, customer_id, attribute_id, changed_at,
         ${Array.isArray(value) ? 'set_elements, set_times' : `${column}_value`})
       SELECT $1, s.id, $3, $4, $5, now(), $6${Array.isArray(value) ? `, '{}'` : ''} FROM systems_of_records s
       WHERE s.entity_id = $1 AND s.identifier = $2`,
      [
        entityId,
        world.sor.identifier,
        customer.type === 'user_id' ? 0 : 1,
        customer.id,
        world.attributes[key]!.id,
        value,
      ],
    );
  }
  await insertSampleEvents(
    store.db,
    entityId,
    events.map(({ app, ...event }) => ({ ...event, appId: apps[app]!.id })),
  );
  await insertMessages(messages);
  const ofSegments = segments.map(({ identifier }, index) => [identifier, members[`#${index}`]!] as const);
  for (const [index, [, people]] of ofSegments.entries())
    await insertMembers(store.db, entityId, segments[index]!.id, people);
  return { devices, seen, values, events, messages, aliases, members: Object.fromEntries(ofSegments) };
}

/** Those of long ago go, and what people got of them is counted. */
async function insertMessages(messages: SampleData['messages']): Promise<void> {
  await store.db.query(
    `INSERT INTO attempts (entity_id, campaign_id, app_id, channel, state, code, user_id, device_id, created_at, settled_at, opened_at,
       shown_at, clicked_at)
     SELECT $1, c.id, c.app_id, 'both', 'settled', m.code, m.user, m.device, m.at, m.at, CASE WHEN m."isOpened" THEN m.at END,
       CASE WHEN m."isShown" THEN m.at END, CASE WHEN m."isClicked" THEN m.at END
     FROM json_to_recordset($2) AS m (campaign integer, "user" text, device text, code text, at timestamptz, "isOpened" boolean,
       "isShown" boolean, "isClicked" boolean)
     JOIN campaigns c ON c.entity_id = $1 AND c.id = ($3::integer[])[m.campaign + 1]`,
    [world.entity.id, JSON.stringify(messages), campaigns.map(({ id }) => id)],
  );
  await write(store.db, (tx) => deleteOldAttempts(tx, world.entity.id));
}

/** Devices of one user, of two and of none, and calls of servers without a device; the first calls share one. */
const FIRST_CALLS = ['ann', 'ben', null].map((user) => ({ device: 'shared', user, name: 'A', hour: 0 }));
const call = fc
  .record({
    device: fc.constantFrom('phone', 'shared', 'shared', 'watch', null),
    name: fc.constantFrom('A', 'A', 'B'),
    user: maybe(...USERS),
    hour: fc.integer({ min: 0, max: 23 }),
  })
  .map(({ user, ...drawn }) => ({
    ...drawn,
    user: { watch: null, phone: user && 'ann', shared: user, none: user ?? 'dora' }[drawn.device ?? 'none']!,
  }));

describe('funnels, segments and counts', () => {
  it('find the same people in what apps sent, with and without aliases', async () => {
    const { id: entityId } = world.entity;
    const app = apps[0]!;
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 20 }), fc.boolean(), async (drawn, aliases) => {
        await insert({
          devices: [],
          seen: [],
          values: [],
          events: [],
          messages: [],
          members: { '#0': [], '#1': [] },
          aliases: [['ann', 'ben']],
        });
        const [day, nextDay] = [new Date('2026-11-09T00:00:00Z'), new Date('2026-11-10T00:00:00Z')];
        await takeIn(
          store,
          world,
          [...FIRST_CALLS, ...drawn].map(({ device, user, name, hour }) =>
            sampleCall(
              { ...world, app },
              {
                deviceId: device,
                userId: user,
                event: sampleEvent(name),
                happenedAt: day.getTime() + hour * 3_600_000,
              },
            ),
          ),
        );
        const period = { from: '2026-11-09', till: '2026-11-09' };
        const countSegment = async (one: SegmentFilter) => {
          const filters = named({
            operator: 'and',
            blocks: [{ operator: 'and', filters: [one] }],
            ...(aliases && { aliases }),
          });
          const { query } = await resolveFilters(store.db, entityId, { appId: app.id, filters, now: NOW });
          return (await countFiltered(store.db, entityId, query!, { timeoutMs: 10_000 })).peopleCount;
        };
        const inStep = (step: number, outcome: 'completed' | 'dropped') =>
          countSegment({
            filter_on: 'funnels',
            funnel_identifier: '#funnel',
            step,
            outcome,
            operator: 'is_in',
            period,
          });
        const steps = ['A', 'B'].map((name) => ({
          match_name: [{ app_id: app.identifier, log_type: 2 as const, log_name: name }],
        }));
        const [funnelTotals] = (await countFunnel(store.db, entityId, {
          events: eventsOfFunnel(steps).map((event) => ({ ...event, appId: app.id })),
          details: [[], []],
          from: day,
          until: nextDay,
          maxSeconds: FUNNEL.maxMs / 1_000,
          aliases,
          sample: null,
          breakdown: null,
        }))!;
        const [first, second] = (funnelTotals?.steps ?? []).map(({ people }) => people);
        expect([await inStep(0, 'completed'), await inStep(1, 'completed'), await inStep(1, 'dropped')]).toEqual([
          first ?? 0,
          second ?? 0,
          (first ?? 0) - (second ?? 0),
        ]);
        const ofDay = await Array.fromAsync(
          listEventCounts(store.db, entityId, app.id, { from: day, until: nextDay, aliases }),
        );
        for (const name of ['A', 'B']) {
          expect(
            await countSegment({
              filter_on: 'events',
              log_type: 2,
              log_name: name,
              operator: 'at_least',
              count: 1,
              period,
            }),
          ).toBe(ofDay.find((event) => event.name === name)?.people ?? 0);
        }
      }),
      { numRuns: sampledRuns(100) },
    );
  });
});

/** The filters up to the one at `last`, without blocks that then have none. */
function upToFilter(filters: SegmentFilters, last: number): SegmentFilters {
  let next = 0;
  const kept = ({ operator, filters: elements }: FilterBlock): FilterBlock[] => {
    const own = elements.flatMap((element): (SegmentFilter | FilterBlock)[] =>
      isBlock(element) ? kept(element) : next++ <= last ? [element] : [],
    );
    return own.length === 0 ? [] : [{ operator, filters: own }];
  };
  return { ...filters, blocks: filters.blocks.flatMap(kept) };
}

describe('the people of a segment', () => {
  it('are those that a look at every person in turn finds, whatever data and filters there are', async () => {
    const { id: entityId } = world.entity;
    const appId = apps[0]!.id;
    await fc.assert(
      fc.asyncProperty(data, fc.array(filters, { minLength: 6, maxLength: 6 }), async (drawn, all) => {
        const inserted = await insert(drawn);
        const model = new SegmentModel(inserted, options);
        for (const each of all.map(named)) {
          const { errors, query } = await resolveFilters(store.db, entityId, { appId, filters: each, now: NOW });
          expect(errors).toEqual([]);
          const people = (await Array.fromAsync(listPeople(store.db, entityId, query!, 2))).flat();
          const expected = model.found(each);
          expect(people).toEqual([...model.members(each)].toSorted((a, b) => (a < b ? -1 : 1)));
          const ofDevices = inserted.devices
            .filter(({ uninstalled }) => uninstalled !== true)
            .map((device) => ({ ...device, person: model.resolve(model.personOfDevice(device), each) }));
          const reached = ofDevices.filter(({ person }) => expected.has(person));
          const left = [...eachFilter(each)].map((_, last) => model.found(upToFilter(each, last)).size);
          expect(await countFiltered(store.db, entityId, query!, { timeoutMs: 10_000, hasLeft: true })).toEqual({
            left,
            peopleCount: expected.size,
            peopleTotal: model.people(each).size,
            peoplePush: new Set(reached.filter(({ optIn, hasToken }) => optIn && hasToken).map(({ person }) => person))
              .size,
            reachCount: reached.length,
            reachOptin: reached.filter(({ optIn }) => optIn).length,
            reachToken: reached.filter(({ hasToken }) => hasToken).length,
            reachTotal: ofDevices.length,
          });
        }
      }),
      { numRuns: sampledRuns(60) },
    );
  });

  it("are those that received or opened a campaign's messages, also once only counts of these are kept", async () => {
    const device = (id: string, lastUser: string | null) => ({
      id,
      lastUser,
      country: null,
      appVersion: null,
      optIn: true,
      uninstalled: false,
      sessions: 0,
      lastSeenAt: NOW,
      hasToken: true,
    });
    const users = ['sent', 'shown', 'clicked', 'opened', 'refused', 'second', 'foreign', 'last', 'only', 'one', 'two'];
    const sent = {
      campaign: 0,
      user: null,
      device: 'phone',
      code: 'PUSH_SENT',
      isOpened: false,
      isShown: false,
      isClicked: false,
    };
    const messages = [
      { ...sent, user: 'sent' },
      { ...sent, user: 'shown', code: 'OPT_OUT', isShown: true },
      { ...sent, user: 'clicked', code: 'INAPP_AVAILABLE', isShown: true, isClicked: true },
      { ...sent, user: 'opened', code: 'UNKNOWN', isOpened: true },
      { ...sent, user: 'refused', code: 'REFUSED' },
      { ...sent, user: 'second', campaign: 1 },
      { ...sent, device: 'phone of foreign', campaign: 2 },
      { ...sent, device: 'own' },
      { ...sent, device: 'of last' },
      { ...sent, device: 'phone of only' },
      { ...sent, device: 'shared' },
    ];
    const reached = ['down', 'dshared', 'uclicked', 'ulast', 'uonly', 'uopened', 'usent', 'ushown'];
    for (const at of [ago(1), ago(4), ago(35)]) {
      await insert({
        devices: [
          device('own', null),
          device('of last', 'last'),
          device('phone of only', null),
          device('shared', null),
        ],
        seen: [
          ...users.map((user): [string, string] => [`phone of ${user}`, user]),
          ['shared', 'one'],
          ['shared', 'two'],
          ['of last', 'last'],
        ],
        values: [],
        aliases: [],
        events: [],
        members: { '#0': [], '#1': [] },
        messages: messages.map((message) => ({ ...message, at })),
      });
      const found = async (filter: Partial<CampaignsFilter>) => {
        const whole = { filter_on: 'campaigns', outcome: 'received', operator: 'is_in', ...filter } as const;
        const all = named({ operator: 'and', blocks: [{ operator: 'and', filters: [whole] }] });
        const { query } = await resolveFilters(store.db, world.entity.id, {
          appId: apps[0]!.id,
          filters: all,
          now: NOW,
        });
        return (await Array.fromAsync(listPeople(store.db, world.entity.id, query!, 100))).flat();
      };
      const first = { campaign_identifiers: ['#c0'] };
      expect(await found(first)).toEqual(reached);
      expect(await found({})).toEqual([...reached, 'usecond'].toSorted());
      expect(await found({ campaign_identifiers: ['#c2'] })).toEqual(['uforeign']);
      expect(await found({ ...first, outcome: 'opened' })).toEqual(['uclicked', 'uopened']);
      expect(await found({ ...first, operator: 'is_not_in' })).toEqual([
        'uforeign',
        'uone',
        'urefused',
        'usecond',
        'utwo',
      ]);
      expect(await found({ ...first, last_days: 3 })).toEqual(at > ago(3) ? reached : []);
      expect(await found({ ...first, last_days: 30 })).toEqual(at > ago(30) ? reached : []);
      const byApiIdentifier = { campaign_identifiers: [campaigns[1]!.apiIdentifier, campaigns[1]!.identifier] };
      expect(await found(byApiIdentifier)).toEqual(['usecond']);
    }
  });
});

it('follows an alias that a device alone vouches for, but of no customer, and for no app that requires verified users', async () => {
  const { id: entityId } = world.entity;
  const app = await insertSampleApp(store.db, entityId, 'aliases');
  const insert = (previous: string, witnessed: boolean, decision: string | null) =>
    store.db.query(
      'INSERT INTO user_aliases (entity_id, app_id, previous_id, user_id, witnessed, decision) VALUES ($1, $2, $3, $4, $5, $6)',
      [entityId, app.id, previous, `became of ${previous}`, witnessed, decision],
    );
  const [customer, confirmed] = [personId(11), personId(12)];
  for (const id of [customer, confirmed]) {
    await store.db.query(
      `INSERT INTO attribute_values (entity_id, sor_id, customer_type, customer_id, attribute_id, changed_at, string_value)
       SELECT $1, s.id, 0, $3, $4, now(), 'gold' FROM systems_of_records s WHERE s.entity_id = $1 AND s.identifier = $2`,
      [entityId, world.sor.identifier, id, world.attributes.plan!.id],
    );
  }
  await insert('witnessed', true, null);
  await insert('claimed', false, null);
  await insert('refused', true, 'refused');
  await insert(customer, true, null);
  await insert(confirmed, false, 'confirmed');
  const followed = async () => {
    const { rows } = await store.db.query<{ previous_id: string }>(
      `WITH ${aliasesSql('$2')} SELECT previous_id FROM alias_ends`,
      [entityId, [app.id]],
    );
    return rows.map((row) => row.previous_id).toSorted();
  };
  expect(await followed()).toEqual([confirmed, 'witnessed'].toSorted());
  await store.db.query('UPDATE apps SET verified_users = true WHERE entity_id = $1 AND id = $2', [entityId, app.id]);
  expect(await followed()).toEqual([confirmed]);
});
