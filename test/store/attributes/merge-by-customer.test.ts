import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { AttributeChange } from '../../../domain/attributes/attribute-change.ts';
import { mergeAttributeValues, prepareChanges } from '../../../store/attributes/merge-attribute-values.ts';
import { type Tx, write } from '../../../store/core/database.ts';
import { testStore, type TestStore, vacuum } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

let store: TestStore;

beforeAll(async () => {
  store = await testStore();
});

const KEYS = ['plan', 'score', 'vip', 'born', 'seen'] as const;
const VALUES = {
  plan: ['gold', 'silver', ''],
  score: ['1', '1.0', '2'],
  vip: [true, false],
  born: ['1999-01-01', '1999-02-28'],
  seen: ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.678Z'],
};

type Row = { who: number; type: 'user_id' | 'device_id'; key: (typeof KEYS)[number]; value: number | null };

function toChange({ attributes }: World, { who, type, key, value }: Row, line: number): AttributeChange {
  const { id, valueType } = attributes[key]!;
  const values: readonly (string | boolean)[] = VALUES[key];
  return {
    kind: 'value',
    line,
    attributeId: id,
    valueType: valueType as 'String',
    customerType: type,
    customerId: personId(who),
    value: value === null ? null : values[value % values.length]!,
  };
}

async function merge(world: World, rows: Row[], isByCustomer: boolean): Promise<void> {
  const prepared = { ...prepareChanges(rows.map((row, line) => toChange(world, row, line))), isByCustomer };
  await write(store.db, (tx) => mergeAttributeValues(tx, store.secrets, world.entity.id, world.sor.id, prepared));
}

async function stored({ entity, attributes }: World) {
  const keys = new Map(Object.entries(attributes).map(([key, { id }]) => [id, key]));
  const { rows } = await store.db.query<{ attribute_id: number }>(
    `SELECT attribute_id, customer_id, customer_type, removed_at IS NOT NULL AS removed, string_value, number_value::text, boolean_value,
       date_value, datetime_value
     FROM attribute_values WHERE entity_id = $1 ORDER BY customer_id, customer_type, attribute_id`,
    [entity.id],
  );
  return rows.map(({ attribute_id: id, ...row }) => ({ key: keys.get(id), ...row }));
}

async function logged({ entity }: World) {
  const { rows } = await store.db.query(
    `SELECT customer_type, pending, array_agg(c ORDER BY c) AS ids
     FROM attribute_change_log l, unnest(l.customer_ids) AS c WHERE entity_id = $1 GROUP BY l.id, customer_type, pending
     ORDER BY l.id, customer_type, pending`,
    [entity.id],
  );
  return rows.map((row) => JSON.stringify(row)).toSorted((a, b) => (a < b ? -1 : 1));
}

const aRow = fc.record<Row>({
  who: fc.integer({ min: 1, max: 4 }),
  type: fc.constantFrom('user_id', 'device_id'),
  key: fc.constantFrom(...KEYS),
  value: fc.option(fc.nat({ max: 2 }), { nil: null }),
});

describe('a merge of rows that stand by customer', () => {
  it('leaves what one leaves that looks each row up', async () => {
    const merges = fc.array(fc.array(aRow, { minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(merges, async (batches) => {
        const [one, other] = [await makeWorld(store), await makeWorld(store)];
        for (const rows of batches) {
          await merge(one, rows, true);
          await merge(other, rows, false);
        }
        expect(await stored(one)).toEqual(await stored(other));
        expect(await logged(one)).toEqual(await logged(other));
      }),
      { numRuns: sampledRuns(40) },
    );
  });

  it('reads no table from its beginning to its end, whatever the planner takes it for', async () => {
    const world = await makeWorld(store);
    await store.db.query('DELETE FROM attribute_values');
    await vacuum(store.db, 'attribute_values');
    const scans = async (tx: Tx) =>
      (
        await tx.query<{ scans: number }>(
          `SELECT seq_scan AS scans FROM pg_stat_xact_user_tables WHERE relname = 'attribute_values'`,
        )
      ).rows[0]!.scans;
    const rows = Array.from({ length: 500 }, (_, who) =>
      KEYS.map((key) => ({ who, type: 'user_id', key, value: 1 }) as const),
    ).flat();
    const prepared = prepareChanges(rows.map((row, line) => toChange(world, row, line)));
    expect(prepared.isByCustomer).toBe(true);
    for (const known of [0, rows.length]) {
      expect(await stored(world)).toHaveLength(known);
      await write(store.db, async (tx) => {
        const before = await scans(tx);
        await mergeAttributeValues(tx, store.secrets, world.entity.id, world.sor.id, prepared);
        expect(await scans(tx)).toBe(before);
      });
    }
  });

  it('is one only where a customer has several rows in a row, of attributes that most others have too', async () => {
    const world = await makeWorld(store);
    const isByCustomer = (rows: [who: number, attributeId: number][]) =>
      prepareChanges(
        rows.map(
          ([who, attributeId], line) =>
            ({
              ...toChange(world, { who, type: 'user_id', key: 'plan', value: 0 }, line),
              attributeId,
            }) as AttributeChange,
        ),
      ).isByCustomer;
    const square = [0, 1, 2, 3].flatMap((who) => [0, 1, 2, 3].map((attribute): [number, number] => [who, attribute]));
    expect(isByCustomer(square)).toBe(true);
    expect(isByCustomer(square.toSorted(([, a], [, b]) => a - b))).toBe(false);
    expect(isByCustomer(square.filter(([, attribute]) => attribute < 3))).toBe(false);
    // Four rows each, of eight attributes in all, and of nine.
    expect(isByCustomer(square.map(([who, attribute]) => [who, attribute + (who % 2) * 4]))).toBe(true);
    expect(
      isByCustomer(
        square.map(([who, attribute]) => [who, attribute === 3 && who === 0 ? 8 : attribute + (who % 2) * 4]),
      ),
    ).toBe(false);
  });
});
