import { beforeAll, describe, expect, it } from 'vitest';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { personId } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { ask, makeSync, openShop, runErrors, runSync, type Shop } from '../../harness/syncs/syncs.ts';
import { importedValues } from '../imports/import-attributes.kill.ts';

const stack = useStack();
let world: World;
let shop: Shop;

beforeAll(async () => {
  stack.startWorker();
  stack.startWorker();
});

/** A table of buyers, some of whom are no good. */
async function buyers(name: string): Promise<string> {
  const table = shop.table(name);
  await shop.db.query(`CREATE TABLE ${table} (
    id integer PRIMARY KEY, email text, tariff text, points text, birthday text, interests text[],
    changed_at timestamptz NOT NULL DEFAULT now());
    ALTER TABLE ${table} OWNER TO ${shop.role}`);
  return table;
}

const MAPPING = {
  customer: { field: 'email' },
  fields: [
    { from: 'tariff', to: 'plan' },
    { from: 'points', to: 'score', as: 'number', decimal: ',' },
    { from: 'birthday', to: 'born', as: 'date', format: 'dd/MM/yyyy' },
    { from: 'interests', to: 'tags' },
    { to: 'vip', value: true },
  ],
};

describe('a sync of a table into attributes', () => {
  beforeAll(async () => {
    world = await makeWorld(stack.store);
    shop = await openShop(stack, world);
  });

  it('writes what is mapped, and tells of each record that it could not write', async () => {
    const table = await buyers('first');
    await shop.db.query(
      `INSERT INTO ${table} (id, email, tariff, points, birthday, interests) VALUES
      (1, $1, 'gold', '1.234,5', '24/12/1990', '{chess,go}'), (2, $2, 'iron', '7', '31/02/2020', '{}'), (3, '', 'gold', '1', NULL, NULL),
      (4, $3, NULL, NULL, NULL, NULL)`,
      [personId(1), personId(2), personId(4)],
    );
    const sync = await makeSync(stack, world, {
      source: { connection: shop.connection, stream: 'first' },
      destination: { sor: world.sor.identifier },
      mapping: MAPPING,
    });
    const run = await runSync(stack, world, sync);
    expect(run).toMatchObject({
      state: 'finished',
      failure: null,
      progress: {
        read: 4,
        written: 2,
        unchanged: 0,
        ignored: 0,
        failed: 2,
        errorsByType: { INVALID_CUSTOMER_ID: 1, INVALID_VALUE: 1 },
      },
    });
    const values = (await importedValues(stack, world)) as { customer_id: string; key: string }[];
    expect(values.filter(({ customer_id: id }) => id === personId(1))).toMatchObject([
      { key: 'born', date_value: '1990-12-24' },
      { key: 'plan', string_value: 'gold' },
      { key: 'score', number_value: '1234.5' },
      { key: 'tags', set_elements: ['chess', 'go'] },
      { key: 'vip', boolean_value: true },
    ]);
    expect(values.filter(({ customer_id: id }) => id === personId(2)).map(({ key }) => key)).toEqual([
      'plan',
      'score',
      'vip',
    ]);
    expect(await runErrors(stack.store, world, run)).toMatchObject([
      {
        line: 2,
        errorType: 'INVALID_VALUE',
        customerId: personId(2),
        attributeKey: 'born',
        raw: expect.stringContaining('31/02/2020') as string,
      },
      { line: 3, errorType: 'INVALID_CUSTOMER_ID', customerId: '' },
    ]);
    const again = await runSync(stack, world, sync);
    expect(again.progress).toMatchObject({ read: 4, written: 0, unchanged: 2, failed: 2 });
  });

  type Value = { customer_id: string; key: string; removed: boolean };
  const values = async (...keys: string[]) =>
    ((await importedValues(stack, world)) as Value[]).filter(({ key, removed }) => keys.includes(key) && !removed);
  const syncOf = (stream: string, more: object = {}) =>
    makeSync(stack, world, {
      source: { connection: shop.connection, stream },
      destination: { sor: world.sor.identifier },
      mapping: { customer: { field: 'email' }, fields: [{ from: 'tariff', to: 'plan' }] },
      ...more,
    });

  it('reads on where an incremental reading was, and brings what is new or changed alone', async () => {
    const table = await buyers('second');
    await shop.db.query(
      `INSERT INTO ${table} (id, email, tariff) SELECT n, 'inc-' || n, 'gold' FROM generate_series(1, 6000) n`,
    );
    const sync = await syncOf('second', { mode: 'incremental', cursor_field: 'changed_at' });
    expect((await runSync(stack, world, sync)).progress).toMatchObject({ read: 6_000, written: 6_000 });
    const empty = await runSync(stack, world, sync);
    expect(empty.progress).toMatchObject({ read: 0 });
    await shop.db.query(`UPDATE ${table} SET tariff = 'iron', changed_at = now() WHERE id = 17;
      INSERT INTO ${table} (id, email, tariff) VALUES (7000, 'inc-7000', 'new')`);
    const third = await runSync(stack, world, sync);
    expect(third.progress).toMatchObject({ read: 2, written: 2 });
    expect(third.cursorBefore).toBe(empty.cursorBefore);
    const fresh = await runSync(stack, world, sync, { fresh: true });
    expect(fresh.progress).toMatchObject({ read: 6_001, written: 6_001, unchanged: 0 });
    expect((await runSync(stack, world, sync)).progress).toMatchObject({ read: 0 });
    await shop.db.query(
      `INSERT INTO ${table} (id, email, tariff, changed_at) VALUES (7001, 'inc-7001', 'odd', 'infinity')`,
    );
    expect((await runSync(stack, world, sync)).progress).toMatchObject({ read: 1, written: 1, oddCursors: 1 });
    await shop.db.query(`INSERT INTO ${table} (id, email, tariff) VALUES (7002, 'inc-7002', 'behind')`);
    const last = await runSync(stack, world, sync);
    expect(last.progress).toMatchObject({ read: 2, written: 1, unchanged: 1, oddCursors: 1 });
    const path = `/api/syncs/${sync}/runs/${last.identifier}`;
    expect(await ask(stack.app, world, 'GET', path)).toMatchObject({ odd_cursors: 1 });
    expect(JSON.stringify(await ask(stack.app, world, 'GET', `${path}/log`))).toContain(
      '1 record has a value in changed_at',
    );
  });

  it('removes what has vanished, unless that is too much, or nobody can tell', async () => {
    const table = await buyers('third');
    await shop.db.query(
      `INSERT INTO ${table} (id, email, tariff) SELECT n, 'rem-' || n, 'rem' FROM generate_series(1, 10) n`,
    );
    const sync = await syncOf('third', { removes: true });
    const left = async () => (await values('plan')).filter(({ customer_id: id }) => id.startsWith('rem-')).length;
    await runSync(stack, world, sync);
    await shop.db.query(`DELETE FROM ${table} WHERE id = 1`);
    expect(await runSync(stack, world, sync)).toMatchObject({ removed: 1, removal: { state: 'done' } });
    expect(await left()).toBe(9);
    await shop.db.query(`DELETE FROM ${table} WHERE id < 9`);
    const held = await runSync(stack, world, sync);
    const reason = expect.stringMatching(/^7 of 9 /) as string;
    expect(held).toMatchObject({ state: 'finished', removed: 0, removal: { state: 'held', reason } });
    expect(await left()).toBe(9);
    await shop.db.query(`INSERT INTO ${table} (id, tariff) VALUES (20, 'nobody')`);
    expect(await runSync(stack, world, sync, { confirm_removals: true })).toMatchObject({
      removed: 0,
      removal: { state: 'skipped' },
    });
    await shop.db.query(`DELETE FROM ${table} WHERE id = 20`);
    expect(await runSync(stack, world, sync, { confirm_removals: true })).toMatchObject({
      removed: 7,
      removal: { state: 'done' },
    });
    expect(await left()).toBe(2);
    expect((await runSync(stack, world, sync)).progress).toMatchObject({ read: 2, unchanged: 2 });
  });

  it('writes a record again once it has changed, of two with one customer the later', async () => {
    const table = await buyers('fourth');
    await shop.db.query(
      `INSERT INTO ${table} (id, email, tariff) VALUES (1, 'twice', 'one'), (2, 'twice', 'two'), (3, 'once', 'three')`,
    );
    const sync = await syncOf('fourth');
    expect((await runSync(stack, world, sync)).progress).toMatchObject({ read: 3, written: 3 });
    expect(await values('plan')).toContainEqual(expect.objectContaining({ customer_id: 'twice', string_value: 'two' }));
    await shop.db.query(`UPDATE ${table} SET tariff = 'four' WHERE id = 3`);
    expect((await runSync(stack, world, sync)).progress).toMatchObject({ read: 3, written: 3 });
    await shop.db.query(`DELETE FROM ${table} WHERE id = 1`);
    expect((await runSync(stack, world, sync)).progress).toMatchObject({ read: 2, written: 0, unchanged: 2 });
  });

  it('writes large batches in the order of their records, of each customer the last one', async () => {
    const table = await buyers('large');
    await shop.db.query(`INSERT INTO ${table} (id, email, tariff, points)
      SELECT n, 'many-' || n % 4000, CASE WHEN n > 8000 THEN 'last' ELSE 'first' END, n FROM generate_series(1, 12000) n`);
    const sync = await syncOf('large');
    const first = await runSync(stack, world, sync);
    expect(first).toMatchObject({
      state: 'finished',
      progress: { read: 12_000, written: 8_000, unchanged: 4_000, recordsTaken: 12_000 },
    });
    expect(new Set(first.progress.lanesDone)).toEqual(new Set([first.progress.batchesTaken]));
    expect((await stack.store.db.query('SELECT FROM sync_pinned_batches')).rowCount).toBe(0);
    const { rows: written } = await stack.store.db.query(
      `SELECT string_value, count(*) FROM attribute_values WHERE customer_id LIKE 'many-%' GROUP BY string_value`,
    );
    expect(written).toEqual([{ string_value: 'last', count: 4_000 }]);
  });

  it('tells what it would change, and changes nothing', async () => {
    const table = await buyers('fifth');
    await shop.db.query(`INSERT INTO ${table} (id, email, tariff, points, birthday, interests) VALUES
      (1, 'dry-1', 'gold', '12,50', '24/12/1990', '{a,b}'), (2, 'dry-2', 'gold', '1', '31/02/2020', NULL)`);
    const sync = await syncOf('fifth', { mapping: MAPPING });
    const before = await importedValues(stack, world);
    const dry = await runSync(stack, world, sync, {}, 'dry_run');
    expect(dry).toMatchObject({ state: 'finished', dryRun: true, progress: { read: 2, written: 1, failed: 1 } });
    expect(await importedValues(stack, world)).toEqual(before);
    const path = `/api/syncs/${sync}/runs/${dry.identifier}/sample`;
    const { records } = await ask<{ records: unknown[] }>(stack.app, world, 'GET', path);
    expect(records).toMatchObject([
      {
        line: 1,
        outcome: 'written',
        customer_id: 'dry-1',
        changes: expect.arrayContaining([
          { key: 'plan', before: null, after: 'gold' },
          { key: 'born', before: null, after: '1990-12-24' },
          { key: 'score', before: null, after: 12.5 },
          { key: 'tags', before: [], after: ['a', 'b'] },
        ]) as unknown,
      },
      { line: 2, outcome: 'failed', message: expect.stringContaining('31/02/2020') as string },
    ]);
    await runSync(stack, world, sync);
    const after = await runSync(stack, world, sync, {}, 'dry_run');
    expect(after.progress).toMatchObject({ read: 2, written: 0, unchanged: 1, failed: 1 });
  });

  it('writes nothing of people who were erased, and keeps nothing of them', async () => {
    const table = await buyers('sixth');
    await shop.db.query(`INSERT INTO ${table} (id, email, tariff) VALUES (1, $1, 'gold'), (2, 'living', 'gold')`, [
      personId(66),
    ]);
    await insertTombstone(
      stack.store.db,
      world.entity.id,
      stack.store.secrets.customerHash(world.entity.id, 'user_id', personId(66)),
    );
    const sync = await syncOf('sixth', { removes: true });
    const run = await runSync(stack, world, sync);
    expect(run).toMatchObject({ progress: { read: 2, written: 1, failed: 1 }, removal: { state: 'done' } });
    const [error] = await runErrors(stack.store, world, run);
    expect(error).toMatchObject({
      line: 1,
      message: 'erased',
      customerId: null,
      raw: null,
      customerHash: expect.any(Buffer) as Buffer,
    });
    const { rows } = await stack.store.db.query('SELECT key FROM sync_records WHERE entity_id = $1 AND key = $2', [
      world.entity.id,
      personId(66),
    ]);
    expect(rows).toEqual([]);
  });

  it('keeps nothing either of a record of theirs without a sound value, or that comes twice', async () => {
    const people = [personId(67), personId(68), personId(69)];
    const table = await buyers('unsound');
    await shop.db.query(
      `INSERT INTO ${table} (id, email, birthday) VALUES (1, $1, 'never'), (2, $2, '24/12/1990'), (3, $2, '24/12/1990')`,
      people.slice(0, 2),
    );
    for (const person of people) {
      await insertTombstone(
        stack.store.db,
        world.entity.id,
        stack.store.secrets.customerHash(world.entity.id, 'user_id', person),
      );
    }
    const born = {
      customer: { field: 'email' },
      fields: [{ from: 'birthday', to: 'born', as: 'date', format: 'dd/MM/yyyy' }],
    };
    const run = await runSync(stack, world, await syncOf('unsound', { mapping: born }));
    expect(run.progress).toMatchObject({ read: 3, failed: 3, unnamed: 0, errorsByType: { INVALID_CUSTOMER_ID: 3 } });
    expect((await runErrors(stack.store, world, run)).map(({ message }) => message)).toEqual([
      'erased',
      'erased',
      'erased',
    ]);
    await shop.db.query(`TRUNCATE ${table}`);
    await shop.db.query(`INSERT INTO ${table} (id, email) VALUES (1, $1)`, [people[2]]);
    const nothing = await syncOf('unsound', {
      mapping: { customer: { field: 'email' }, fields: [{ from: 'nothing', to: 'plan' }] },
    });
    expect((await runSync(stack, world, nothing)).progress).toMatchObject({ read: 1, failed: 1 });
    const { rows } = await stack.store.db.query(
      'SELECT key FROM sync_records WHERE entity_id = $1 AND key = ANY ($2)',
      [world.entity.id, people],
    );
    expect(rows).toEqual([]);
  });

  it('keeps the System of Record that it writes to from being deleted', async () => {
    await expect(ask(stack.app, world, 'DELETE', `/api/system_of_records/${world.sor.identifier}`)).rejects.toThrow(
      /used by syncs: /,
    );
  });

  it('takes batches of many large Sets, in several transactions', async () => {
    await shop.db.query(`CREATE TABLE ${shop.table('seventh')} (id integer PRIMARY KEY, email text, interests text[]);
      ALTER TABLE ${shop.table('seventh')} OWNER TO ${shop.role};
      INSERT INTO ${shop.table('seventh')} SELECT n, 'set-' || n, ARRAY['a' || n, 'b'] FROM generate_series(1, 3500) n`);
    const sync = await syncOf('seventh', {
      mapping: { customer: { field: 'email' }, fields: [{ from: 'interests', to: 'tags' }] },
    });
    expect((await runSync(stack, world, sync)).progress).toMatchObject({ read: 3_500, written: 3_500 });
    expect((await values('tags')).filter(({ customer_id: id }) => id.startsWith('set-'))).toHaveLength(3_500);
  });
});
