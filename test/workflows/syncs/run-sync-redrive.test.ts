import { beforeAll, describe, expect, it } from 'vitest';
import type { SyncRun } from '../../../store/syncs/sync-run-record.ts';
import { useStack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { ask, makeSync, openShop, runEnded, runErrors, runSync, type Shop } from '../../harness/syncs/syncs.ts';
import { importedValues } from '../imports/import-attributes.kill.ts';

const stack = useStack();
let world: World;
let shop: Shop;

beforeAll(async () => {
  stack.startWorker();
  world = await makeWorld(stack.store);
  shop = await openShop(stack, world);
});

async function redrive(sync: string, { identifier }: SyncRun): Promise<SyncRun> {
  const { run_id: id } = await ask<{ run_id: string }>(
    stack.app,
    world,
    'POST',
    `/api/syncs/${sync}/runs/${identifier}/redrive`,
  );
  return runEnded(stack.store, world, id);
}

const openOf = async (sync: string, { identifier }: SyncRun) =>
  (await ask<{ open: number }>(stack.app, world, 'GET', `/api/syncs/${sync}/runs/${identifier}`)).open;

const planOf = async (customer: string) => {
  const values = (await importedValues(stack, world)) as { customer_id: string; key: string; string_value: string }[];
  return values.find(({ customer_id: id, key }) => id === customer && key === 'plan')?.string_value;
};

const mappingOf = (...more: object[]) => ({
  customer: { field: 'email' },
  fields: [{ from: 'tariff', to: 'plan' }, ...more],
});

async function syncOf(name: string, rows: string, more: object = {}): Promise<{ sync: string; table: string }> {
  const table = shop.table(name);
  await shop.db
    .query(`CREATE TABLE ${table} (id integer PRIMARY KEY, email text, tariff text, since text, changed integer);
    ALTER TABLE ${table} OWNER TO ${shop.role}; INSERT INTO ${table} VALUES ${rows}`);
  const sync = await makeSync(stack, world, {
    source: { connection: shop.connection, stream: name },
    destination: { sor: world.sor.identifier },
    mode: 'incremental',
    cursor_field: 'changed',
    mapping: mappingOf({ from: 'since', to: 'born', as: 'date' }),
    ...more,
  });
  return { sync, table };
}

describe('records that failed', () => {
  it('come after all, once the mapping is mended, and are open no more', async () => {
    const { sync } = await syncOf(
      'mended',
      `(1, 'm-1', 'gold', '24.12.1990', 1), (2, 'm-2', 'iron', 'never', 2), (3, 'm-3', 'iron', '2001-02-03', 3)`,
    );
    const first = await runSync(stack, world, sync);
    expect(first.progress).toMatchObject({ read: 3, written: 1, failed: 2 });
    expect(await openOf(sync, first)).toBe(2);
    // The run has read no other fields than its mapping named, and so has kept none.
    await ask(stack.app, world, 'PUT', `/api/syncs/${sync}`, { mapping: mappingOf({ from: 'id', to: 'born' }) });
    await expect(redrive(sync, first)).rejects.toThrow(/did not read .*id.*run the sync with fresh/);
    await ask(stack.app, world, 'PUT', `/api/syncs/${sync}`, {
      mapping: mappingOf({ from: 'since', to: 'born', as: 'date', format: 'dd.MM.yyyy' }),
    });
    const second = await redrive(sync, first);
    expect(second).toMatchObject({ cause: 'redrive', rootId: first.id, progress: { read: 2, written: 1, failed: 1 } });
    expect(await openOf(sync, first)).toBe(1);
    expect(await runErrors(stack.store, world, first)).toMatchObject([
      { line: 1, redrivenBy: second.identifier },
      { line: 2, redrivenBy: null },
    ]);
    expect(await runErrors(stack.store, world, second)).toMatchObject([
      { line: 2, originalLine: 2, message: expect.stringContaining('never') as string },
    ]);
    // A re-drive of the re-drive brings what is open in the first run, and settles both.
    await ask(stack.app, world, 'PUT', `/api/syncs/${sync}`, { mapping: mappingOf() });
    const third = await redrive(sync, second);
    expect(third).toMatchObject({ rootId: first.id, progress: { read: 1, written: 1 } });
    expect([await openOf(sync, first), await openOf(sync, second)]).toEqual([0, 0]);
    // Nothing was read of the source, and the next run goes on where it was.
    expect((await runSync(stack, world, sync)).progress.read).toBe(0);
  });

  it('do not bring back an old state of what a run since has brought', async () => {
    const { sync, table } = await syncOf('newer', `(1, 'n-1', 'old', 'never', 1), (2, 'n-2', 'old', 'never', 2)`);
    const first = await runSync(stack, world, sync);
    await shop.db.query(`UPDATE ${table} SET tariff = 'new', since = '2001-02-03', changed = 3 WHERE id = 1`);
    await runSync(stack, world, sync);
    await ask(stack.app, world, 'PUT', `/api/syncs/${sync}`, { mapping: mappingOf() });
    expect((await redrive(sync, first)).progress).toMatchObject({ read: 2, written: 1, unchanged: 1 });
    expect([await planOf('n-1'), await planOf('n-2')]).toEqual(['new', 'old']);
    expect(await openOf(sync, first)).toBe(0);
  });

  it('do not bring back what a run since has removed', async () => {
    const rows = `(1, 'r-1', 'old', 'never', 1), (2, 'r-2', 'old', NULL, 2), (3, 'r-3', 'old', NULL, 3), (4, '', 'old', NULL, 4)`;
    const { sync, table } = await syncOf('removed', rows, { mode: 'full', cursor_field: null, removes: true });
    const first = await runSync(stack, world, sync);
    expect(first.progress).toMatchObject({ read: 4, written: 2, failed: 2 });
    await shop.db.query(`DELETE FROM ${table} WHERE id IN (1, 4)`);
    expect(await runSync(stack, world, sync)).toMatchObject({ removed: 1 });
    await ask(stack.app, world, 'PUT', `/api/syncs/${sync}`, { mapping: mappingOf() });
    expect((await redrive(sync, first)).progress).toMatchObject({ read: 2, written: 0, unchanged: 1, failed: 1 });
    expect(await planOf('r-1')).toBeNull();
    expect(await openOf(sync, first)).toBe(1);
  });

  it('do not bring back an old state of what came later in the same run', async () => {
    const { sync } = await syncOf('twice', `(1, 't-1', 'old', 'never', 1), (2, 't-1', 'new', '2001-02-03', 2)`);
    const first = await runSync(stack, world, sync);
    expect(first.progress).toMatchObject({ read: 2, written: 1, failed: 1 });
    await ask(stack.app, world, 'PUT', `/api/syncs/${sync}`, { mapping: mappingOf() });
    expect((await redrive(sync, first)).progress).toMatchObject({ read: 1, written: 0, unchanged: 1 });
    expect([await planOf('t-1'), await openOf(sync, first)]).toEqual(['new', 0]);
  });
});
