import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { mergeFeed } from '../../../activities/feed/feed-attributes.ts';
import type { Trait } from '../../../domain/tracking/call.ts';
import { elementText } from '../../../domain/attributes/json-value.ts';
import { parseExactJson } from '../../../domain/json/exact-json.ts';
import type { SegmentFilters } from '../../../domain/analytics/segment-filters.ts';
import { createMetrics } from '../../../runtime/telemetry/metrics.ts';
import type { AttributeChange } from '../../../domain/attributes/attribute-change.ts';
import { changedProfiles } from '../../../server/attributes/customer-profiles.ts';
import type { ProfileSelection } from '../../../server/attributes/profile-selection.ts';
import { resolveFilters } from '../../../store/analytics/resolve-filters.ts';
import { listPeople } from '../../../store/analytics/segment-refresh.ts';
import { findAttributeValues } from '../../../store/attributes/attribute-values.ts';
import { streamProfileValues } from '../../../store/attributes/profile-values.ts';
import {
  insertCustomerAttribute,
  listCustomerAttributesOf,
  updateCustomerAttribute,
} from '../../../store/attributes/customer-attributes.ts';
import { mergeAttributeValues, prepareChanges } from '../../../store/attributes/merge-attribute-values.ts';
import { insertAppSor, insertCustomSor } from '../../../store/attributes/systems-of-records.ts';
import { write } from '../../../store/core/database.ts';
import { insertFeedRequest } from '../../../store/feed/feed-requests.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { listLiveCalls } from '../../../store/tracking/call-reports.ts';
import { insertNewAttributes } from '../../../store/tracking/insert-traits.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import {
  makeTrackedWorld,
  SAMPLE_START,
  type SampleCall,
  sampleCall,
  takeIn,
  type TrackedWorld,
} from '../../harness/tracking/tracked-calls.ts';

let store: TestStore;
let world: TrackedWorld;

beforeAll(async () => {
  store = await testStore();
  world = await makeTrackedWorld(store);
});

function identify(traits: Record<string, Trait['value']>, given: SampleCall = {}) {
  const told = Object.entries(traits).map(([key, value]): Trait => ({ sor: 'app', key, value }));
  return sampleCall(world, { type: 'identify', event: null, traits: told, ...given });
}

async function send(...calls: ReturnType<typeof identify>[]): Promise<void> {
  await insertNewAttributes(store.db, store.secrets, world.entity.id, calls);
  await takeIn(store, world, calls);
}

async function merged(): Promise<void> {
  const log = { info() {}, warn() {}, error() {} };
  const deps = { ...store, log, countValues: createMetrics().countValues, batchRecords: 3_000, boundary: () => {} };
  while ((await mergeFeed(deps, world.entity.id)) !== null);
}

async function valuesOf(customerId: string): Promise<Record<string, unknown>> {
  await merged();
  const { rows } = await store.db.query<{ key: string; value: unknown }>(
    `SELECT a.key, coalesce(to_jsonb(v.set_elements), to_jsonb(v.string_value), to_jsonb(v.number_value), to_jsonb(v.boolean_value),
       to_jsonb(v.date_value), to_jsonb(v.datetime_value)) AS value
     FROM attribute_values v JOIN customer_attributes a ON a.entity_id = v.entity_id AND a.id = v.attribute_id
     WHERE v.entity_id = $1 AND v.customer_id = $2 AND v.removed_at IS NULL`,
    [world.entity.id, customerId],
  );
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
}

const typesOf = async (sorId: number) =>
  Object.fromEntries(
    (await listCustomerAttributesOf(store.db, world.entity.id, [sorId])).map(({ key, valueType }) => [key, valueType]),
  );

