import { beforeAll, describe, expect, it } from 'vitest';
import { testStore, type TestStore } from '../../harness/database.ts';
import { deletionByDevice, requestByApi } from '../../harness/gdpr-requests.ts';
import { insertPeople } from '../../harness/gdpr.ts';
import { lockWaits } from '../../harness/lock-waits.ts';
import { personId } from '../../harness/people.ts';
import { makeTrackedWorld, type TrackedWorld } from '../../harness/tracked-calls.ts';
import { finishAccess } from '../../../activities/gdpr/access-receipt.ts';
import { finishRound } from '../../../activities/gdpr/evidence.ts';
import { beginErasingPeople, gatherPeople, refusePeople } from '../../../activities/gdpr/gather.ts';
import { gatherKnown } from '../../../activities/gdpr/gather-known.ts';
import type { Needs } from '../../../activities/needs.ts';
import { write } from '../../../store/database.ts';
import { ensurePartitions } from '../../../store/event-partitions.ts';
import { beginArchive, recordArchive } from '../../../store/gdpr/archives.ts';
import { updateDecision } from '../../../store/gdpr/decisions.ts';
import { insertHold } from '../../../store/gdpr/holds.ts';
import { listIdentifiers } from '../../../store/gdpr/identifiers.ts';
import { addErased, claimGdprRequest, type GdprClaim, updateStage } from '../../../store/gdpr/progress.ts';
import { listReceiptsOf } from '../../../store/gdpr/receipts.ts';
import type { GdprRequestType } from '../../../store/gdpr/request-record.ts';
import { findGdprRequestById, listGdprPeople } from '../../../store/gdpr/requests.ts';
import { gdprRequestPeople } from '../../../store/personal-data/gdpr-request-people.ts';
import { listMissingTombstones, readmit } from '../../../store/tombstone-batches.ts';

let store: TestStore;
let world: TrackedWorld;
let needs: Needs;
let people = 0;

beforeAll(async () => {
  store = await testStore();
  await ensurePartitions(store.db, [new Date('2026-11-05T10:00:00Z')]);
  world = await makeTrackedWorld(store);
  // Of what these steps use nothing is outside the store.
  needs = { ...store, boundary() {} } as unknown as Needs;
});

async function known(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => personId(750_000 + (people += 1)));
  await insertPeople(store, world, ids);
  return ids;
}

async function claimed(type: GdprRequestType, userIds: string[]): Promise<GdprClaim> {
  const { id, identifier } = await requestByApi(store.db, type, world, userIds);
  const ref = { entityId: world.entity.id, runId: id, identifier };
  const { generation } = (await claimGdprRequest(store.db, ref, `run of ${identifier}`))!;
  return { ...ref, generation };
}

const alias = (previousId: string, userId: string) => store.db.query(
  'INSERT INTO user_aliases (entity_id, previous_id, user_id) VALUES ($1, $2, $3)', [world.entity.id, previousId, userId]);
const hashOf = (id: string, type: 'user_id' | 'device_id' = 'user_id') => store.secrets.customerHash(world.entity.id, type, id);
const receiptsOf = (hash: Buffer) => listReceiptsOf(store.db, world.entity.id, [hash], { offset: 0, limit: 10 });
const idsOf = async ({ runId }: GdprClaim) => (await listIdentifiers(store.db, world.entity.id, runId)).map(({ customerId }) => customerId);

describe('a receipt is found by each id of a person, also those that were only gathered', () => {
  it('of what was erased', async () => {
    const [id, before] = await known(2);
    await alias(before!, id!);
    const claim = await claimed('delete', [id!]);
    await gatherPeople(needs, claim);
    await refusePeople(needs, claim);
    await beginErasingPeople(needs, claim);
    await finishRound(needs, claim);
    const found = await Promise.all([hashOf(id!), hashOf(before!), hashOf(`device of ${id}`, 'device_id')].map(receiptsOf));
    expect(found.map((receipts) => receipts.map(({ request }) => request))).toEqual(Array(3).fill([claim.identifier]));
  });

  it('of what was shown', async () => {
    const [id, before] = await known(2);
    await alias(before!, id!);
    const claim = await claimed('access', [id!]);
    await gatherKnown(needs, claim, async () => null);
    await finishAccess(needs, claim);
    const found = await Promise.all([hashOf(id!), hashOf(before!), hashOf(`device of ${id}`, 'device_id')].map(receiptsOf));
    expect(found.map((receipts) => receipts.map(({ request }) => request))).toEqual(Array(3).fill([claim.identifier]));
  });
});

describe('an id from which several users came', () => {
  it('leads from none of them to another, and is not taken for theirs', async () => {
    const [ana, ben, guest, earlier] = await known(4);
    for (const id of [ana, ben]) await alias(guest!, id!);
    await alias(earlier!, ana!);
    const claim = await claimed('delete', [ana!]);
    await gatherPeople(needs, claim);
    expect((await idsOf(claim)).filter((id) => !id.includes(' '))).toEqual([ana, earlier]);
    const asked = await claimed('delete', [guest!]);
    await gatherPeople(needs, asked);
    expect((await idsOf(asked)).filter((id) => !id.includes(' '))).toEqual([guest]);
  });

  it('goes with them where all of them are found to be one, or are asked for', async () => {
    const [ana, renamed, once, ben, guest] = await known(5);
    for (const [from, to] of [[once, ana], [once, renamed], [ana, renamed], [guest, renamed], [guest, ben]]) await alias(from!, to!);
    const one = await claimed('delete', [ana!]);
    await gatherPeople(needs, one);
    expect(new Set((await idsOf(one)).filter((id) => !id.includes(' ')))).toEqual(new Set([ana, renamed, once]));
    const all = await claimed('delete', [ben!, ana!]);
    await gatherPeople(needs, all);
    expect(await idsOf(all)).toContain(guest);
    const shown = await claimed('access', [ben!, ana!]);
    await gatherKnown(needs, shown, async () => null);
    expect(await idsOf(shown)).not.toContain(guest);
  });
});

