import { beforeAll, describe, expect, it } from 'vitest';
import { file, httpSource } from '../../harness/core/http-source.ts';
import { useStack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { ask, makeSync, openShop, runSync } from '../../harness/syncs/syncs.ts';
import { importedValues } from '../imports/import-attributes.kill.ts';

const stack = useStack();
let world: World;
const web = await httpSource();

beforeAll(async () => {
  stack.startWorker();
  world = await makeWorld(stack.store);
});

/** What is looked at to tell the fields of a file is less than this. */
const RECORDS = 1_200;

/** A sync of a file whose last record alone has a score. */
async function syncOf(name: string, more: object): Promise<string> {
  const lines = Array.from({ length: RECORDS }, (_, n) =>
    JSON.stringify({ email: `${name}-${n}`, plan: 'gold', ...(n === RECORDS - 1 ? { score: 7 } : {}) }),
  );
  const url = web.serve(`/${name}.jsonl`, file(Buffer.from(`${lines.join('\n')}\n`), { etag: '"1"' }));
  const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
    name,
    connector: 'http-file',
    settings: { url, format: 'jsonl' },
  });
  return makeSync(stack, world, {
    source: { connection, stream: `${name}.jsonl` },
    destination: { sor: world.sor.identifier },
    mapping: { customer: { field: 'email' }, other_fields: 'keep' },
    ...more,
  });
}

const accept = (sync: string) => ask(stack.app, world, 'POST', `/api/syncs/${sync}/accept_schema`);

const keysOfLast = async (name: string) =>
  ((await importedValues(stack, world)) as { customer_id: string; key: string }[])
    .filter(({ customer_id: id }) => id === `${name}-${RECORDS - 1}`)
    .map(({ key }) => key)
    .toSorted();

const SCORE = { added: [{ name: 'score', type: 'unknown' }], removed: [], retyped: [] };

describe('a field that comes up late in a file', () => {
  it('is left out by a sync that is to ignore it, and taken once it is accepted', async () => {
    const sync = await syncOf('ignoring', {});
    expect(await runSync(stack, world, sync)).toMatchObject({ state: 'finished', schemaChange: SCORE });
    expect(await keysOfLast('ignoring')).toEqual(['plan']);
    await accept(sync);
    expect(await runSync(stack, world, sync)).toMatchObject({
      schemaChange: null,
      progress: { written: 1, unchanged: RECORDS - 1 },
    });
    expect(await keysOfLast('ignoring')).toEqual(['plan', 'score']);
    // And it stays accepted.
    expect(await runSync(stack, world, sync)).toMatchObject({ schemaChange: null, progress: { unchanged: RECORDS } });
  });

  it('stops a sync that is to stop before the records with it, which come once it is accepted', async () => {
    const sync = await syncOf('stopping', { on_schema_change: 'stop', mode: 'incremental' });
    expect(await runSync(stack, world, sync)).toMatchObject({
      state: 'failed',
      failure: { status: 'schema_changed' },
      schemaChange: SCORE,
      progress: { read: 0 },
    });
    await accept(sync);
    expect(await runSync(stack, world, sync)).toMatchObject({ state: 'finished', schemaChange: null });
    expect(await keysOfLast('stopping')).toEqual(['plan', 'score']);
  });
});

describe('new fields of a source', () => {
  it('make no attributes in a System of Record that is gone: the run ends, and says so', async () => {
    const other = await makeWorld(stack.store);
    const shop = await openShop(stack, other);
    await shop.db.query(`CREATE TABLE ${shop.table('orphans')} (id integer PRIMARY KEY, email text, colour text);
      ALTER TABLE ${shop.table('orphans')} OWNER TO ${shop.role}; INSERT INTO ${shop.table('orphans')} VALUES (1, 'orphan-1', 'red')`);
    const sync = await makeSync(stack, other, {
      source: { connection: shop.connection, stream: 'orphans' },
      destination: { sor: other.sor.identifier },
      on_schema_change: 'follow',
      mapping: { customer: { field: 'email' } },
    });
    // As the sweep leaves a deleted one.
    await stack.store.db.query('DELETE FROM systems_of_records WHERE entity_id = $1', [other.entity.id]);
    const { state, failure } = await runSync(stack, other, sync);
    expect({ state, status: failure?.status }).toEqual({ state: 'failed', status: 'sor_deleted' });
  });
});
