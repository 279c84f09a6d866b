import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { AttributeChange } from '../../../domain/attributes/attribute-change.ts';
import { deleteCustomerAttribute, insertCustomerAttribute } from '../../../store/attributes/customer-attributes.ts';
import { addPendingCustomers } from '../../../store/attributes/customers.ts';
import { mergeAttributeValues, prepareChanges } from '../../../store/attributes/merge-attribute-values.ts';
import { insertCustomSor } from '../../../store/attributes/systems-of-records.ts';
import { openDatabase, type Tx, write } from '../../../store/core/database.ts';
import { personalData } from '../../../store/gdpr/personal-data-registry.ts';
import {
  deleteOldChanges,
  deleteRemains,
  listEntitiesWithPendingCustomers,
} from '../../../store/jobs/retention-across-entities.ts';
import { testStore, type TestStore, vacuum } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { insertUpload } from '../../harness/imports/imports.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

let store: TestStore;

beforeAll(async () => {
  store = await testStore();
});

type Place = { sorId: number; attributes: Record<string, { id: number }> };
type Row = { who: number; type: 'user_id' | 'device_id'; key: 'plan' | 'tags'; isRemoval: boolean };

function toChange({ attributes }: Place, { who, type, key, isRemoval }: Row, line: number): AttributeChange {
  const at = { line, attributeId: attributes[key]!.id, customerType: type, customerId: personId(who) };
  return key === 'tags'
    ? { kind: 'set', ...at, action: isRemoval ? 'DEL' : 'ADD', elements: [`e${line}`] }
    : { kind: 'value', ...at, valueType: 'String', value: isRemoval ? null : `v${line}` };
}

function merge(tx: Tx, { entity }: World, place: Place, rows: Row[], dryRunOf: number | null = null) {
  const changes = rows.map((row, index) => toChange(place, row, index + 1));
  return mergeAttributeValues(tx, store.secrets, entity.id, place.sorId, prepareChanges(changes), { dryRunOf });
}

async function makePlaces(world: World): Promise<[Place, Place]> {
  return write(store.db, async (tx) => {
    const sor = await insertCustomSor(tx, store.secrets, world.entity.id, 'Other', world.user.id);
    const plan = (await insertCustomerAttribute(tx, world.entity.id, sor.id, {
      key: 'plan',
      label: 'Plan',
      valueType: 'String',
    }))!;
    const tags = (await insertCustomerAttribute(tx, world.entity.id, sor.id, {
      key: 'tags',
      label: 'Tags',
      valueType: 'Set',
    }))!;
    return [
      { sorId: world.sor.id, attributes: world.attributes },
      { sorId: sor.id, attributes: { plan, tags } },
    ];
  });
}

async function keysOf(from: string, { entity }: World): Promise<string[]> {
  if (from === 'customers') await addPendingCustomers(store.db, entity.id);
  const { rows } = await store.db.query<{ key: string }>(
    `SELECT DISTINCT (customer_type || ' ' || customer_id) COLLATE "C" AS key FROM ${from}
     WHERE entity_id = $1 ORDER BY key`,
    [entity.id],
  );
  return rows.map(({ key }) => key);
}

const keyOf = ({ type, who }: Row) => `${type === 'user_id' ? 0 : 1} ${personId(who)}`;

async function isPending({ entity }: World): Promise<boolean> {
  const { rowCount } = await store.db.query('SELECT FROM attribute_change_log WHERE entity_id = $1 AND pending', [
    entity.id,
  ]);
  return rowCount! > 0;
}

const LOGGED =
  '(SELECT l.entity_id, l.customer_type, unnest(l.customer_ids) AS customer_id FROM attribute_change_log l) logged';

const aRow = fc.record<Row>({
  who: fc.integer({ min: 1, max: 5 }),
  type: fc.constantFrom('user_id', 'device_id'),
  key: fc.constantFrom('plan', 'tags'),
  isRemoval: fc.boolean(),
});

