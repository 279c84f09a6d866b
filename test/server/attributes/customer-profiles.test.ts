import { beforeAll, describe, expect, test } from 'vitest';
import type { AttributeChange } from '../../../domain/attributes/attribute-change.ts';
import {
  deleteCustomerAttribute,
  insertCustomerAttribute,
  listCustomerAttributesOf,
} from '../../../store/attributes/customer-attributes.ts';
import { addPendingCustomers } from '../../../store/attributes/customers.ts';
import { mergeAttributeValues, prepareChanges } from '../../../store/attributes/merge-attribute-values.ts';
import { insertCustomSor, listSors } from '../../../store/attributes/systems-of-records.ts';
import { type Tx, write } from '../../../store/core/database.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { rowsOfFile } from '../../harness/core/rows-of-file.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { testServer, type TestServer } from '../http/test-server.ts';

let store: TestStore;
let server: TestServer;

beforeAll(async () => {
  store = await testStore();
  server = await testServer(store);
});

type Values = Record<string, string | boolean | null | string[]>;
// oxlint-disable-next-line typescript/no-explicit-any -- a test says what it expects of a body by looking
type Body = any;

function changesOf(
  { attributes }: World,
  customerId: string,
  values: Values,
  customerType: 'user_id' | 'device_id' = 'user_id',
): AttributeChange[] {
  return Object.entries(values).map(([key, value], index) => {
    const at = { line: index + 1, attributeId: attributes[key]!.id, customerType, customerId };
    return Array.isArray(value)
      ? { kind: 'set', ...at, action: 'UPSERT', elements: value }
      : { kind: 'value', ...at, valueType: attributes[key]!.valueType as 'String', value };
  });
}

function merge(tx: Tx, world: World, changes: AttributeChange[]) {
  return mergeAttributeValues(tx, store.secrets, world.entity.id, world.sor.id, prepareChanges(changes));
}

async function give(
  world: World,
  customerId: string,
  values: Values,
  type: 'user_id' | 'device_id' = 'user_id',
): Promise<void> {
  await write(store.db, (tx) => merge(tx, world, changesOf(world, customerId, values, type)), { collide: true });
}

function people(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, at) => personId(from + at)).toSorted((a, b) => (a < b ? -1 : 1));
}

async function giveMany(world: World, ids: string[], plan = 'gold'): Promise<void> {
  await write(
    store.db,
    (tx) =>
      merge(
        tx,
        world,
        ids.flatMap((id) => changesOf(world, id, { plan })),
      ),
    { collide: true },
  );
}

async function list(world: World, query: Record<string, string> = {}) {
  return server.call('GET', `/api/customer_profiles?${new URLSearchParams(query).toString()}`, { token: world.token });
}

async function read(world: World, id: string, query: Record<string, string> = {}): Promise<Body> {
  const path = `/api/customer_profiles/${encodeURIComponent(id).replaceAll('.', '%2E')}?${new URLSearchParams(query).toString()}`;
  return (await server.call('GET', path, { token: world.token })).body.result;
}

/** The results of a page and of all that its `next` leads to. */
async function walk(
  world: World,
  query: Record<string, string>,
  between: (page: number) => Promise<void> = async () => {},
): Promise<Body[]> {
  const results: Body[] = [(await list(world, query)).body.result];
  while (results.at(-1).next) {
    await between(results.length);
    results.push(await follow(world, results.at(-1).next));
  }
  return results;
}

async function follow(world: World, next: string): Promise<Body> {
  expect(next).toMatch(/^http:\/\/millrace\.test\/api\/customer_profiles\?/);
  return (await server.call('GET', next.slice('http://millrace.test'.length), { token: world.token })).body.result;
}

const idsOf = (results: Body[]): string[] =>
  results.flatMap(({ profiles }) => (profiles as { customer_id: string }[]).map(({ customer_id: id }) => id));

async function now(): Promise<string> {
  const { rows } = await store.db.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  return new Date(rows[0]!.now.getTime() + 1).toISOString(); // the clock's microseconds are cut off
}

