import { beforeAll, describe, expect, it } from 'vitest';
import { useStack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { ask, makeSync, openShop, runSync, type Shop } from '../../harness/syncs/syncs.ts';
import { importedValues } from '../imports/import-attributes.kill.ts';

const stack = useStack();
let world: World;
let shop: Shop;

beforeAll(async () => {
  stack.startWorker();
  world = await makeWorld(stack.store);
  shop = await openShop(stack, world);
});

type Value = { customer_id: string; key: string; removed: boolean };

const keysOf = async (customer: string) =>
  ((await importedValues(stack, world)) as Value[])
    .filter(({ customer_id: id, removed }) => id === customer && !removed)
    .map(({ key }) => key)
    .toSorted();

/** A table of three buyers, named after it. */
async function buyers(name: string): Promise<string> {
  const table = shop.table(name);
  await shop.db
    .query(`CREATE TABLE ${table} (id integer PRIMARY KEY, email text, tariff text, score integer, vip boolean);
    ALTER TABLE ${table} OWNER TO ${shop.role};
    INSERT INTO ${table} SELECT n, '${name}-' || n, 'gold', n, true FROM generate_series(1, 3) n`);
  return table;
}

const syncOf = (stream: string, fields: object[], more: object = {}, mapping: object = {}) =>
  makeSync(stack, world, {
    source: { connection: shop.connection, stream },
    destination: { sor: world.sor.identifier },
    mapping: { customer: { field: 'email' }, fields, ...mapping },
    ...more,
  });

describe('what has vanished', () => {
  it('loses the values of all its fields, also in the run after these were accepted', async () => {
    const table = await buyers('accepted');
    const sync = await syncOf('accepted', [], { removes: true });
    await runSync(stack, world, sync);
    expect(await keysOf('accepted-1')).toEqual(['score', 'vip']);
    await shop.db.query(`DELETE FROM ${table} WHERE id = 1`);
    await ask(stack.app, world, 'POST', `/api/syncs/${sync}/accept_schema`);
    expect(await runSync(stack, world, sync)).toMatchObject({ removed: 1, removal: { state: 'done' } });
    expect(await keysOf('accepted-1')).toEqual([]);
  });

  it('keeps the values of attributes that only others write', async () => {
    const table = await buyers('others');
    await runSync(stack, world, await syncOf('others', [{ from: 'score' }, { from: 'vip' }]));
    const fields = [
      { from: 'vip', drop: true },
      { from: 'score', to: 'plan', as: 'string' },
    ];
    const sync = await syncOf('others', fields, { removes: true }, { other_fields: 'keep' });
    await runSync(stack, world, sync);
    expect(await keysOf('others-1')).toEqual(['plan', 'score', 'vip']);
    await shop.db.query(`DELETE FROM ${table} WHERE id = 1`);
    expect(await runSync(stack, world, sync)).toMatchObject({ removed: 1, removal: { state: 'done' } });
    expect(await keysOf('others-1')).toEqual(['score', 'vip']);
  });
});
