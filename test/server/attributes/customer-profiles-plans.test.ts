import { beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../../store/core/database.ts';
import { insertMany, testStore, type TestStore, vacuum } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { testServer } from '../http/test-server.ts';

/**
 * No page of profiles reads a table from its beginning to its end, whatever the planner knows of it; only the total of
 * an entity that is known to have most of the customers counts them so, once.
 */

const CUSTOMERS = 30_000;
const TABLES = ['customers', 'attribute_values', 'attribute_change_log'];

let store: TestStore;
let world: World;

beforeAll(async () => {
  store = await testStore();
  world = await makeWorld(store);
  // Analyzed when a test says so, and at no other moment.
  for (const table of TABLES) await store.db.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`);
  const db = openDatabase({ url: store.url, max: 1 });
  const own = [world.entity.id, world.sor.id];
  const key = (n: string) => personId(1).replace('1@', `' || ${n} || '@`);
  await insertMany(
    db,
    `INSERT INTO attribute_values (entity_id, sor_id, customer_type, attribute_id, customer_id, changed_at, string_value)
     SELECT $1, $2, 0, a, '${key('n')}', now() - interval '2 hours', 'gold' FROM generate_series(1, ${CUSTOMERS}) n, unnest($3::int[]) a`,
    [...own, [world.attributes.plan!.id]],
  );
  await db.query('INSERT INTO customers SELECT DISTINCT entity_id, customer_type, customer_id FROM attribute_values');
  await db.query(
    `INSERT INTO attribute_change_log (entity_id, received_at, sor_id, customer_type, customer_ids)
     SELECT entity_id, changed_at, sor_id, customer_type, array_agg(customer_id) FROM attribute_values GROUP BY 1, 2, 3, 4`,
  );
  await db.end();
  await waitFor('the statistics of the session that made them', async () => (await scans()).scanned >= 2);
});

type Scans = { read: number; scanned: number };

async function scans(): Promise<Scans> {
  const { rows } = await store.db.query<Scans>(
    `SELECT sum(seq_scan) AS scanned, sum(idx_scan) AS read FROM pg_stat_user_tables
     WHERE relname = ANY ($1)`,
    [TABLES],
  );
  return { read: Number(rows[0]!.read), scanned: Number(rows[0]!.scanned) };
}

const since = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

describe.each(['before', 'after'])('%s the tables are analyzed', (when) => {
  beforeAll(async () => {
    if (when === 'after') await vacuum(store.db, null);
  });

  test.each([
    ['the first page and its total', {}, 2000, 1],
    ['a page far down', { page: '14' }, 2000, 1],
    ['one by name', { customer_ids: personId(7) }, 1],
    ['a type', { customer_id_type: 'device_id' }, 0, 1],
    ['changes by the log', { updated_since: since(3) }, 2000],
    ['changes of some by name', { updated_since: since(3), customer_ids: personId(7) }, 1],
    ['changes of long ago', { updated_since: since(24 * 50) }, 2000],
    ['no changes', { updated_since: since(1) }, 0],
  ] as [string, object, number, number?][])('%s: by index alone', async (_, query, profiles, totals = 0) => {
    // One session, which tells of its scans when it ends.
    const db = openDatabase({ url: store.url, max: 1 });
    const server = await testServer({ ...store, db });
    const before = await scans();
    const path = `/api/customer_profiles?${new URLSearchParams(query as Record<string, string>).toString()}`;
    const { body } = await server.call('GET', path, { token: world.token });
    expect(body.result.profiles).toHaveLength(profiles);
    await db.end();
    const after = await waitFor('the statistics of the session', async () => {
      const now = await scans();
      return now.read > before.read && now;
    });
    expect(after.scanned - before.scanned).toBe(when === 'after' ? totals : 0);
  });
});