describe('customers', () => {
  it('are those who have a row among the values, whatever is merged, and each of their changes is logged', async () => {
    const aMerge = fc.record({
      place: fc.integer({ min: 0, max: 1 }),
      rows: fc.array(aRow, { minLength: 1, maxLength: 6 }),
      isDry: fc.boolean(),
      isAsked: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(aMerge, { minLength: 1, maxLength: 5 }), async (merges) => {
        const world = await makeWorld(store);
        const places = await makePlaces(world);
        const { id } = await write(store.db, (tx) => insertUpload(tx, store, world));
        // While the upload is under way the removal of what was never there leaves a row, of which nothing else tells.
        const once = new Set<string>();
        for (const { place, rows, isDry, isAsked } of merges) {
          await write(store.db, (tx) => merge(tx, world, places[place]!, rows, isDry ? id : null));
          // Each value is merged once, as its last row has it.
          const last = new Map(rows.map((row) => [`${places[place]!.attributes[row.key]!.id} ${keyOf(row)}`, row]));
          for (const [value, row] of last) if (!isDry && !row.isRemoval) once.add(value);
          if (isAsked) await addPendingCustomers(store.db, world.entity.id);
        }
        const people = [...new Set(Array.from(once, (value) => value.slice(value.indexOf(' ') + 1)))].sort();
        expect(await keysOf('customers', world)).toEqual(people);
        expect(await keysOf(LOGGED, world)).toEqual(people);
        const { rows: unlogged } = await store.db.query<{ value: string; isRemoved: boolean }>(
          `SELECT v.attribute_id || ' ' || v.customer_type || ' ' || v.customer_id AS value, v.removed_at IS NOT NULL AS "isRemoved"
         FROM attribute_values v WHERE entity_id = $1 AND NOT EXISTS (
           SELECT FROM attribute_change_log l WHERE l.entity_id = v.entity_id AND l.received_at = v.changed_at AND l.sor_id = v.sor_id
             AND l.customer_type = v.customer_type AND v.customer_id = ANY (l.customer_ids))`,
          [world.entity.id],
        );
        expect(unlogged.filter(({ value, isRemoved }) => !isRemoved || once.has(value))).toEqual([]);
      }),
      { numRuns: sampledRuns(25) },
    );
  });

  it('of merges at once into two SoRs are each there once', async () => {
    const world = await makeWorld(store);
    const places = await makePlaces(world);
    const rows = (from: number): Row[] =>
      Array.from({ length: 200 }, (_, at) => ({
        who: from + at,
        type: 'user_id',
        key: at % 2 === 0 ? 'plan' : 'tags',
        isRemoval: false,
      }));
    await Promise.all(
      [0, 1, 2, 3, 4, 5].map(async (number) => {
        await write(store.db, (tx) => merge(tx, world, places[number % 2]!, rows(number * 30).toReversed()), {
          collide: true,
        });
        await addPendingCustomers(store.db, world.entity.id);
      }),
    );
    expect(await isPending(world)).toBe(false);
    expect(await keysOf('customers', world)).toEqual(await keysOf('attribute_values', world));
  });

  it('go with their last value when an attribute is deleted, but not one who just gets another', async () => {
    const world = await makeWorld(store);
    const [place, other] = await makePlaces(world);
    const row = (who: number): Row => ({ who, type: 'user_id', key: 'plan', isRemoval: false });
    await write(store.db, (tx) => merge(tx, world, place, [row(1), row(2), row(3), row(4)]));
    await write(store.db, (tx) => merge(tx, world, other, [row(2)]));
    await write(store.db, (tx) => deleteCustomerAttribute(tx, world.entity.id, world.attributes.plan!.id));
    const busy = await store.db.connect();
    try {
      await busy.query('BEGIN');
      await merge(busy, world, other, [row(3)]); // 3 is among the customers already
      await deleteRemains(store.db);
      await busy.query('COMMIT');
    } finally {
      await busy.query('ROLLBACK');
      busy.release();
    }
    expect(await keysOf('customers', world)).toEqual([`0 ${personId(2)}`, `0 ${personId(3)}`]);
    expect(await keysOf('attribute_values', world)).toEqual(await keysOf('customers', world));
  });

  it('and values of a deleted attribute go by the key, each looked at once, however large the planner knows the table to be', async () => {
    const world = await makeWorld(store);
    const { entity, sor, attributes } = world;
    await store.db.query(
      `INSERT INTO attribute_values (entity_id, sor_id, customer_type, attribute_id, customer_id, changed_at, string_value)
       SELECT $1, $2, n % 2, a, 'a' || n, now(), 'x' FROM generate_series(1, 20000) n, unnest($3::integer[]) a`,
      [entity.id, sor.id, [attributes.plan!.id, attributes.score!.id]],
    );
    await store.db.query(
      'DELETE FROM attribute_values WHERE entity_id = $1 AND attribute_id = $2 AND customer_id <> $3',
      [entity.id, attributes.score!.id, 'a7'],
    );
    await store.db.query(`INSERT INTO customers SELECT $1, n % 2, 'a' || n FROM generate_series(1, 20000) n`, [
      entity.id,
    ]);
    await vacuum(store.db, 'attribute_values');
    await write(store.db, (tx) => deleteCustomerAttribute(tx, entity.id, attributes.plan!.id));
    const stats = async () =>
      (
        await store.db.query<{ scans: number; deleted: number }>(
          `SELECT seq_scan AS scans, n_tup_del AS deleted FROM pg_stat_user_tables WHERE relname = 'attribute_values'`,
        )
      ).rows[0]!;
    await waitFor('the statistics of what came before', async () => (await stats()).deleted >= 19_999);
    // One session, which tells of its scans when it ends.
    const db = openDatabase({ url: store.url, max: 1 });
    const before = await stats();
    await deleteRemains(db);
    await db.end();
    const after = await waitFor('the statistics of the session', async () => {
      const now = await stats();
      return now.deleted >= before.deleted + 20_000 && now;
    });
    expect(after.scans).toBe(before.scans);
    expect(await keysOf('customers', world)).toEqual(['1 a7']);
    expect(await keysOf('attribute_values', world)).toEqual(['1 a7']);
  });

  it('who are erased while they are being added are not there in the end', async () => {
    const world = await makeWorld(store);
    const [place] = await makePlaces(world);
    const ids = [1, 2, 3].map((who) => personId(who));
    const rows = [1, 2, 3].map((who): Row => ({ who, type: 'user_id', key: 'plan', isRemoval: false }));
    await write(store.db, (tx) => merge(tx, world, place, rows));
    const people = [{ customerId: ids[1]!, customerType: 'user_id' as const }];
    const places = personalData.filter(({ name }) =>
      ['attribute_change_log', 'customers', 'attribute_values'].includes(name),
    );
    await Promise.all([
      addPendingCustomers(store.db, world.entity.id),
      (async () => {
        for (const { erase } of places) await erase!(store, world.entity.id, people);
      })(),
    ]);
    expect(await keysOf('customers', world)).toEqual([`0 ${ids[0]}`, `0 ${ids[2]}`]);
  });
});