describe('traits', () => {
  it('become values of attributes that are made by their first value', async () => {
    const traits = {
      height: 1.82,
      member: true,
      joined: '2020-02-29',
      lastOrder: '2026-11-03T10:00:00+01:00',
      colors: ['red', 'green'],
      nickname: 'Zoë',
      nothing: null,
      blank: '',
      nested: { too: 'deep' },
    };
    await send(identify(traits, { userId: personId(1) }));
    expect(await typesOf(world.sor.id)).toMatchObject({
      height: 'Number',
      member: 'Boolean',
      joined: 'Date',
      lastOrder: 'Datetime',
      colors: 'Set',
      nickname: 'String',
    });
    for (const key of ['nothing', 'blank', 'nested']) expect(await typesOf(world.sor.id)).not.toHaveProperty(key);
    expect(await valuesOf(personId(1))).toEqual({
      height: 1.82,
      member: true,
      joined: '2020-02-29',
      lastOrder: '2026-11-03T09:00:00+00:00',
      colors: ['red', 'green'],
      nickname: 'Zoë',
    });
  });

  it('replace and remove, the last in time counting', async () => {
    const who = { userId: personId(2) };
    await send(
      identify({ plan: 'late', tags: ['x', 'y'], score: 5 }, { ...who, second: 20 }),
      identify({ plan: 'early' }, { ...who, second: 10 }),
    );
    expect(await valuesOf(personId(2))).toEqual({ plan: 'late', tags: ['x', 'y'], score: 5 });
    await send(identify({ plan: 7, tags: ['a;b', 'c', 4], score: null }, { ...who, second: 30 }));
    expect(await valuesOf(personId(2))).toEqual({ plan: '7', tags: ['a;b', 'c', '4'] });
    await send(identify({ tags: [] }, { ...who, second: 40 }));
    expect(await valuesOf(personId(2))).toEqual({ plan: '7', tags: [] });
    await send(identify({ tags: 'single' }, { ...who, second: 50 }));
    expect(await valuesOf(personId(2))).toEqual({ plan: '7', tags: ['single'] });
  });

  it("of a device without a user are the device's", async () => {
    await send(identify({ plan: 'anonymous' }, { deviceId: 'anonymous-device' }));
    expect(await valuesOf('anonymous-device')).toEqual({ plan: 'anonymous' });
  });

  it('of a repeated message are handed on once', async () => {
    const told = identify({ plan: 'once' }, { userId: personId(3), messageId: 'once' });
    await send(told, told);
    await send(told);
    await merged();
    const { rows } = await store.db.query(
      'SELECT values_in AS values FROM feed_requests WHERE entity_id = $1 ORDER BY id DESC LIMIT 1',
      [world.entity.id],
    );
    expect(rows).toEqual([{ values: 1 }]);
  });

  it('that name a global attribute go into the global System of Records', async () => {
    const { rows } = await store.db.query<{ id: number }>(
      `SELECT id FROM systems_of_records WHERE entity_id = $1 AND type = 'global'`,
      [world.entity.id],
    );
    const named = (value: string): Trait[] => [{ sor: 'global', key: 'first_name', value }];
    const call = identify({}, { userId: personId(4), globalSorId: rows[0]!.id, traits: named('Ada') });
    await send(call, { ...call, globalSorId: null, traits: named('Nobody') });
    expect(await valuesOf(personId(4))).toEqual({ first_name: 'Ada' });
  });
});

it('that fail show beside the calls of their app', async () => {
  await send(
    identify({ height: { tall: true } as unknown as string, plan: 'x'.repeat(300) }, { userId: personId(90) }),
  );
  await merged();
  const shown = await listLiveCalls(store.db, world.entity.id, world.app.id, 0);
  expect(shown.map(({ outcome, code }) => [outcome, code])).toEqual(
    expect.arrayContaining([
      ['failed', 'INVALID_VALUE'],
      ['failed', 'TOO_LONG_VALUE'],
    ]),
  );
  expect(shown[0]!.call).toContain(personId(90));
});