describe('tombstones', () => {
  const hold = (customerId: string) => write(store.db, (tx) => insertHold(tx, world.entity.id, {
    customerType: 'user_id', customerId, kind: 'hold', reason: 'a lawsuit', createdBy: world.user.id,
  }));
  const standing = async (...hashes: Buffer[]) => hashes.length - (await listMissingTombstones(store.db, world.entity.id, hashes)).length;
  const erase = async (claim: GdprClaim) => {
    await gatherPeople(needs, claim);
    await refusePeople(needs, claim);
    expect(await beginErasingPeople(needs, claim)).not.toBeNull();
  };

  it('of somebody whom another request has erased stay, though a hold comes then, and this one waits for it', async () => {
    const [id] = await known(1);
    const early = await claimed('delete', [id!]);
    await gatherPeople(needs, early);
    await refusePeople(needs, early);
    const late = await claimed('delete', [id!]);
    await erase(late);
    await hold(id!);
    expect(await gatherPeople(needs, early)).toMatchObject({ held: 1, going: 0 });
    expect(await standing(hashOf(id!))).toBe(1);
    await finishRound(needs, late);
    await gatherPeople(needs, early);
    expect(await standing(hashOf(id!), hashOf(`device of ${id}`, 'device_id'))).toBe(2);
  });

  it('that were taken away meanwhile are raised again before anything is gone', async () => {
    const [id] = await known(1);
    const claim = await claimed('delete', [id!]);
    await gatherPeople(needs, claim);
    await refusePeople(needs, claim);
    await readmit(store, world.entity.id, [hashOf(id!)], async () => {});
    expect(await beginErasingPeople(needs, claim)).toBeNull();
    await erase(claim);
  });

  it('of a device go again, and nothing of it does, when somebody else came to use it', async () => {
    const [id, other] = await known(2);
    const claim = await claimed('delete', [id!]);
    await gatherPeople(needs, claim);
    await refusePeople(needs, claim);
    const device = hashOf(`device of ${id}`, 'device_id');
    expect(await standing(device)).toBe(1);
    await store.db.query(
      `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at) VALUES ($1, $2, $3, $4, now())`,
      [world.entity.id, world.app.id, `device of ${id}`, other]);
    await erase(claim);
    expect(await standing(device)).toBe(0);
    expect(await idsOf(claim)).toEqual([id]);
  });
});

it('a request that is approved while another deletes its person is worked off, too; one that still waits is done', async () => {
  const [approved, left] = await known(2);
  const asked = (userId: string) => deletionByDevice(store.db, world.entity.id, { userId, deviceId: null });
  const [first, second] = [await asked(approved!), await asked(left!)];
  const approving = await store.db.connect();
  await approving.query('BEGIN');
  await updateDecision(approving, world.entity.id, first.identifier, { state: 'accepted', decidedBy: world.user.id });
  const both = [approved!, left!].map((customerId) => ({ customerType: 'user_id', customerId }) as const);
  const erasing = gdprRequestPeople.erase!(store, world.entity.id, both);
  await lockWaits(store);
  await approving.query('COMMIT');
  approving.release();
  await erasing;
  const states = async ({ id }: { id: number }) => [
    (await findGdprRequestById(store.db, world.entity.id, id))!.state, (await listGdprPeople(store.db, world.entity.id, id))[0]!.state];
  expect([await states(first), await states(second)]).toEqual([['accepted', 'pending'], ['treated', 'treated']]);
});

it('who polls for news is told of states, and not of every batch', async () => {
  const updatedAt = async ({ runId }: GdprClaim) => (await store.db.query<{ updated_at: Date }>(
    'SELECT updated_at FROM gdpr_requests WHERE id = $1', [runId])).rows[0]!.updated_at.getTime();
  const deletion = await claimed('delete', await known(1));
  const before = await updatedAt(deletion);
  await updateStage(store.db, deletion, 'erasing');
  await addErased(store.db, deletion, 'events', 3);
  expect(await updatedAt(deletion)).toBe(before);
  expect(await findGdprRequestById(store.db, world.entity.id, deletion.runId)).toMatchObject({ stage: 'erasing', erased: { events: 3 } });
  const access = await claimed('access', await known(2));
  await gatherKnown(needs, access, async () => null);
  const asked = await updatedAt(access);
  const { person, key } = (await write(store.db, (tx) => beginArchive(tx, access)))!;
  await write(store.db, (tx) => recordArchive(tx, { ...access, ordinal: person.ordinal, key }, { shown: {}, archive: null, message: 'x' }));
  expect(await updatedAt(access)).toBeGreaterThan(asked);
});