/** Lets what there is have happened an hour ago. */
async function age({ entity }: World, hours = 1): Promise<void> {
  const dated = [
    ['attribute_values', 'changed_at', 'removed_at'],
    ['attribute_change_log', 'received_at', 'committed_at'],
  ];
  for (const [table, ...columns] of dated) {
    const set = columns.map((column) => `${column} = ${column} - make_interval(hours => $2)`).join(', ');
    await store.db.query(`UPDATE ${table} SET ${set} WHERE entity_id = $1`, [entity.id, hours]);
  }
}

const aMinuteAgo = new Date(Date.now() - 60_000).toISOString();

const GLOBAL = [
  'first_name',
  'last_name',
  'email',
  'date_of_birth',
  'gender',
  'country',
  'city',
  'region',
  'profile_picture_url',
];
const noGlobal = Object.fromEntries(GLOBAL.map((key) => [key, null]));

describe('the list of profiles', () => {
  test('shows every attribute of every SoR, null where there is no value, down to the last digit', async () => {
    const world = await makeWorld(store);
    const [person] = people(1, 1);
    await give(world, person!, {
      plan: 'gold',
      score: '9223372036854775807',
      vip: false,
      born: '1815-12-10',
      tags: ['b', 'a'],
    });
    await give(world, 'device.1', { seen: '2026-01-02T03:04:05.678Z' }, 'device_id');
    const { body, text } = await list(world);
    const nothing = { plan: null, score: null, vip: null, born: null, seen: null, tags: null };
    expect(text).toContain('"score":9223372036854775807,');
    expect({
      ...body,
      result: {
        ...body.result,
        profiles: body.result.profiles.map((one: Body) => {
          delete one.attributes[world.sor.identifier].score;
          return one as unknown;
        }),
      },
    }).toEqual({
      success: true,
      result: {
        total_pages: 1,
        total_profiles: 2,
        next: null,
        profiles: [
          {
            customer_id: 'device.1',
            customer_id_type: 'device_id',
            applications: [],
            attributes: {
              global: noGlobal,
              [world.sor.identifier]: { ...nothing, seen: '2026-01-02T03:04:05.678Z', score: undefined },
            },
          },
          {
            customer_id: person,
            customer_id_type: 'user_id',
            applications: [],
            attributes: {
              global: noGlobal,
              [world.sor.identifier]: {
                ...nothing,
                plan: 'gold',
                vip: false,
                born: '1815-12-10',
                tags: ['b', 'a'],
                score: undefined,
              },
            },
          },
        ],
      },
    });
  });

  test('takes keys that objects of the language have for ordinary ones', async () => {
    const world = await makeWorld(store);
    const odd = (await write(store.db, (tx) =>
      insertCustomerAttribute(tx, world.entity.id, world.sor.id, {
        key: '__proto__',
        label: 'Odd',
        valueType: 'String',
      }),
    ))!;
    await give({ ...world, attributes: { odd } }, personId(1), { odd: 'yes' });
    expect((await list(world)).text).toContain('"__proto__":"yes"');
  });

  test('shows the SoRs and keys asked for, and counts all customers', async () => {
    const world = await makeWorld(store);
    const other = await write(store.db, async (tx) => {
      const sor = await insertCustomSor(tx, store.secrets, world.entity.id, 'Shop', world.user.id);
      await insertCustomerAttribute(tx, world.entity.id, sor.id, { key: 'size', label: 'Size', valueType: 'String' });
      return sor;
    });
    await give(world, personId(1), { plan: 'gold', vip: true });
    const [global] = await listSors(store.db, world.entity.id, ['global']);
    const everybodys = await listCustomerAttributesOf(store.db, world.entity.id, [global!.id]);
    const email = everybodys.find(({ key }) => key === 'email')!;
    const ofGlobal = { ...world, sor: { ...world.sor, id: global!.id }, attributes: { email } };
    await give(ofGlobal, personId(1), { email: personId(1) });
    const attributes = async (query: Record<string, string>) => {
      const { result } = (await list(world, query)).body;
      expect(result.total_profiles).toBe(1);
      return result.profiles[0].attributes as unknown;
    };
    expect(await attributes({ attribute_keys: 'plan,size' })).toEqual({
      global: {},
      [world.sor.identifier]: { plan: 'gold' },
      [other.identifier]: { size: null },
    });
    expect(await attributes({ attribute_keys: 'vip' })).toEqual({ global: {}, [world.sor.identifier]: { vip: true } });
    expect(await attributes({ sor_identifiers: other.identifier })).toEqual({
      global: {},
      [other.identifier]: { size: null },
    });
    expect(await attributes({ sor_identifiers: 'global' })).toEqual({ global: { ...noGlobal, email: personId(1) } });
    expect(
      await attributes({ sor_identifiers: `global,${world.sor.identifier}`, attribute_keys: 'email,plan' }),
    ).toEqual({
      global: { email: personId(1) },
      [world.sor.identifier]: { plan: 'gold' },
    });
    const {
      profiles: [changed],
    } = (await list(world, { updated_since: aMinuteAgo, attribute_keys: 'email' })).body.result;
    expect(changed.attributes).toEqual({ global: { email: { value: personId(1), removed: false } } });
  });

  test('is narrowed by type and by ids', async () => {
    const world = await makeWorld(store);
    await giveMany(world, people(1, 3));
    await give(world, personId(2), { plan: 'gold' }, 'device_id');
    const found = async (query: Record<string, string>) => {
      const { result } = (await list(world, query)).body;
      expect(result.total_profiles).toBe(result.profiles.length);
      return result.profiles.map((one: Body) => [one.customer_id, one.customer_id_type]) as unknown;
    };
    expect(await found({ customer_id_type: 'device_id' })).toEqual([[personId(2), 'device_id']]);
    expect(await found({ customer_ids: `${personId(3)},nobody,${personId(2)}` })).toEqual([
      [personId(2), 'user_id'],
      [personId(2), 'device_id'],
      [personId(3), 'user_id'],
    ]);
    expect(await found({ customer_ids: `${personId(1)},${personId(2)}`, customer_id_type: 'user_id' })).toEqual([
      [personId(1), 'user_id'],
      [personId(2), 'user_id'],
    ]);
  });

  test('comes by pages, which stay where they are when followed while others write', async () => {
    const world = await makeWorld(store);
    const ids = people(1, 25);
    await giveMany(world, ids);
    const third = (await list(world, { num_per_page: '10', page: '3' })).body.result;
    expect([third.total_pages, third.total_profiles, idsOf([third]), third.next]).toEqual([3, 25, ids.slice(20), null]);
    expect((await list(world, { num_per_page: '10', page: '4' })).body.result.profiles).toEqual([]);
    const pages = await walk(world, { num_per_page: '10' }, async (page) => giveMany(world, [`!before-${page}`]));
    expect(idsOf(pages)).toEqual(ids);
    expect(pages.map(({ total_profiles: total, profiles }) => [total, profiles.length])).toEqual([
      [25, 10],
      [25, 10],
      [25, 5],
    ]);
    expect((await list(world)).body.result.total_profiles).toBe(27);
  });

  test.each([
    ['page', '0'],
    ['page', '-1'],
    ['page', 'x'],
    ['page', '1.5'],
    ['num_per_page', '0'],
    ['num_per_page', '10001'],
    ['num_per_page', 'all'],
    ['customer_id_type', 'email'],
    ['customer_ids', ''],
    ['customer_ids', 'a,b\u0001'],
    ['sor_identifiers', 'sor_unknown'],
    ['sor_identifiers', ''],
    ['attribute_keys', ''],
    ['updated_since', 'yesterday'],
    ['updated_since', ''],
    ['cursor', 'made-up'],
  ])('refuses a wrong %s: %s, and says what is wrong with it', async (name, value) => {
    const world = await makeWorld(store);
    const { status, body } = await list(world, { [name]: value });
    expect([status, body]).toMatchObject([
      400,
      {
        status: '400',
        success: false,
        error_message: `Param ${name} is not valid`,
        messages: [{ element: expect.stringMatching(name) }],
      },
    ]);
    expect(body.errors[0]).not.toMatch(/: is not valid$/);
  });

  test('takes a cursor of its own entity and kind alone', async () => {
    const [world, stranger] = [await makeWorld(store), await makeWorld(store)];
    await giveMany(world, people(1, 3));
    const { next } = (await list(world, { num_per_page: '1' })).body.result as { next: string };
    expect(next).not.toContain('zqperson');
    const cursor = new URL(next).searchParams.get('cursor')!;
    expect((await list(stranger, { cursor })).body.error_message).toBe('Param cursor is not valid');
    expect((await list(world, { cursor, updated_since: '2026-01-01T00:00:00Z' })).body.error_message).toBe(
      'Param cursor is not valid',
    );
  });

  test.each<Record<string, string>>([{}, { updated_since: '2026-01-01T00:00:00Z' }, { updated_since: aMinuteAgo }])(
    'takes a cursor with the filters it was given for alone, so that the audit log tells who was shown: %#',
    async (query) => {
      const world = await makeWorld(store);
      await giveMany(world, people(1, 3));
      const { next } = (await list(world, { ...query, num_per_page: '1', attribute_keys: 'plan' })).body.result as {
        next: string;
      };
      const cursor = new URL(next).searchParams.get('cursor')!;
      const asked = async (filters: Record<string, string>) => list(world, { ...query, cursor, ...filters });
      const others: Record<string, string>[] = [
        { attribute_keys: 'plan', customer_ids: personId(1) },
        {},
        { attribute_keys: 'vip' },
      ];
      for (const filters of others) {
        expect((await asked(filters)).body.error_message).toBe('Param cursor is not valid');
      }
      expect(idsOf([(await asked({ attribute_keys: 'plan', num_per_page: '5' })).body.result])).toEqual(people(2, 3));
    },
  );

  test('shows Sets of any size, by portions', async () => {
    const world = await makeWorld(store);
    const elements = Array.from({ length: 1000 }, (_, number) => `e${number}`);
    const ids = people(1, 120);
    await write(store.db, (tx) =>
      merge(
        tx,
        world,
        ids.flatMap((id) => changesOf(world, id, { tags: elements })),
      ),
    );
    const { result } = (await list(world, { attribute_keys: 'tags' })).body;
    expect(idsOf([result])).toEqual(ids);
    for (const { attributes } of result.profiles) expect(attributes[world.sor.identifier].tags).toHaveLength(1000);
  });
});