describe('an attribute whose type was guessed', () => {
  const VALUES: unknown[] = [
    1.5,
    parseExactJson('1.50'),
    -7,
    '7',
    true,
    false,
    'true',
    '2020-02-29',
    '2026-11-03T09:00:00.000Z',
    'tall',
    ['a', 'b'],
  ];

  async function shownOf(customerId: string): Promise<unknown> {
    const [found] = await findAttributeValues(store.db, world.entity.id, world.sor.id, 'user_id', customerId);
    const value = found?.value instanceof Date ? found.value.toISOString() : (found?.value ?? null);
    return value === null ? (found?.elements?.map((element) => element.value) ?? null) : String(value);
  }

  it('keeps every value of an unknown key, in whatever order types come, together or at once', async () => {
    let person = 3_000;
    let key = 0;
    const drawn = fc.record({ nth: fc.nat(VALUES.length - 1), how: fc.constantFrom('alone', 'merged', 'at once') });
    await fc.assert(
      fc.asyncProperty(fc.array(drawn, { minLength: 2, maxLength: 6 }), async (all) => {
        key += 1;
        const given = all.map(({ nth, how }) => ({ value: VALUES[nth], how, userId: personId((person += 1)) }));
        let waiting: Promise<void>[] = [];
        for (const { value, how, userId } of given) {
          waiting.push(send(identify({ [`guessed ${key}`]: value as Trait['value'] }, { userId })));
          if (how === 'at once') continue;
          await Promise.all(waiting);
          waiting = [];
          if (how === 'merged') await merged();
        }
        await Promise.all(waiting);
        await merged();
        const type = (await typesOf(world.sor.id))[`guessed ${key}`];
        for (const { value, userId } of given) {
          const isArray = Array.isArray(value);
          const text = isArray ? value : elementText(value)!;
          const shown = await shownOf(userId);
          if (type === 'Set') expect(shown).toEqual(isArray ? value : [text]);
          else expect(shown).toBe(isArray ? value.join(';') : text);
        }
      }),
      { numRuns: 25 },
    );
  });

  async function errorsOf(customerId: string): Promise<string[]> {
    const { rows } = await store.db.query<{ error_type: string }>(
      'SELECT error_type FROM import_errors WHERE entity_id = $1 AND customer_id = $2',
      [world.entity.id, customerId],
    );
    return rows.map((row) => row.error_type);
  }

  it('becomes a String once, which the audit log and the live list show, and one that staff defined does not', async () => {
    await send(identify({ rank: 3, level: 4, since: '2026-11-03T09:00:00.000Z' }, { userId: personId(4_000) }));
    const found = await listCustomerAttributesOf(store.db, world.entity.id, [world.sor.id]);
    const [rank, level] = ['rank', 'level'].map((key) => found.find((attribute) => attribute.key === key)!);
    expect(level).toMatchObject({ valueType: 'Number', isGuessed: true });
    await write(store.db, (tx) => updateCustomerAttribute(tx, world.entity.id, level!.id, { valueType: 'Number' }));
    await send(identify({ rank: 'high', level: 'high', since: 'long ago' }, { userId: personId(4_001) }));
    await send(identify({ rank: true }, { userId: personId(4_002) }));
    expect(await typesOf(world.sor.id)).toMatchObject({ rank: 'String', level: 'Number', since: 'String' });
    const { rows } = await store.db.query(
      'SELECT actor_kind, action, details FROM audit_log WHERE entity_id = $1 AND subject = $2',
      [world.entity.id, rank!.identifier],
    );
    expect(rows).toEqual([
      { actor_kind: 'system', action: 'update', details: { value_type: 'String', widened_from: 'Number' } },
    ]);
    await merged();
    const live = await listLiveCalls(store.db, world.entity.id, world.app.id, 0);
    expect(live.filter(({ outcome, call }) => outcome === 'widened' && call === 'rank')).toHaveLength(1);
    expect(await errorsOf(personId(4_001))).toEqual(['INVALID_VALUE']);
    const profile = async (nth: number) => {
      const selection = (await listCustomerAttributesOf(store.db, world.entity.id, [world.sor.id])).filter(
        ({ key }) => key === 'since',
      );
      const people = [{ customerType: 'user_id' as const, customerId: personId(nth) }];
      const sors = [{ ...world.sor, attributes: selection }] as unknown as ProfileSelection['sors'];
      for await (const each of streamProfileValues(store.db, world.entity.id, people, selection)) {
        return JSON.stringify(changedProfiles({ sors } as ProfileSelection, new Map())(each));
      }
      throw new Error('no profile');
    };
    expect(await profile(4_000)).toContain('"2026-11-03T09:00:00.000Z"');
    expect(await profile(4_001)).toContain('"long ago"');
  });

  it('is compared by filters as before, and as a text', async () => {
    const ids = ['5', '50', 'fifty', '6'].map((text, nth) => ({ text, userId: personId(4_100 + nth) }));
    for (const { text, userId } of ids.slice(0, 2)) await send(identify({ spent: Number(text) }, { userId }));
    for (const { text, userId } of ids.slice(2)) await send(identify({ spent: text }, { userId }));
    await merged();
    const found = async (operator: string, ...values: string[]) => {
      const filters: SegmentFilters = {
        operator: 'and',
        blocks: [
          {
            operator: 'and',
            filters: [
              {
                filter_on: 'attributes',
                sor_identifier: world.sor.identifier,
                attribute_key: 'spent',
                operator,
                values,
              },
            ],
          },
        ],
      };
      const { query, errors } = await resolveFilters(store.db, world.entity.id, {
        appId: world.app.id,
        filters,
        now: new Date(),
      });
      expect(errors).toEqual([]);
      const people = (await Array.fromAsync(listPeople(store.db, world.entity.id, query!, 100))).flat();
      return ids.filter(({ userId }) => people.includes(`u${userId}`)).map(({ text }) => text);
    };
    expect(await found('greater_than', '5')).toEqual(['50', '6']);
    expect(await found('is', '5.0')).toEqual(['5']);
    expect(await found('is', 'fifty')).toEqual(['fifty']);
    expect(await found('contains', '5')).toEqual(['5', '50']);
    expect(await found('is_set')).toEqual(['5', '50', 'fifty', '6']);
  });
});