/** Entries of `size` ids each, as large merges write them: the statement that makes them, one transaction each. */
async function logLarge({ entity, sor }: World, entries: number, size: number): Promise<void> {
  for (let entry = 0; entry < entries; entry += 1) {
    const ids = Array.from({ length: size }, (_, at) => personId(entry * size + at + 1));
    await store.db.query(
      `INSERT INTO attribute_change_log (entity_id, sor_id, customer_type, customer_ids, pending) VALUES ($1, $2, 0, $3, true)`,
      [entity.id, sor.id, ids],
    );
  }
}

/** How many transactions wrote the rows of an entity. */
async function transactionsOf(table: string, { entity }: World): Promise<number> {
  const { rows } = await store.db.query<{ count: number }>(
    `SELECT count(DISTINCT xmin::text) FROM ${table} WHERE entity_id = $1`,
    [entity.id],
  );
  return rows[0]!.count;
}

describe('customers of merges', () => {
  it('are added once no merge has followed for a while, or they have waited for ten times that', async () => {
    const world = await makeWorld(store);
    const due = async (...agesSeconds: number[]) => {
      await store.db.query('DELETE FROM attribute_change_log WHERE entity_id = $1', [world.entity.id]);
      for (const age of agesSeconds) {
        await store.db.query(
          `INSERT INTO attribute_change_log (entity_id, sor_id, customer_type, customer_ids, pending, received_at)
           VALUES ($1, $2, 0, $3, true, now() - make_interval(secs => $4))`,
          [world.entity.id, world.sor.id, [personId(1)], age],
        );
      }
      return (await listEntitiesWithPendingCustomers(store.db, 30)).includes(world.entity.id);
    };
    expect([await due(29), await due(31), await due(31, 29)]).toEqual([false, true, false]);
    expect([await due(299, 29), await due(301, 1)]).toEqual([false, true]);
  });
});