describe('what changed', () => {
  test('since a date is each value with whether it was removed, and nothing that changed before', async () => {
    const world = await makeWorld(store);
    const [one, two, three] = [personId(1), personId(2), personId(3)];
    await give(world, one, { plan: 'gold', vip: true, score: '1', tags: ['a', 'b'] });
    await give(world, two, { plan: 'gold' });
    await give(world, three, { plan: 'gold', vip: true });
    await give(world, three, { vip: null });
    const since = await now();
    await give(world, one, { plan: 'silver', vip: null, score: '2', tags: ['a', 'b', 'c'] });
    await give(world, one, { score: null });
    await give(world, three, { plan: null });
    await give(world, three, { plan: 'bronze' });
    const { result } = (await list(world, { updated_since: since })).body;
    expect(result.profiles).toEqual([
      {
        customer_id: one,
        customer_id_type: 'user_id',
        applications: [],
        attributes: {
          global: {},
          [world.sor.identifier]: {
            plan: { value: 'silver', removed: false },
            vip: { value: null, removed: true },
            score: { value: null, removed: true },
            tags: { value: ['a', 'b', 'c'], removed: false },
          },
        },
      },
      {
        customer_id: three,
        customer_id_type: 'user_id',
        applications: [],
        attributes: { global: {}, [world.sor.identifier]: { plan: { value: 'bronze', removed: false } } },
      },
    ]);
    expect(result).toMatchObject({ next: null });
    expect(result).not.toHaveProperty('total_pages');
    const of = async (query: Record<string, string>) =>
      idsOf([(await list(world, { updated_since: since, ...query })).body.result]);
    expect(await of({ attribute_keys: 'vip' })).toEqual([one]);
    expect(await of({ customer_ids: `${two},${three}` })).toEqual([three]);
    expect(await of({ customer_id_type: 'device_id' })).toEqual([]);
    expect(await of({ sor_identifiers: 'global' })).toEqual([]);
    expect(await of({ updated_since: await now() })).toEqual([]);
  });

  test('is followed by next to its end while others write, and each change comes', async () => {
    const world = await makeWorld(store);
    await giveMany(world, people(1, 40), 'old');
    await age(world);
    const since = await now();
    const changed = people(1, 25);
    await giveMany(world, changed.slice(0, 12), 'new');
    await giveMany(world, changed.slice(10), 'newer');
    const another = async (page: number) => giveMany(world, [personId(100 + page)]);
    const pages = await walk(world, { updated_since: since, num_per_page: '4' }, another);
    expect([...new Set(idsOf(pages))].toSorted((a, b) => (a < b ? -1 : 1))).toEqual(changed);
    for (const { profiles } of pages) expect(profiles.length).toBeLessThanOrEqual(4);
    const later = await walk(world, { updated_since: pages.at(-1).updated_until, num_per_page: '1000' });
    expect(idsOf(later)).toContain(personId(101));
  });

  test('is asked for again from now on after a date to come, which a clock gone wrong may give', async () => {
    const world = await makeWorld(store);
    const [{ updated_until: until }] = (await walk(world, { updated_since: '2999-01-01T00:00:00Z' })) as [Body];
    expect(Date.parse(until)).toBeLessThan(Date.now());
    await giveMany(world, people(1, 2));
    expect(idsOf(await walk(world, { updated_since: until }))).toEqual(people(1, 2));
  });

  test.each(["a date of the caller's own", 'updated_until'])(
    'that was written before a page was read and committed after it is not missed, by %s',
    async (how) => {
      const world = await makeWorld(store);
      await giveMany(world, people(1, 6), 'old');
      await age(world);
      const begun = new Date(Date.now() - 600_000).toISOString();
      const late = await store.db.connect();
      try {
        await late.query('BEGIN');
        await merge(late, world, changesOf(world, personId(50), { plan: 'late', tags: ['late'] }));
        await giveMany(world, people(1, 4), 'new');
        const pages = await walk(world, { updated_since: begun, num_per_page: '2' });
        expect(idsOf(pages)).toEqual(people(1, 4));
        const date =
          how === 'updated_until' ? (pages.at(-1).updated_until as string) : new Date(Date.now() - 1).toISOString();
        await late.query('COMMIT');
        const after = await walk(world, { updated_since: date });
        expect(idsOf(after)).toContain(personId(50));
        const found = after
          .flatMap(({ profiles }) => profiles as Body[])
          .find(({ customer_id: id }: Body) => id === personId(50));
        expect(found.attributes[world.sor.identifier]).toEqual({
          plan: { value: 'late', removed: false },
          tags: { value: ['late'], removed: false },
        });
      } finally {
        await late.query('ROLLBACK');
        late.release();
      }
    },
  );

  test('before the change log began is found by looking at each customer', async () => {
    const world = await makeWorld(store);
    await giveMany(world, people(1, 5), 'old');
    await age(world, 24 * 50);
    await giveMany(world, people(3, 9), 'new');
    await age(world, 24 * 42);
    await addPendingCustomers(store.db, world.entity.id);
    await store.db.query('DELETE FROM attribute_change_log WHERE entity_id = $1', [world.entity.id]);
    const since = new Date(Date.now() - 45 * 86_400_000).toISOString();
    const pages = await walk(world, { updated_since: since, num_per_page: '3' });
    expect(idsOf(pages)).toEqual(people(3, 9));
  });

  test('long ago is found behind twenty thousand customers of whom nothing did', async () => {
    const world = await makeWorld(store);
    await giveMany(world, people(1, 1), 'new');
    await store.db.query(
      `INSERT INTO attribute_values (entity_id, sor_id, customer_type, attribute_id, customer_id, changed_at, string_value)
       SELECT $1, $2, 0, $3, 'a' || n, now() - interval '60 days', 'old' FROM generate_series(1, 20000) n`,
      [world.entity.id, world.sor.id, world.attributes.plan!.id],
    );
    await store.db.query(`INSERT INTO customers SELECT $1, 0, 'a' || n FROM generate_series(1, 20000) n`, [
      world.entity.id,
    ]);
    const since = new Date(Date.now() - 45 * 86_400_000).toISOString();
    const pages = await walk(world, { updated_since: since });
    expect(pages.map(({ profiles }) => profiles.length)).toEqual([0, 1]);
    expect(idsOf(pages)).toEqual(people(1, 1));
    const sizeOf = async (query: Record<string, string>) => {
      const { profiles, total_pages: total } = (await list(world, query)).body.result;
      return [profiles.length as number, total as number];
    };
    expect([await sizeOf({}), await sizeOf({ num_per_page: '10000' })]).toEqual([
      [2_000, 11],
      [10_000, 3],
    ]);
  });

  test('fills pages where a customer has hundreds of attributes', async () => {
    const world = await makeWorld(store);
    const { entity, sor } = world;
    const keys = Array.from({ length: 500 }, (_, number) => `k${number}`);
    const attributes: World['attributes'] = {};
    await write(store.db, async (tx) => {
      for (const key of keys) {
        attributes[key] = (await insertCustomerAttribute(tx, entity.id, sor.id, {
          key,
          label: key,
          valueType: 'String',
        }))!;
      }
    });
    const values = Object.fromEntries(keys.map((key) => [key, 'x']));
    const changes = people(1, 45).flatMap((id) => changesOf({ ...world, attributes }, id, values));
    await write(store.db, (tx) => merge(tx, world, changes));
    const pages = await walk(world, { updated_since: aMinuteAgo, num_per_page: '30' });
    expect(pages.map(({ profiles }) => profiles.length)).toEqual([30, 15]);
    expect(idsOf(pages)).toEqual(people(1, 45));
  });

  test('of a deleted attribute is not told', async () => {
    const world = await makeWorld(store);
    await give(world, personId(1), { plan: 'gold', vip: true });
    await write(store.db, (tx) => deleteCustomerAttribute(tx, world.entity.id, world.attributes.plan!.id));
    const { result } = (await list(world, { updated_since: '2026-01-01T00:00:00+01:00' })).body;
    expect(result.profiles[0].attributes[world.sor.identifier]).toEqual({ vip: { value: true, removed: false } });
    expect((await list(world)).body.result.profiles[0].attributes[world.sor.identifier]).not.toHaveProperty('plan');
  });
});