describe('the time of the call', () => {
  const attributes: Record<string, number> = {};
  let sorId: number;

  beforeAll(async () => {
    sorId = (await write(store.db, (tx) => insertAppSor(tx, world.entity.id, world.app.id))).id;
    for (const [key, valueType] of [
      ['plan', 'String'],
      ['tags', 'Set'],
    ] as const) {
      attributes[key] = (await insertCustomerAttribute(store.db, world.entity.id, sorId, {
        key,
        label: key,
        valueType,
      }))!.id;
    }
  });

  const timeOf = (second: number) => new Date(SAMPLE_START + second * 1000);

  /** As an import does that was accepted at that second. */
  function imported(customerId: string, second: number, plan: string | null, tags: string[]): Promise<unknown> {
    const customer = { customerType: 'user_id', customerId } as const;
    const changes: AttributeChange[] = [
      { ...customer, kind: 'value', attributeId: attributes.plan!, valueType: 'String', line: 1, value: plan },
      {
        ...customer,
        kind: 'set',
        attributeId: attributes.tags!,
        line: 2,
        action: tags.length === 0 ? 'DEL' : 'UPSERT',
        elements: tags,
      },
    ];
    return write(
      store.db,
      (tx) =>
        mergeAttributeValues(tx, store.secrets, world.entity.id, sorId, prepareChanges(changes), {
          said: { at: timeOf(second) },
        }),
      { collide: true },
    );
  }

  async function ignored(): Promise<number> {
    await merged();
    const { rows } = await store.db.query<{ ignored: number }>(
      'SELECT coalesce(sum(values_ignored), 0)::integer AS ignored FROM feed_requests WHERE entity_id = $1',
      [world.entity.id],
    );
    return rows[0]!.ignored;
  }

  it('decides which of two values stands, in whatever order they come, and an older trait counts as ignored', async () => {
    let person = 1_000;
    const told = fc.record({
      plan: fc.constantFrom('a', 'b', null),
      tags: fc.constantFrom<string[]>(['x'], ['y', 'z'], []),
      isImport: fc.boolean(),
      isMerged: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(told, { minLength: 2, maxLength: 6 }),
        fc.infiniteStream(fc.nat()),
        async (drawn, draw) => {
          const all = drawn.map((each) => ({ ...each }));
          person += 1;
          const userId = personId(person);
          const before = await ignored();
          const order = all
            .map((each, second) => ({ ...each, second, rank: draw.next().value! }))
            .toSorted((a, b) => a.rank - b.rank);
          let [latest, older] = [-1, 0];
          for (const { second, plan, tags, isImport, isMerged } of order) {
            if (isImport) {
              await merged();
              // An import that meets a later Set still changes it; it comes in its order here.
              await imported(userId, Math.max(second, latest), plan, tags);
              if (second <= latest) Object.assign(all[latest]!, { plan, tags });
            } else {
              await send(identify({ plan, tags }, { userId, second, sorId }));
              if (second < latest) older += 2;
            }
            latest = Math.max(latest, second);
            if (isMerged) await merged();
          }
          expect((await ignored()) - before).toBe(older);
          const { plan, tags } = all[latest]!;
          const found = await valuesOf(userId);
          expect({ plan: found.plan ?? null, tags: found.tags ?? [] }).toEqual({ plan, tags });
        },
      ),
      { numRuns: 25 },
    );
  });

  it('is never later than its receipt, and loses to a value that the feed accepted after it', async () => {
    const userId = personId(2_000);
    const given = { customer_id: userId, attribute_key: 'plan', attribute_value: 'by the feed' };
    await send(identify({ plan: 'ahead' }, { userId, sorId, happenedAt: Date.now() + 20 * 3_600_000 }));
    await insertFeedRequest(store.db, world.entity.id, {
      sorId,
      version: 3,
      valuesIn: 1,
      body: JSON.stringify([given]),
    });
    expect(await valuesOf(userId)).toMatchObject({ plan: 'by the feed' });
    await send(identify({ plan: 'now' }, { userId, sorId, happenedAt: Date.now() + 3_600_000 }));
    await send(identify({ plan: 'late' }, { userId, sorId }));
    expect(await valuesOf(userId)).toMatchObject({ plan: 'now' });
  });
});

