import { randomBytes, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { deleteUnanswered, insertRequest, updateReply } from '../../../store/core/idempotent-requests.ts';
import { deleteOldRequests } from '../../../store/jobs/retention-across-entities.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { lockWaits } from '../../harness/core/lock-waits.ts';
import { makeWorld } from '../../harness/core/world.ts';

const REPLY = { status: 200, body: '{"success":true}', identifier: null };

let store: TestStore;
let entityId: number;

beforeAll(async () => {
  store = await testStore();
  ({
    entity: { id: entityId },
  } = await makeWorld(store));
});

/** Two requests with one key, of which the first has it and has outlived its lease. */
async function outlived() {
  const keyHash = randomBytes(32);
  const [first, second] = [randomUUID(), randomUUID()].map((holder) => ({
    keyHash,
    holder,
    fingerprint: randomBytes(32),
  }));
  expect(await insertRequest(store.db, entityId, first!)).toBeNull();
  expect(await insertRequest(store.db, entityId, second!)).toEqual({ fingerprint: first!.fingerprint, reply: null });
  await store.db.query(
    `UPDATE idempotent_requests SET leased_until = now() - interval '1 second' WHERE key_hash = $1`,
    [keyHash],
  );
  return { first: first!, second: second! };
}

/** The second asks for the key while the first's reply is written and not committed. */
async function asksMeanwhile(end: 'COMMIT' | 'ROLLBACK') {
  const { first, second } = await outlived();
  const tx = await store.db.connect();
  await tx.query('BEGIN');
  expect(await updateReply(tx, entityId, first, REPLY)).toBe(true);
  const asked = insertRequest(store.db, entityId, second);
  await lockWaits(store);
  await tx.query(end);
  tx.release();
  return { first, second, found: await asked };
}

describe('a key whose lease is over', () => {
  it('goes to whoever asks, and its first holder keeps no reply any more', async () => {
    const { first, second } = await outlived();
    expect(await insertRequest(store.db, entityId, second)).toBeNull();
    expect(await updateReply(store.db, entityId, first, REPLY)).toBe(false);
    await deleteUnanswered(store.db, entityId, first);
    expect(await updateReply(store.db, entityId, second, REPLY)).toBe(true);
    expect(await insertRequest(store.db, entityId, first)).toEqual({ fingerprint: second.fingerprint, reply: REPLY });
  });

  it("stays its holder's while that one commits", async () => {
    const { first, found } = await asksMeanwhile('COMMIT');
    expect(found).toEqual({ fingerprint: first.fingerprint, reply: REPLY });
  });

  it('is free when that one does not commit', async () => {
    const { first, found } = await asksMeanwhile('ROLLBACK');
    expect(found).toBeNull();
    expect(await updateReply(store.db, entityId, first, REPLY)).toBe(false);
  });
});

describe('a key', () => {
  it('is freed by its holder, but not once the reply is kept', async () => {
    const request = { keyHash: randomBytes(32), holder: randomUUID(), fingerprint: randomBytes(32) };
    for (let times = 0; times < 2; times += 1) {
      expect(await insertRequest(store.db, entityId, request)).toBeNull();
      await deleteUnanswered(store.db, entityId, request);
    }
    await insertRequest(store.db, entityId, request);
    await updateReply(store.db, entityId, request, REPLY);
    await deleteUnanswered(store.db, entityId, request);
    expect(await insertRequest(store.db, entityId, request)).toMatchObject({ reply: REPLY });
  });

  it('is one of many that are swept away in batches, and young ones stay', async () => {
    await store.db.query('DELETE FROM idempotent_requests');
    await store.db.query(
      `INSERT INTO idempotent_requests (entity_id, key_hash, fingerprint, holder, received_at, leased_until)
       SELECT $1, int4send(n), ''::bytea, gen_random_uuid(), now() - make_interval(hours => n % 50), now()
       FROM generate_series(0, 11999) AS n`,
      [entityId],
    );
    await deleteOldRequests(store.db);
    const { rows } = await store.db.query<{ left: number; oldest: number }>(
      `SELECT count(*) AS left, extract(epoch FROM max(now() - received_at))::int / 3600 AS oldest FROM idempotent_requests`,
    );
    expect(rows[0]!.left).toBe(24 * 240);
    expect(rows[0]!.oldest).toBe(23);
  });
});