describe('the profiles of a customer id', () => {
  test('are one for each type that it is known as', async () => {
    const world = await makeWorld(store);
    await give(world, personId(1), { plan: 'gold' });
    await give(world, personId(1), { plan: 'silver' }, 'device_id');
    const plans = (profiles: Body) =>
      profiles.map((one: Body) => [one.customer_id_type, one.attributes[world.sor.identifier].plan]) as unknown;
    expect(plans(await read(world, personId(1)))).toEqual([
      ['user_id', 'gold'],
      ['device_id', 'silver'],
    ]);
    expect(plans(await read(world, personId(1), { customer_id_type: 'device_id' }))).toEqual([['device_id', 'silver']]);
    const [vip] = await read(world, personId(1), { attribute_keys: 'vip', sor_identifiers: world.sor.identifier });
    expect(vip.attributes).toEqual({ global: {}, [world.sor.identifier]: { vip: null } });
    expect(await read(world, 'nobody')).toEqual([]);
  });

  test('refuse wrong filters in the same words', async () => {
    const world = await makeWorld(store);
    const { status, body } = await server.call('GET', '/api/customer_profiles/a?customer_id_type=email', {
      token: world.token,
    });
    expect([status, body.error_message]).toEqual([400, 'Param customer_id_type is not valid']);
  });
});