describe('a System of Records', () => {
  const attributes = (from: number, to: number) =>
    Object.fromEntries(Array.from({ length: to - from }, (_, at) => [`key ${from + at}`, 'value']));

  it('gets at most 500 attributes by itself, also from two servers at once', async () => {
    const sor = await write(store.db, (tx) =>
      insertCustomSor(tx, store.secrets, world.entity.id, 'Many', world.user.id),
    );
    const insert = (from: number, to: number) =>
      insertNewAttributes(store.db, store.secrets, world.entity.id, [
        identify(attributes(from, to), { sorId: sor.id }),
      ]);
    await insert(0, 300);
    await Promise.all([insert(200, 450), insert(250, 600), insert(550, 700)]);
    expect(Object.keys(await typesOf(sor.id)).length).toBe(500);
    await insert(5_000, 5_001);
    expect(await typesOf(sor.id)).not.toHaveProperty('key 5000');
  });

  it('has what was read by its old rules read again', async () => {
    const revision = async () =>
      (
        await store.db.query<{ revision: number }>(
          'SELECT revision FROM systems_of_records WHERE entity_id = $1 AND id = $2',
          [world.entity.id, world.sor.id],
        )
      ).rows[0]!.revision;
    const before = await revision();
    await insertNewAttributes(store.db, store.secrets, world.entity.id, [identify({ plan: 'known' })]);
    expect(await revision()).toBe(before);
    await insertNewAttributes(store.db, store.secrets, world.entity.id, [identify({ unheardOf: 1 })]);
    expect(await revision()).toBe(before + 1);
  });

  it('gets none by what somebody told who was erased', async () => {
    await insertTombstone(
      store.db,
      world.entity.id,
      store.secrets.customerHash(world.entity.id, 'user_id', personId(80)),
    );
    const theirs = identify({ theirs: 'first', shared: 'a text' }, { userId: personId(80) });
    await send(theirs, identify({ shared: 5, another: true }, { userId: personId(81) }));
    expect(await typesOf(world.sor.id)).toMatchObject({ shared: 'Number', another: 'Boolean' });
    expect(await typesOf(world.sor.id)).not.toHaveProperty('theirs');
  });
});
