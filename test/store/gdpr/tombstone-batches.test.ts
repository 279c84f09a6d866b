import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { Files } from '../../../store/core/files.ts';
import type { Secrets } from '../../../store/core/secrets.ts';
import { raiseTombstones, readmit } from '../../../store/gdpr/tombstone-batches.ts';
import { findErased } from '../../../store/gdpr/tombstones.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { turnsDuring } from '../../harness/core/wait.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';

let store: TestStore;
let world: World;

beforeAll(async () => {
  store = await testStore();
  world = await makeWorld(store);
});

const hashesOf = (...people: number[]) =>
  people.map((n) => store.secrets.customerHash(world.entity.id, 'user_id', personId(n)));
const folder = () => join(store.filesFolder, 'tombstones', world.entity.identifier);
const keys = async () => (await readdir(folder()).catch(() => [])).toSorted((a, b) => (a < b ? -1 : 1));
const newest = async () =>
  JSON.parse(await readFile(join(folder(), (await keys()).at(-1)!), 'utf8')) as { kind: string; hashes: string[] };
const stand = async (...people: number[]) =>
  (
    await store.db.query('SELECT FROM tombstones WHERE entity_id = $1 AND customer_hash = ANY ($2)', [
      world.entity.id,
      hashesOf(...people),
    ])
  ).rowCount;
const batches = async () =>
  (
    await store.db.query<{ made_at: Date }>('SELECT made_at FROM tombstone_batches WHERE entity_id = $1 ORDER BY key', [
      world.entity.id,
    ])
  ).rows.map((row) => row.made_at.getTime());

it('puts tombstones into the file store and the database, once however often it is asked', async () => {
  const since = await raiseTombstones(store, world.entity.id, hashesOf(1, 2));
  expect(await raiseTombstones(store, world.entity.id, hashesOf(2, 1))).toEqual(since);
  expect(await stand(1, 2)).toBe(2);
  expect(await keys()).toHaveLength(1);
  await raiseTombstones(store, world.entity.id, hashesOf(2, 3));
  expect((await newest()).hashes).toEqual(hashesOf(3).map((hash) => hash.toString('hex')));
});

it('raises none that the file store did not take', async () => {
  const broken: Files = { ...store.files, put: () => Promise.reject(new Error('the disk is full')) };
  await expect(raiseTombstones({ db: store.db, files: broken }, world.entity.id, hashesOf(4))).rejects.toThrow(
    'the disk is full',
  );
  expect(await stand(4)).toBe(0);
});

it('lets somebody in again with what is noted of it, and writes the file when a repeat finds it missing', async () => {
  const broken: Files = { ...store.files, put: () => Promise.reject(new Error('the disk is full')) };
  const noted: number[] = [];
  const note = async (_: unknown, readmitted: Buffer[]) => {
    noted.push(readmitted.length);
  };
  await expect(readmit({ db: store.db, files: broken }, world.entity.id, hashesOf(1, 9), note)).rejects.toThrow(
    'the disk is full',
  );
  expect(await stand(1)).toBe(0);
  expect(await readmit(store, world.entity.id, hashesOf(1, 9), note)).toBe(0);
  expect(noted).toEqual([1, 0]);
  expect(await newest()).toMatchObject({ kind: 'readmitted', hashes: hashesOf(1).map((hash) => hash.toString('hex')) });
});

it('dates each batch after those before it, however many come at once', async () => {
  await Promise.all(Array.from({ length: 12 }, (_, i) => raiseTombstones(store, world.entity.id, hashesOf(100 + i))));
  const times = await batches();
  expect(times).toEqual([...new Set(times)].toSorted((a, b) => a - b));
  expect(await keys()).toHaveLength(times.length);
});

it('looks for the erased among many people without holding up others', async () => {
  await raiseTombstones(store, world.entity.id, hashesOf(200));
  const people = Array.from({ length: 40_000 }, (_, n) => ({
    customerType: 'user_id' as const,
    customerId: personId(200 + n),
  }));
  const hashedIn = new Set<number>();
  let erased = new Map<string, Buffer>();
  await turnsDuring(async (turnsSoFar) => {
    const customerHash: Secrets['customerHash'] = (...who) => {
      hashedIn.add(turnsSoFar());
      return store.secrets.customerHash(...who);
    };
    erased = await findErased(store.db, { ...store.secrets, customerHash }, world.entity.id, () => people);
  });
  expect([...erased.values()]).toEqual(hashesOf(200));
  expect(hashedIn.size).toBeGreaterThan(3);
});
