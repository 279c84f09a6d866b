import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { parquetReadObjects } from 'hyparquet';
import { beforeAll, describe, expect, it } from 'vitest';
import { parquetOf } from '../../../activities/exports/type-files.ts';
import type { AttributeChange } from '../../../domain/attributes/attribute-change.ts';
import { parseAttributeValue } from '../../../domain/attributes/attribute-value.ts';
import type { CustomerType } from '../../../domain/attributes/customer-id.ts';
import { exportColumns } from '../../../domain/exports/export-columns.ts';
import type { ExportFormat } from '../../../domain/exports/export-data-type.ts';
import { insertCustomerAttribute, updateCustomerAttribute } from '../../../store/attributes/customer-attributes.ts';
import { mergeAttributeValues, prepareChanges } from '../../../store/attributes/merge-attribute-values.ts';
import { deleteSor, insertAppSor } from '../../../store/attributes/systems-of-records.ts';
import { write } from '../../../store/core/database.ts';
import { exportSession } from '../../../store/exports/export-session.ts';
import { countAmbiguousSets, type ExportScope } from '../../../store/exports/export-sources.ts';
import { customerProfiles } from '../../../store/files/file-sources/customer-profiles.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { exportedRows, readExported } from '../../harness/exports/exported-rows.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

let store: TestStore;

beforeAll(async () => {
  store = await testStore();
});

let line = 1;

type Change = { key: string; value?: string | boolean | null; add?: string[]; type?: CustomerType; who?: number };

function change({ attributes }: World, { key, value = null, add, type = 'user_id', who = 1 }: Change): AttributeChange {
  const { id, valueType } = attributes[key]!;
  const whose = { line: line++, attributeId: id, customerType: type, customerId: personId(who) };
  return add
    ? { kind: 'set', action: 'UPSERT', elements: add, ...whose }
    : { kind: 'value', valueType: valueType as 'String', value, ...whose };
}

/** Returns when the transaction began, as Postgres writes it. */
async function merge(world: World, changes: Change[], sorId = world.sor.id): Promise<string> {
  return write(store.db, async (tx) => {
    await mergeAttributeValues(
      tx,
      store.secrets,
      world.entity.id,
      sorId,
      prepareChanges(changes.map((given) => change(world, given))),
    );
    return (await tx.query<{ at: string }>('SELECT now()::text AS at')).rows[0]!.at;
  });
}

const HOUR_MS = 3_600_000;

/** With a start of late they are read by the log of changes, from the beginning by the table. */
const WAYS = { 'by the log of changes': () => new Date(Date.now() - HOUR_MS), 'by the table': () => null };

const scopeOf = (
  { entity, sor }: Pick<World, 'entity' | 'sor'>,
  start: Date | null,
  changes: Partial<ExportScope> = {},
): ExportScope => ({
  entityId: entity.id,
  apps: [],
  sors: [sor],
  format: 'csv',
  window: { kind: 'received', start, end: new Date(Date.now() + HOUR_MS) },
  ...changes,
});

type Row = Record<string, unknown>;

/** The rows of an export's text, which for Parquet becomes a file first. */
async function readRows(format: ExportFormat, text: string): Promise<Row[]> {
  if (format === 'csv') {
    const columns = [...exportColumns('attributes')];
    return parse<Row>(text, { columns, cast: (value, { quoting }) => (value === '' && !quoting ? null : value) });
  }
  if (format === 'jsonl')
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Row);
  const bytes = Buffer.concat(await Array.fromAsync(parquetOf('attributes', Readable.from([Buffer.from(text)]))));
  return parquetReadObjects({ file: Uint8Array.from(bytes).buffer });
}

/** The value as an import takes it; a Set from its list, if the format has one. */
function valueOf({ attributes }: World, row: Row): unknown {
  const { customer_attribute_key: key, customer_attribute_value: value, customer_attribute_elements: elements } = row;
  if (Array.isArray(elements ?? value)) return elements ?? value;
  const type = attributes[String(key)]!.valueType;
  const parsed = parseAttributeValue(type as 'String', String(value));
  return parsed.ok ? parsed.value : type === 'Set' && value === '' ? [] : parsed;
}

const GIVEN: Change[] = [
  { key: 'plan', value: 'gold, "silver";\nand \u{1F600}' },
  { key: 'score', value: '9007199254740993.10' },
  { key: 'vip', value: false },
  { key: 'born', value: '0099-02-28' },
  { key: 'seen', value: '2026-01-02T03:04:05.670Z' },
  { key: 'tags', add: ['b', 'a,"', 'c'] },
];

