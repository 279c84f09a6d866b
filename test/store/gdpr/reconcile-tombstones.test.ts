import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { countRestoredPeople, ID_COLUMNS, reconcileTombstones } from '../../../store/gdpr/reconcile-tombstones.ts';
import { raiseTombstones, readmit } from '../../../store/gdpr/tombstone-batches.ts';
import type { Person } from '../../../store/gdpr/tombstones.ts';
import { copyStore, testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';

const NOTHING = { restored: 0, written: 0, unknown: 0, unreadable: 0, people: 0 };

let store: TestStore;
let world: World;

beforeAll(async () => {
  store = await testStore();
  world = await makeWorld(store);
  await addPeople();
});

const user = (n: number): Person => ({ customerType: 'user_id', customerId: personId(n) });
const device = (id: string): Person => ({ customerType: 'device_id', customerId: id });
const hashesOf = (...people: Person[]) =>
  people.map(({ customerType, customerId }) => store.secrets.customerHash(world.entity.id, customerType, customerId));
const stand = async ({ db }: TestStore, ...people: Person[]) =>
  (
    await db.query('SELECT FROM tombstones WHERE entity_id = $1 AND customer_hash = ANY ($2)', [
      world.entity.id,
      hashesOf(...people),
    ])
  ).rowCount;
const folder = () => join(store.filesFolder, 'tombstones', world.entity.identifier);

/**
 * Ids as places have them: 1 is a customer, 2 a key of a sync, 3 stands in a feed's body, 4 is another's former id, 7
 * is in a segment, staff typed 8 into a funnel and 10 into a request whose reply is kept; and a device.
 */
async function addPeople(): Promise<void> {
  const { db } = store;
  const { id } = world.entity;
  await db.query('INSERT INTO customers (entity_id, customer_type, customer_id) VALUES ($1, 0, $2), ($1, 0, $3)', [
    id,
    personId(1),
    personId(9),
  ]);
  await db.query(`INSERT INTO user_aliases (entity_id, previous_id, user_id) VALUES ($1, $2, $3)`, [
    id,
    personId(4),
    personId(9),
  ]);
  await db.query(`INSERT INTO sync_records (entity_id, sync_id, key, run_id) VALUES ($1, 1, $2, 1)`, [id, personId(2)]);
  await db.query(
    `INSERT INTO feed_requests (entity_id, identifier, sor_id, version, body, body_bytes, values_in)
     VALUES ($1, 'req_1', $2, 3, $3, 10, 1)`,
    [id, world.sor.id, JSON.stringify([{ customer_id: personId(3), attribute_key: 'plan', value: 'gold' }, 'a hash'])],
  );
  await db.query('INSERT INTO segment_members (entity_id, segment_id, person) VALUES ($1, 1, $2)', [
    id,
    `u${personId(7)}`,
  ]);
  await db.query(
    `INSERT INTO funnels (entity_id, identifier, name, max_duration, app_ids, steps) VALUES ($1, 'fun_1', 'Funnel', 60, '{}', $2)`,
    [id, JSON.stringify([{ match_details: [{ note: personId(8) }] }])],
  );
  await db.query(
    `INSERT INTO idempotent_requests (entity_id, key_hash, fingerprint, holder, leased_until, http_status, reply)
     VALUES ($1, 'key', 'body', gen_random_uuid(), now(), 200, $2)`,
    [id, JSON.stringify({ result: { filters: [personId(10)] } })],
  );
  await db.query(
    `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at) VALUES ($1, 1, 'phone', $2, now())`,
    [id, personId(9)],
  );
}

describe('a database that went back to a backup', () => {
  let restored: TestStore;

  beforeAll(async () => {
    restored = await copyStore(store);
    await raiseTombstones(store, world.entity.id, hashesOf(user(1), user(2), device('phone')));
    await raiseTombstones(store, world.entity.id, hashesOf(user(3), user(4), user(5)));
    await readmit(store, world.entity.id, hashesOf(user(5)), async () => {});
    await raiseTombstones(store, world.entity.id, hashesOf(user(6), user(7), user(8), user(10)));
  });

  it('refuses those erased since at once, and writes down who of them came back, once', async () => {
    expect(await reconcileTombstones(restored)).toEqual({ ...NOTHING, restored: 4, people: 8 });
    expect(await stand(restored, user(1), user(2), user(3), user(4), user(6), device('phone'))).toBe(6);
    expect(await stand(restored, user(5), user(9))).toBe(0);
    const { rows } = await restored.db.query<{ user_id: string | null; device_id: string | null }>(
      `SELECT user_id, device_id FROM gdpr_request_people p JOIN gdpr_requests r ON r.entity_id = p.entity_id AND r.id = p.request_id
       WHERE r.entity_id = $1 AND r.source = 'restore' AND r.request_type = 'delete' AND r.state = 'accepted'`,
      [world.entity.id],
    );
    expect(new Set(rows.map((row) => row.user_id ?? row.device_id))).toEqual(
      new Set([1, 2, 3, 4, 7, 8, 10].map(personId)).add('phone'),
    );
    expect(rows).toHaveLength(8);
    expect(await countRestoredPeople(restored.db)).toEqual({ people: 8, requests: 1 });
    expect(await reconcileTombstones(restored)).toEqual(NOTHING);
  });

  it('finds them though a process was killed before it had', async () => {
    await restored.db.query("DELETE FROM gdpr_requests WHERE source = 'restore'");
    await restored.db.query("UPDATE tombstone_batches SET search_pending = true WHERE kind = 'raised'");
    expect(await reconcileTombstones(restored)).toEqual({ ...NOTHING, people: 8 });
  });

  it('lets in again whom the file store knows as readmitted since', async () => {
    const later = await copyStore(store);
    await readmit(store, world.entity.id, hashesOf(user(6)), async () => {});
    expect(await stand(later, user(6))).toBe(1);
    expect(await reconcileTombstones(later)).toEqual({ ...NOTHING, restored: 1 });
    expect(await stand(later, user(6))).toBe(0);
  });
});

/** By a type that another column names, or by the type of the request. */
const SEARCHED_OTHERWISE = [
  'attribute_values.customer_id',
  'attribute_change_log.customer_ids',
  'customers.customer_id',
  'dry_run_sets.customer_id',
  'dry_run_ids.customer_id',
  'gdpr_holds.customer_id',
  'gdpr_request_people.device_id',
  'gdpr_request_people.user_id',
];
/** Hashes, and no ids of people. */
const NO_IDS = ['audit_log.subject', 'push_certificates.subject'];

it('searches every column that holds an id', async () => {
  const { rows } = await store.db.query<{ column: string }>(
    `SELECT c.table_name || '.' || c.column_name AS column FROM information_schema.columns c
     WHERE c.table_schema = 'public' AND c.data_type IN ('text', 'ARRAY')
       AND c.column_name ~ '(^|_)(user|device|customer|previous)_ids?$|^person$|^subject$'
       AND NOT EXISTS (SELECT FROM pg_inherits i JOIN pg_class k ON k.oid = i.inhrelid WHERE k.relname = c.table_name)`,
  );
  const searched = Object.entries(ID_COLUMNS).flatMap(([table, columns]) =>
    Object.keys(columns).map((column) => `${table}.${column}`),
  );
  const known = new Set([...searched, ...SEARCHED_OTHERWISE, ...NO_IDS]);
  expect(rows.map(({ column }) => column).filter((column) => !known.has(column))).toEqual([]);
  expect([...known].filter((column) => !rows.some((row) => row.column === column))).toEqual(['sync_records.key']);
});

it('writes the files again when the file store lost them, and keeps what it can not read or does not know', async () => {
  const before = await readdir(folder());
  await rm(folder(), { recursive: true });
  expect(await reconcileTombstones(store)).toEqual({ ...NOTHING, written: before.length });
  expect(new Set(await readdir(folder()))).toEqual(new Set(before));
  await store.files.put(
    'tombstones/ent_gone/1.json',
    (async function* () {
      yield Buffer.from('{}');
    })(),
  );
  await writeFile(join(folder(), 'damaged.json'), '{"version":1');
  expect(await reconcileTombstones(store)).toEqual({ ...NOTHING, unknown: 1, unreadable: 1 });
});

it('reads no batch where there is nothing to do, however many there are', async () => {
  const busy = await testStore();
  const { entity } = await makeWorld(busy);
  const numbers = Array.from({ length: 10_000 }, (_, n) => n);
  await busy.db.query(
    `INSERT INTO tombstone_batches (entity_id, key, kind, made_at, hashes)
     SELECT $1, 'tombstones/' || $2 || '/' || n, 'raised', now(), '{}' FROM unnest($3::integer[]) AS n`,
    [entity.id, entity.identifier, numbers],
  );
  const there = join(busy.filesFolder, 'tombstones', entity.identifier);
  await mkdir(there, { recursive: true });
  await Promise.all(numbers.map((n) => writeFile(join(there, String(n)), ''))); // none of them is read
  expect(await reconcileTombstones(busy)).toEqual(NOTHING);
});