describe('a large log', () => {
  it('is worked off in short transactions, whoever is added or erased', async () => {
    const world = await makeWorld(store);
    await logLarge(world, 8, 40_000);
    await addPendingCustomers(store.db, world.entity.id);
    expect(await isPending(world)).toBe(false);
    const { rows } = await store.db.query('SELECT count(*) FROM customers WHERE entity_id = $1', [world.entity.id]);
    expect(rows).toEqual([{ count: 320_000 }]);
    expect(await transactionsOf('customers', world)).toBeGreaterThanOrEqual(3);
    await store.db.query('UPDATE attribute_change_log SET committed_at = now() WHERE entity_id = $1', [
      world.entity.id,
    ]);
    const people = Array.from({ length: 8 }, (_, entry) => ({
      customerId: personId(entry * 40_000 + 7),
      customerType: 'user_id' as const,
    }));
    const log = personalData.find(({ name }) => name === 'attribute_change_log')!;
    expect(await log.count(store, world.entity.id, people)).toBe(8);
    expect(await log.erase!(store, world.entity.id, people)).toBe(8);
    expect(await transactionsOf('attribute_change_log', world)).toBeGreaterThanOrEqual(3);
    expect(await log.count(store, world.entity.id, people)).toBe(0);
  });

  it('is searched for thousands of people at once', async () => {
    const world = await makeWorld(store);
    await logLarge(world, 4, 40_000);
    const people = Array.from({ length: 10_000 }, (_, at) => ({
      customerId: personId(1_000_000 + at),
      customerType: 'user_id' as const,
    }));
    const log = personalData.find(({ name }) => name === 'attribute_change_log')!;
    expect(await log.erase!(store, world.entity.id, people)).toBe(0);
  });

  it('loses what is old without reading it again for each step, also what an open snapshot holds back', async () => {
    // In a database of its own: Postgres adds what other sessions read up to ten seconds later.
    const own = await testStore();
    const world = await makeWorld(own);
    const reads = async () =>
      (
        await own.db.query<{ read: number }>(
          `SELECT idx_tup_read AS read FROM pg_stat_user_indexes WHERE indexrelname = 'attribute_change_log_pkey'`,
        )
      ).rows[0]!.read;
    await own.db.query(
      `INSERT INTO attribute_change_log (entity_id, received_at, sor_id, customer_type, customer_ids)
       SELECT $1, now() - make_interval(days => 41, secs => n), $2, 0, ARRAY['a' || n] FROM generate_series(1, 5000) n`,
      [world.entity.id, world.sor.id],
    );
    const reader = await own.db.connect();
    try {
      await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT FROM attribute_change_log LIMIT 1');
      // One session, which tells of its reads when it ends.
      const db = openDatabase({ url: own.url, max: 1 });
      const before = await reads();
      await deleteOldChanges(db);
      await db.end();
      const read = await waitFor('the statistics of the session', async () => (await reads()) - before || undefined);
      // Each row four times; how many of them are known to be dead by then differs a little.
      expect(read).toBeLessThan(21_000);
    } finally {
      await reader.query('ROLLBACK');
      reader.release();
    }
    expect((await own.db.query('SELECT FROM attribute_change_log')).rowCount).toBe(0);
  });
});

describe('the change log', () => {
  it('is kept for 40 days, and until its customers are added', async () => {
    const world = await makeWorld(store);
    const [place] = await makePlaces(world);
    for (const [who, days] of [
      [1, 41],
      [2, 39],
      [3, 41],
    ] as const) {
      await write(store.db, (tx) => merge(tx, world, place, [{ who, type: 'user_id', key: 'plan', isRemoval: false }]));
      await store.db.query(
        `UPDATE attribute_change_log SET received_at = now() - make_interval(days => $3) WHERE entity_id = $1 AND $2 = ANY (customer_ids)`,
        [world.entity.id, personId(who), days],
      );
      if (who === 1) await addPendingCustomers(store.db, world.entity.id);
    }
    await deleteOldChanges(store.db);
    expect(await keysOf(LOGGED, world)).toEqual([`0 ${personId(2)}`, `0 ${personId(3)}`]);
    expect(await keysOf('customers', world)).toEqual([1, 2, 3].map((who) => `0 ${personId(who)}`));
  });
});