describe.each(Object.entries(WAYS))('attributes that are exported %s', (_, start) => {
  it('have all columns, and values that an import reads as what they were', async () => {
    const world = await makeWorld(store);
    const at = await merge(world, GIVEN);
    const rows = await exportedRows(store.db, 'attributes', scopeOf(world, start()));
    expect(rows).toHaveLength(GIVEN.length);
    for (const { key, value, add } of GIVEN) {
      const { identifier, valueType } = world.attributes[key]!;
      const found = rows.find((row) => row.customer_attribute_key === key)!;
      expect(found).toEqual({
        system_of_record_identifier: world.sor.identifier,
        customer_attribute_identifier: identifier,
        customer_attribute_key: key,
        customer_attribute_value: add ? 'b;a,";c' : String(value),
        customer_id_type: 'user_id',
        customer_id: personId(1),
        changed_at: `${at.slice(0, 10)}T${at.slice(11).replace(/\+00$/, '').padEnd(15, '0').slice(0, 12)}Z`,
        removed: 'false',
      });
      expect(parseAttributeValue(valueType as 'String', found.customer_attribute_value!)).toEqual({
        ok: true,
        value: add ?? value,
      });
    }
  });

  it('tell of what was removed, once, and of an empty Set', async () => {
    const world = await makeWorld(store);
    await merge(world, [...GIVEN, { key: 'plan', value: 'iron', type: 'device_id' }]);
    await merge(world, [{ key: 'plan' }, { key: 'tags', add: [] }]);
    const rows = await exportedRows(store.db, 'attributes', scopeOf(world, start()));
    expect(rows).toHaveLength(GIVEN.length + 1);
    const told = rows.map((row) => [
      row.customer_attribute_key,
      row.customer_id_type,
      row.customer_attribute_value,
      row.removed,
    ]);
    expect(told).toContainEqual(['plan', 'user_id', null, 'true']);
    expect(told).toContainEqual(['plan', 'device_id', 'iron', 'false']);
    expect(told).toContainEqual(['tags', 'user_id', '', 'false']);
  });

  it('give any Set and any text back as JSON Lines, whatever stands in them', async () => {
    const world = await makeWorld(store);
    const text = fc.string({
      unit: fc.constantFrom('a', ';', '"', ',', '\\', '\n', 'é', '\u{1F600}'),
      minLength: 1,
      maxLength: 4,
    });
    const given = fc.sample(
      fc.record({ set: fc.uniqueArray(text, { minLength: 1, maxLength: 4 }), plan: text }),
      sampledRuns(200),
    );
    await merge(
      world,
      given.flatMap(({ set, plan }, who): Change[] => [
        { key: 'tags', add: set, who },
        { key: 'plan', value: plan, who },
      ]),
    );
    const { text: lines } = await readExported(store.db, 'attributes', scopeOf(world, start(), { format: 'jsonl' }));
    type Line = { customer_id: string; customer_attribute_key: string; customer_attribute_value: unknown };
    const read = new Map(
      lines
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Line)
        .map((line) => [`${line.customer_id} ${line.customer_attribute_key}`, line.customer_attribute_value]),
    );
    expect(read.size).toBe(given.length * 2);
    for (const [who, { set, plan }] of given.entries()) {
      expect((read.get(`${personId(who)} tags`) as string[]).toSorted()).toEqual(set.toSorted());
      expect(read.get(`${personId(who)} plan`)).toBe(plan);
    }
  });

  it('read back equal from JSON Lines and Parquet, and from CSV but for the Sets that are counted', async () => {
    const world = await makeWorld(store);
    const text = fc.string({
      unit: fc.constantFrom('a', ';', '"', ',', '\\', '\n', ' ', 'é', '\u{1F600}'),
      minLength: 1,
      maxLength: 4,
    });
    const element = fc.oneof({ weight: 9, arbitrary: text }, { weight: 1, arbitrary: fc.constant('') });
    const time = (min: string, max: string) =>
      fc.date({ min: new Date(min), max: new Date(max), noInvalidDate: true }).map((moment) => moment.toISOString());
    const people = fc.sample(
      fc.record({
        tags: fc.uniqueArray(element, { maxLength: 4 }),
        plan: fc.option(text),
        vip: fc.boolean(),
        score: fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n }).map(String),
        born: time('0001-01-01', '9999-12-31').map((moment) => moment.slice(0, 10)),
        seen: time('1900-01-01', '2100-01-01'),
      }),
      sampledRuns(300),
    );
    const given = people.flatMap((values, who) => Object.entries(values).map(([key, value]) => ({ key, value, who })));
    // A value that is removed and a Set that is emptied were something before.
    const before = (value: unknown) => (value === null ? { value: 'gone' } : { add: ['first'] });
    await merge(
      world,
      given.flatMap(({ key, value, who }): Change[] =>
        value === null || Array.isArray(value) ? [{ key, who, ...before(value) }] : [],
      ),
    );
    await merge(
      world,
      given.map(({ key, value, who }): Change => ({
        key,
        who,
        ...(Array.isArray(value) ? { add: value } : { value }),
      })),
    );
    const read = async (format: ExportFormat): Promise<Map<string, unknown>> => {
      const { text: bytes } = await readExported(store.db, 'attributes', scopeOf(world, start(), { format }));
      const rows = await readRows(format, bytes);
      return new Map(
        rows.map((row) => [
          [row['customer_id'], row['customer_attribute_key']].join(' '),
          String(row['removed']) === 'true' ? null : valueOf(world, row),
        ]),
      );
    };
    const expected = new Map(given.map(({ key, value, who }) => [`${personId(who)} ${key}`, value]));
    for (const format of ['jsonl', 'parquet'] as const) expect(await read(format)).toEqual(expected);
    const csv = await read('csv');
    const lost = [...expected.keys()].filter((name) => !isDeepStrictEqual(csv.get(name), expected.get(name)));
    const isAmbiguous = (value: unknown) =>
      Array.isArray(value) && value.some((one: string) => one === '' || one.includes(';'));
    expect(lost).toEqual([...expected.keys()].filter((name) => isAmbiguous(expected.get(name))));
    expect(lost.length).toBeGreaterThan(0);
    const { session, release } = await exportSession(store.db);
    const counted = (format: ExportFormat) =>
      countAmbiguousSets(session, 'attributes', scopeOf(world, start(), { format }));
    expect([await counted('csv'), await counted('jsonl'), await counted('parquet')]).toEqual([lost.length, null, null]);
    release();
  });

  it('of an attribute that became a String hold the texts of all its values, in files that people ask for, too', async () => {
    const world = await makeWorld(store);
    const { entity, sor, attributes } = world;
    const scalars = GIVEN.filter(({ key }) => key !== 'tags');
    await merge(world, scalars);
    for (const { key } of scalars)
      await updateCustomerAttribute(store.db, entity.id, attributes[key]!.id, { valueType: 'String' });
    const widened = {
      ...world,
      attributes: Object.fromEntries(
        Object.entries(attributes).map(([key, attribute]) => [key, { ...attribute, valueType: 'String' as const }]),
      ),
    };
    await merge(
      widened,
      scalars.map(({ key }) => ({ key, value: `text of ${key}`, who: 2 })),
    );
    const inOrder = (values: readonly unknown[][]) => values.map((value) => JSON.stringify(value)).toSorted();
    const expected = inOrder(
      scalars.flatMap(({ key, value }) =>
        [
          [personId(1), key, value],
          [personId(2), key, `text of ${key}`],
        ].map((one) => one.map(String)),
      ),
    );
    for (const format of ['csv', 'jsonl', 'parquet'] as const) {
      const { text } = await readExported(store.db, 'attributes', scopeOf(world, start(), { format }));
      const rows = await readRows(format, text);
      const values = rows.map(({ customer_id: id, customer_attribute_key: key, customer_attribute_value: value }) => [
        id,
        key,
        value,
      ]);
      expect([format, inOrder(values)]).toEqual([format, expected]);
    }
    const sors = [{ ...sor, attributes: Object.values(attributes) }];
    const cells = (
      await Array.fromAsync(
        customerProfiles.rows(store.db, entity.id, { sors, customerType: null, customerIds: null, since: null }),
      )
    ).flat();
    expect(inOrder(cells.map(([, , key, value, , id]) => [id, key, value]))).toEqual(expected);
  });

  it('are those of the Systems of Records asked for, of SDKs too, that live', async () => {
    const world = await makeWorld(store);
    const other = await makeWorld(store);
    const app = await insertSampleApp(store.db, world.entity.id, `com.example.of-${world.entity.id}`);
    const ofApp = await insertAppSor(store.db, world.entity.id, app.id);
    const given = { key: 'trait', label: 'Trait', valueType: 'String' } as const;
    const attribute = (await insertCustomerAttribute(store.db, world.entity.id, ofApp.id, given))!;
    await merge(world, GIVEN);
    await merge(other, GIVEN);
    await merge({ ...world, attributes: { trait: attribute } }, [{ key: 'trait', value: 'told' }], ofApp.id);
    const read = async (sors: ExportScope['sors']) =>
      (await exportedRows(store.db, 'attributes', scopeOf(world, start(), { sors }))).map((row) => [
        row.system_of_record_identifier,
        row.customer_attribute_key,
      ]);
    expect(await read([ofApp])).toEqual([[ofApp.identifier, 'trait']]);
    expect(await read([ofApp, world.sor, other.sor])).toHaveLength(GIVEN.length + 1);
    expect(await read([other.sor])).toEqual([]);
    expect(await read([])).toEqual([]);
    await store.db.query('UPDATE customer_attributes SET deleted_at = now() WHERE entity_id = $1 AND id = $2', [
      world.entity.id,
      world.attributes.plan!.id,
    ]);
    expect(await read([world.sor])).toHaveLength(GIVEN.length - 1);
    await write(store.db, (tx) => deleteSor(tx, world.entity.id, world.sor.id));
    expect(await read([ofApp, world.sor])).toEqual([[ofApp.identifier, 'trait']]);
  });

  it('are in one of adjacent windows each, and as lines of JSON the same', async () => {
    const world = await makeWorld(store);
    for (let who = 0; who < 6; who += 1)
      await merge(
        world,
        GIVEN.map((given) => ({ ...given, who })),
      );
    await merge(world, [
      { key: 'score', value: '7', who: 2 },
      { key: 'tags', add: ['x'], who: 2 },
    ]);
    const { rows: moments } = await store.db.query<{ at: Date }>(
      'SELECT DISTINCT changed_at AS at FROM attribute_values WHERE entity_id = $1 ORDER BY 1',
      [world.entity.id],
    );
    const all = await readExported(store.db, 'attributes', scopeOf(world, start()));
    expect(all.rows).toBe(36);
    expect(all.expected).toBe(36);
    const end = new Date(Date.now() + HOUR_MS);
    await fc.assert(
      fc.asyncProperty(fc.subarray(moments.map(({ at }) => at)), async (cuts) => {
        const bounds = [start(), ...cuts, end];
        const texts: string[] = [];
        for (const [at, until] of bounds.slice(1).entries()) {
          const window = { kind: 'received' as const, start: bounds[at]!, end: until! };
          texts.push(
            ...(await readExported(store.db, 'attributes', scopeOf(world, null, { window }))).text
              .split('\n')
              .slice(0, -1),
          );
        }
        expect(texts.toSorted()).toEqual(all.text.split('\n').slice(0, -1).toSorted());
      }),
      { numRuns: sampledRuns(8) },
    );
    const json = (await readExported(store.db, 'attributes', scopeOf(world, start(), { format: 'jsonl' }))).text
      .split('\n')
      .slice(0, -1);
    const valueOf = (text: string) =>
      (JSON.parse(text) as { customer_attribute_value: string | string[] }).customer_attribute_value;
    expect(json.map(valueOf).map((value) => (Array.isArray(value) ? value.join(';') : value))).toEqual(
      (await exportedRows(store.db, 'attributes', scopeOf(world, start()))).map((row) => row.customer_attribute_value),
    );
  });

  it('go on at each place with the same bytes', async () => {
    const world = await makeWorld(store);
    const customers = [...Array(9_000).keys()];
    for (const key of ['plan', 'vip', 'plan']) {
      await merge(
        world,
        customers.map((who) => ({ key, who, value: key === 'vip' ? true : `${key} ${line} ${'x'.repeat(100)}` })),
      );
    }
    const scope = scopeOf(world, start());
    const whole = await readExported(store.db, 'attributes', scope);
    expect(whole.slices.length).toBeGreaterThan(1);
    expect(whole.rows).toBe(18_000);
    expect(JSON.stringify(whole.slices.map(({ next }) => next))).not.toContain(personId(1));
    for (const [at, { next }] of whole.slices.entries()) {
      expect((await readExported(store.db, 'attributes', scope, next)).slices).toEqual(whole.slices.slice(at + 1));
    }
  });
});

it('attributes of a window that the log of changes may lose while it is read are exported by the table', async () => {
  const world = await makeWorld(store);
  await merge(world, GIVEN);
  const daysAgo = (days: number) => new Date(Date.now() - days * 24 * HOUR_MS);
  const since = async (days: number) => readExported(store.db, 'attributes', scopeOf(world, daysAgo(days)));
  const [late, early] = [await since(30), await since(35)];
  expect(late.slices.every(({ next }) => 'changedSince' in next)).toBe(true);
  expect(early.slices.some(({ next }) => 'changedSince' in next)).toBe(false);
  expect(early.text.split('\n').toSorted()).toEqual(late.text.split('\n').toSorted());
  expect(early.rows).toBe(GIVEN.length);
});