describe('a file of profiles', () => {
  const fileOf = async (world: World, query: Record<string, string> = {}, form = '.csv') => {
    const search = new URLSearchParams({ ...query, skip_email: 'true' }).toString();
    const { body } = await server.call('GET', `/api/customer_profiles/export${form}?${search}`, { token: world.token });
    return rowsOfFile(store, world.entity.id, body.result.callback as string);
  };

  test('has a row for each value that is there, by customer', async () => {
    const world = await makeWorld(store);
    await giveMany(world, people(1, 1_100));
    await give(world, personId(1), {
      score: '9223372036854775807',
      tags: ['b', 'a;c'],
      vip: true,
      seen: '2026-11-05T10:00:00Z',
    });
    await give(world, personId(2), { plan: null });
    await give(world, 'phone', { plan: 'silver' }, 'device_id');
    const [columns, ...rows] = await fileOf(world);
    expect(columns!.join(';')).toBe(
      'system_of_record_identifier;customer_attribute_identifier;customer_attribute_key;' +
        'customer_attribute_value;customer_id_type;customer_id',
    );
    expect(rows).toHaveLength(1_100 + 4 - 1 + 1);
    const of = (id: string) =>
      rows
        .filter((row) => row[5] === id)
        .map(([sor, attribute, key, value, type]) => {
          expect([sor, attribute]).toEqual([world.sor.identifier, world.attributes[String(key)]!.identifier]);
          return [key, value, type];
        });
    expect(of(personId(1))).toEqual(
      expect.arrayContaining([
        ['plan', 'gold', 'user_id'],
        ['score', '9223372036854775807', 'user_id'],
        ['vip', 'true', 'user_id'],
        ['tags', expect.stringMatching(/^(b;a;c|a;c;b)$/), 'user_id'],
        ['seen', '2026-11-05T10:00:00.000Z', 'user_id'],
      ]),
    );
    expect([of(personId(2)), of('phone')]).toEqual([[], [['plan', 'silver', 'device_id']]]);
  });

  test('takes the filters of the list', async () => {
    const world = await makeWorld(store);
    await giveMany(world, people(1, 3));
    await give(world, personId(2), { vip: true });
    const values = async (query: Record<string, string>) =>
      (await fileOf(world, query, '')).slice(1).map((row) => [row[5], row[2]]);
    expect(await values({ customer_ids: personId(2) })).toEqual([
      [personId(2), 'plan'],
      [personId(2), 'vip'],
    ]);
    expect(await values({ attribute_keys: 'vip' })).toEqual([[personId(2), 'vip']]);
    expect(await values({ customer_id_type: 'device_id' })).toEqual([]);
    expect(await values({ updated_since: '2999-01-01T00:00:00Z' })).toEqual([]);
    expect(await values({ updated_since: '2020-01-01T00:00:00Z' })).toHaveLength(4);
    await age(world);
    await give(world, personId(3), { vip: true });
    expect(await values({ updated_since: aMinuteAgo })).toEqual([[personId(3), 'vip']]);
    const { body } = await server.call('GET', '/api/customer_profiles/export?sor_identifiers=sor_none', {
      token: world.token,
    });
    expect(body.error_message).toBe('Param sor_identifiers is not valid');
  });
});

test('who read profiles stands in the audit log: by hash who was asked for by name, once a page of anybody', async () => {
  const world = await makeWorld(store);
  await giveMany(world, people(1, 3));
  await list(world);
  await list(world, { customer_ids: personId(2), customer_id_type: 'user_id' });
  await read(world, personId(3), { customer_id_type: 'user_id' });
  await list(world, { updated_since: '2026-01-01T00:00:00Z' });
  const { rows } = await store.db.query(
    `SELECT customer_hash, details FROM audit_log WHERE entity_id = $1 AND action = 'read' AND subject_kind = 'customer' ORDER BY id`,
    [world.entity.id],
  );
  const hash = (id: string) => store.secrets.customerHash(world.entity.id, 'user_id', id);
  expect(rows).toEqual([
    { customer_hash: null, details: { profiles: 3 } },
    { customer_hash: hash(personId(2)), details: { profiles: 1 } },
    { customer_hash: hash(personId(3)), details: {} },
    { customer_hash: null, details: { profiles: 3 } },
  ]);
});
