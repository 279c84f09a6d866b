import { asyncLocalStorage, type Context } from '@temporalio/activity';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Dependencies } from '../../../activities/dependencies.ts';
import { writeAccessReceipt, writeReceipt } from '../../../activities/gdpr/write-receipt.ts';
import { type GdprAccessSteps, gdprAccessSteps } from '../../../activities/gdpr/gdpr-access.ts';
import { type GdprDeleteSteps, gdprDeleteSteps } from '../../../activities/gdpr/gdpr-delete.ts';
import { inGdprSlot } from '../../../activities/gdpr/request-steps.ts';
import { semaphore, TooManyWait } from '../../../domain/core/semaphore.ts';
import { type JobClaim, WAITING_FOR_SLOT } from '../../../domain/jobs/job.ts';
import { write } from '../../../store/core/database.ts';
import { beginArchive, recordArchive } from '../../../store/gdpr/archives.ts';
import { findGdprRequestById, listGdprPeople, updateDecision } from '../../../store/gdpr/requests.ts';
import { insertHold } from '../../../store/gdpr/holds.ts';
import { listIdentifiers } from '../../../store/gdpr/identifiers.ts';
import { updateAlias } from '../../../store/gdpr/links.ts';
import { personalData } from '../../../store/gdpr/personal-data-registry.ts';
import { gdprRequestPeople } from '../../../store/gdpr/personal-data.ts';
import { addErased, claimRequest, updateStage } from '../../../store/gdpr/progress.ts';
import { listReceiptsOf } from '../../../store/gdpr/receipts.ts';
import type { GdprRequestType } from '../../../store/gdpr/request-record.ts';
import { listMissingTombstones, readmit } from '../../../store/gdpr/tombstone-batches.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { lockWaits } from '../../harness/core/lock-waits.ts';
import { personId } from '../../harness/core/people.ts';
import { deletionByDevice, requestByApi } from '../../harness/gdpr/gdpr-requests.ts';
import { insertPeople } from '../../harness/gdpr/gdpr.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeTrackedWorld, type TrackedWorld } from '../../harness/tracking/tracked-calls.ts';

let store: TestStore;
let world: TrackedWorld;
let deps: Dependencies;
let steps: GdprDeleteSteps & GdprAccessSteps;
let people = 0;

const context = {
  info: {},
  heartbeat: () => {},
  cancellationSignal: new AbortController().signal,
} as object as Context;
const inStep = <T>(step: () => Promise<T>) => asyncLocalStorage.run(context, step);

beforeAll(async () => {
  store = await testStore();
  await ensurePartitions(store.db, [new Date('2026-11-05T10:00:00Z')]);
  world = await makeTrackedWorld(store);
  // Of what these steps use nothing is outside the store.
  deps = { ...store, boundary() {} } as unknown as Dependencies;
  steps = { ...gdprDeleteSteps(deps), ...gdprAccessSteps(deps) };
});

async function known(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => personId(750_000 + (people += 1)));
  await insertPeople(store, world, ids);
  return ids;
}

async function claimed(type: GdprRequestType, userIds: string[]): Promise<JobClaim> {
  const { id, identifier } = await requestByApi(store.db, type, world, userIds);
  const ref = { entityId: world.entity.id, jobId: id, identifier };
  const { generation } = (await claimRequest(store.db, ref, `run of ${identifier}`))!;
  return { ...ref, generation };
}

/** An id that nothing but an alias knows. */
const guest = () => personId(750_000 + (people += 1));
/** One that counts, as an SDK says it of an id that no other device has used. */
const alias = (previousId: string, userId: string, { decision = null as string | null, witnessed = true } = {}) =>
  store.db.query(
    'INSERT INTO user_aliases (entity_id, previous_id, user_id, witnessed, decision) VALUES ($1, $2, $3, $4, $5)',
    [world.entity.id, previousId, userId, witnessed, decision],
  );
const leftOf = async ({ jobId }: JobClaim) =>
  (
    await store.db.query<{ kind: string; value: string; via: string; reason: string }>(
      'SELECT kind, value, via, reason FROM gdpr_left_identifiers WHERE entity_id = $1 AND request_id = $2 ORDER BY ordinal, kind DESC, value',
      [world.entity.id, jobId],
    )
  ).rows.map(({ kind, value, via, reason }) => [kind, value, via, reason]);
const hashOf = (id: string, type: 'user_id' | 'device_id' = 'user_id') =>
  store.secrets.customerHash(world.entity.id, type, id);
const receiptsOf = async (hash: Buffer) =>
  (await listReceiptsOf(store.db, world.entity.id, [hash], { offset: 0, limit: 10 })).items;
const idsOf = async ({ jobId }: JobClaim) =>
  (await listIdentifiers(store.db, world.entity.id, jobId)).map(({ customerId }) => customerId);

describe('a receipt is found by each id of a person, also those that were only gathered', () => {
  it('of what was erased', async () => {
    const [[id], before] = [await known(1), guest()];
    await alias(before, id!);
    const claim = await claimed('delete', [id!]);
    await inStep(() => steps.collectIdentifiers(claim));
    await inStep(() => steps.raiseTombstones(claim));
    await inStep(() => steps.beginErasing(claim));
    await writeReceipt(deps, claim);
    const found = await Promise.all(
      [hashOf(id!), hashOf(before), hashOf(`device of ${id}`, 'device_id')].map(receiptsOf),
    );
    expect(found.map((receipts) => receipts.map(({ request }) => request))).toEqual(Array(3).fill([claim.identifier]));
  });

  it('of what was shown', async () => {
    const [[id], before] = [await known(1), guest()];
    await alias(before, id!);
    const claim = await claimed('access', [id!]);
    await inStep(() => steps.gatherToShow(claim));
    await writeAccessReceipt(deps, claim);
    const found = await Promise.all(
      [hashOf(id!), hashOf(before), hashOf(`device of ${id}`, 'device_id')].map(receiptsOf),
    );
    expect(found.map((receipts) => receipts.map(({ request }) => request))).toEqual(Array(3).fill([claim.identifier]));
  });
});

describe('an id from which several users came', () => {
  it('leads from none of them to another, is not taken for theirs, and is told of', async () => {
    const [[ana, ben], shared, earlier] = [await known(2), guest(), guest()];
    for (const id of [ana, ben]) await alias(shared, id!);
    await alias(earlier, ana!);
    const claim = await claimed('delete', [ana!]);
    await inStep(() => steps.collectIdentifiers(claim));
    expect((await idsOf(claim)).filter((id) => !id.includes(' '))).toEqual([ana, earlier]);
    expect(await leftOf(claim)).toEqual([['user_id', shared, ana, 'shared']]);
    const asked = await claimed('delete', [shared]);
    await inStep(() => steps.collectIdentifiers(asked));
    expect((await idsOf(asked)).filter((id) => !id.includes(' '))).toEqual([shared]);
    expect(await leftOf(asked)).toEqual([
      ['user_id', ana, shared, 'unconfirmed'],
      ['user_id', ben, shared, 'unconfirmed'],
    ]);
  });

  it('goes with them where all of them are found to be one, or are asked for', async () => {
    const [[ana, renamed, ben], once, shared] = [await known(3), guest(), guest()];
    for (const [from, to] of [
      [once, ana],
      [once, renamed],
      [shared, renamed],
      [shared, ben],
    ])
      await alias(from!, to!);
    await alias(ana!, renamed!, { decision: 'confirmed' });
    const one = await claimed('delete', [ana!]);
    await inStep(() => steps.collectIdentifiers(one));
    expect(new Set((await idsOf(one)).filter((id) => !id.includes(' ')))).toEqual(new Set([ana, renamed, once]));
    const all = await claimed('delete', [ben!, ana!]);
    await inStep(() => steps.collectIdentifiers(all));
    expect(await idsOf(all)).toContain(shared);
    expect(await leftOf(all)).toEqual([]);
    const shown = await claimed('access', [ben!, ana!]);
    await inStep(() => steps.gatherToShow(shown));
    expect(await idsOf(shown)).not.toContain(shared);
  });
});

describe('whose word links ids', () => {
  it('of a customer of a System of Records only that of staff, in either direction', async () => {
    const [mine, victim, another] = await known(3);
    await alias(victim!, mine!);
    await alias(mine!, another!);
    for (const type of ['access', 'delete'] as const) {
      const claim = await claimed(type, [mine!]);
      await inStep(() => steps.gatherToShow(claim));
      expect((await idsOf(claim)).filter((id) => !id.includes(' '))).toEqual([mine]);
      expect(await leftOf(claim)).toEqual([
        ['user_id', victim, mine, 'unconfirmed'],
        ['user_id', another, mine, 'unconfirmed'],
      ]);
    }
    const decide = (previousId: string, userId: string, decision: 'confirmed' | 'refused') =>
      write(store.db, (tx) => updateAlias(tx, world.entity.id, { previousId, userId }, decision, world.user.id));
    await decide(victim!, mine!, 'refused');
    await decide(mine!, another!, 'confirmed');
    const claim = await claimed('delete', [mine!]);
    await inStep(() => steps.collectIdentifiers(claim));
    expect((await idsOf(claim)).filter((id) => !id.includes(' '))).toEqual([mine, another]);
    expect(await leftOf(claim)).toEqual([]);
  });

  it('of somebody on hold, whom an SDK calls the same, keeps nobody else waiting until staff confirm it', async () => {
    const [held, mine] = await known(2);
    await write(store.db, (tx) =>
      insertHold(tx, world.entity.id, {
        customerType: 'user_id',
        customerId: held!,
        kind: 'hold',
        reason: 'a lawsuit',
        createdBy: world.user.id,
      }),
    );
    await alias(held!, mine!);
    expect(await inStep(async () => steps.collectIdentifiers(await claimed('delete', [held!, mine!])))).toMatchObject({
      going: 1,
      held: 1,
    });
    await write(store.db, (tx) =>
      updateAlias(tx, world.entity.id, { previousId: held!, userId: mine! }, 'confirmed', world.user.id),
    );
    expect(await inStep(async () => steps.collectIdentifiers(await claimed('delete', [held!, mine!])))).toMatchObject({
      going: 0,
      held: 2,
    });
  });

  it("of an id that is in use elsewhere nobody else's", async () => {
    const [[mine], victim] = [await known(1), guest()];
    await alias(victim, mine!, { witnessed: false });
    const claim = await claimed('delete', [mine!]);
    await inStep(() => steps.collectIdentifiers(claim));
    expect(await idsOf(claim)).not.toContain(victim);
    expect(await leftOf(claim)).toEqual([['user_id', victim, mine, 'unconfirmed']]);
  });

  it('more of them than are followed hold up neither this person nor the others of the request', async () => {
    const [[flooded, other], first] = [await known(2), guest()];
    await alias(first, flooded!);
    await store.db.query(
      `INSERT INTO user_aliases (entity_id, previous_id, user_id, witnessed, first_seen_at)
       SELECT $1, 'guest ' || n || ' of ' || $2, $2, true, now() + interval '1 s' FROM generate_series(1, 1100) n`,
      [world.entity.id, flooded],
    );
    await store.db.query(
      `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
       SELECT $1, $3, 'device ' || n || ' of ' || $2, $2, now() + interval '1 s' FROM generate_series(1, 1100) n`,
      [world.entity.id, flooded, world.app.id],
    );
    const claim = await claimed('delete', [flooded!, other!]);
    expect(await inStep(() => steps.collectIdentifiers(claim))).toMatchObject({ going: 2, held: 0 });
    const ids = await idsOf(claim);
    expect(ids.filter((id) => id.startsWith('guest ')).length).toBe(998);
    expect(ids).toEqual(expect.arrayContaining([first, other, `device of ${flooded}`, `device of ${other}`]));
    const left = await leftOf(claim);
    expect(left.filter(([kind]) => kind === 'user_id').length).toBe(102);
    expect(left.every(([, , , reason]) => reason === 'too_many')).toBe(true);
    await inStep(() => steps.raiseTombstones(claim));
    await inStep(() => steps.beginErasing(claim));
    expect(await writeReceipt(deps, claim)).toEqual({ isTreated: true });
    const [receipt] = await receiptsOf(hashOf(flooded!));
    const told = receipt!.subjects.find(({ subject }) => subject === hashOf(flooded!).toString('hex'))!;
    expect(told).toMatchObject({
      identifiers: { push_token: 1 },
      origins: { asked: 1, alias: 999, confirmed: 0, device: 1001 },
    });
    expect(told.left_alone!.length).toBe(left.length);
  });
});

describe('a device that asks for itself', () => {
  const asked = async (deviceId: string) => {
    const { id, identifier } = await deletionByDevice(
      store.db,
      world.entity.id,
      { userId: null, deviceId },
      { state: 'accepted' },
    );
    // It has waited for the requests of the tests before, as long as it has to.
    await store.db.query(
      `UPDATE gdpr_requests SET received_at = now() - interval '1 hour', started_at = now() - interval '1 hour'
      WHERE entity_id = $1`,
      [world.entity.id],
    );
    const ref = { entityId: world.entity.id, jobId: id, identifier };
    return { ...ref, generation: (await claimRequest(store.db, ref, `run of ${identifier}`))!.generation };
  };
  const countAll = async (claim: JobClaim) => {
    const ids = await listIdentifiers(store.db, world.entity.id, claim.jobId);
    const counts = await Promise.all(
      personalData.map(async (place) => [place.name, await place.count(store, world.entity.id, ids)] as const),
    );
    return Object.fromEntries(counts.filter(([name, rows]) => rows > 0 && !name.startsWith('gdpr_')));
  };

  it('is answered with what it has sent, under whatever name, and with nothing else of its user', async () => {
    const [mine, other] = await known(2);
    await store.db.query(
      `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at) VALUES ($1, $2, $3, $4, now())`,
      [world.entity.id, world.app.id, `device of ${mine}`, other],
    );
    const claim = await asked(`device of ${mine}`);
    await inStep(() => steps.collectIdentifiers(claim));
    expect(new Set(await idsOf(claim))).toEqual(new Set([`device of ${mine}`])); // its token may be anybody's
    expect(await countAll(claim)).toEqual({ events: 3, devices: 1, device_users: 2 });
    const ids = await listIdentifiers(store.db, world.entity.id, claim.jobId);
    const events = personalData.find(({ name }) => name === 'events')!;
    expect(await Array.fromAsync(events.export(store, world.entity.id, ids))).toHaveLength(3);
    for (const place of personalData)
      if (place.erase && !place.name.startsWith('gdpr_')) await place.erase(store, world.entity.id, ids);
    expect(await countAll(claim)).toEqual({});
    const users = [mine!, other!].map((customerId) => ({ customerType: 'user_id' as const, customerId }));
    const values = personalData.find(({ name }) => name === 'attribute_values')!;
    expect([
      await values.count(store, world.entity.id, users),
      await events.count(store, world.entity.id, users),
    ]).toEqual([2, 2]);
  });

  it('waits while somebody who has used it is on hold', async () => {
    const [id] = await known(1);
    await write(store.db, (tx) =>
      insertHold(tx, world.entity.id, {
        customerType: 'user_id',
        customerId: id!,
        kind: 'hold',
        reason: 'a lawsuit',
        createdBy: world.user.id,
      }),
    );
    expect(await inStep(async () => steps.collectIdentifiers(await asked(`device of ${id}`)))).toMatchObject({
      going: 0,
      held: 1,
    });
  });
});

describe('tombstones', () => {
  const hold = (customerId: string) =>
    write(store.db, (tx) =>
      insertHold(tx, world.entity.id, {
        customerType: 'user_id',
        customerId,
        kind: 'hold',
        reason: 'a lawsuit',
        createdBy: world.user.id,
      }),
    );
  const standing = async (...hashes: Buffer[]) =>
    hashes.length - (await listMissingTombstones(store.db, world.entity.id, hashes)).length;
  const erase = async (claim: JobClaim) => {
    await inStep(() => steps.collectIdentifiers(claim));
    await inStep(() => steps.raiseTombstones(claim));
    expect(await inStep(() => steps.beginErasing(claim))).not.toBeNull();
  };

  it('of somebody whom another request has erased stay, though a hold comes then, and this one waits for it', async () => {
    const [id] = await known(1);
    const early = await claimed('delete', [id!]);
    await inStep(() => steps.collectIdentifiers(early));
    await inStep(() => steps.raiseTombstones(early));
    const late = await claimed('delete', [id!]);
    await erase(late);
    await hold(id!);
    expect(await inStep(() => steps.collectIdentifiers(early))).toMatchObject({ held: 1, going: 0 });
    expect(await standing(hashOf(id!))).toBe(1);
    await writeReceipt(deps, late);
    await inStep(() => steps.collectIdentifiers(early));
    expect(await standing(hashOf(id!), hashOf(`device of ${id}`, 'device_id'))).toBe(2);
  });

  it('that were taken away meanwhile are raised again before anything is gone', async () => {
    const [id] = await known(1);
    const claim = await claimed('delete', [id!]);
    await inStep(() => steps.collectIdentifiers(claim));
    await inStep(() => steps.raiseTombstones(claim));
    await readmit(store, world.entity.id, [hashOf(id!)], async () => {});
    expect(await inStep(() => steps.beginErasing(claim))).toBeNull();
    await erase(claim);
  });

  it('of a device go again, and nothing of it does, when somebody else came to use it', async () => {
    const [id, other] = await known(2);
    const claim = await claimed('delete', [id!]);
    await inStep(() => steps.collectIdentifiers(claim));
    await inStep(() => steps.raiseTombstones(claim));
    const device = hashOf(`device of ${id}`, 'device_id');
    expect(await standing(device)).toBe(1);
    await store.db.query(
      `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at) VALUES ($1, $2, $3, $4, now())`,
      [world.entity.id, world.app.id, `device of ${id}`, other],
    );
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
    (await findGdprRequestById(store.db, world.entity.id, id))!.state,
    (await listGdprPeople(store.db, world.entity.id, id))[0]!.state,
  ];
  expect([await states(first), await states(second)]).toEqual([
    ['accepted', 'pending'],
    ['treated', 'treated'],
  ]);
});

it('a request that waits for a slot says so, and only while it waits', async () => {
  const slots = { ...store, takeGdprSlot: semaphore(1) };
  const [one, other] = [await claimed('delete', await known(1)), await claimed('access', await known(2))];
  const stageOf = async ({ jobId }: JobClaim) => (await findGdprRequestById(store.db, world.entity.id, jobId))!.stage;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const working = inGdprSlot(slots, one, 'erasing', () => ended);
  await waitFor('a request that erases', async () => (await stageOf(one)) === 'erasing');
  const waiting = inGdprSlot(slots, other, 'writing archives', () => stageOf(other));
  await waitFor('a request that says that it waits', async () => (await stageOf(other)) === WAITING_FOR_SLOT);
  end();
  await working;
  expect(await waiting).toBe('writing archives');
});

it('steps of requests leave their slots of the queue while many of their entity wait, and name no fault', async () => {
  const takeGdprSlot = semaphore(2, { maxEach: 1, maxWaitingEach: 0 });
  const free = await takeGdprSlot(world.entity.id);
  const [deletion, access] = [await claimed('delete', await known(1)), await claimed('access', await known(1))];
  const busy = { ...deps, takeGdprSlot, draining: new AbortController().signal } as object as Dependencies;
  const busySteps = { ...gdprDeleteSteps(busy), ...gdprAccessSteps(busy) };
  for (const [claim, step] of [
    [deletion, () => busySteps.eraseLocation(deletion, 'events')],
    [deletion, () => busySteps.listSurvivors(deletion)],
    [access, () => busySteps.writeArchives(access)],
  ] as [JobClaim, () => Promise<unknown>][]) {
    await updateStage(store.db, claim, 'erasing');
    await expect(inStep(step)).rejects.toBeInstanceOf(TooManyWait);
    expect(await findGdprRequestById(store.db, world.entity.id, claim.jobId)).toMatchObject({
      stage: WAITING_FOR_SLOT,
      fault: null,
    });
  }
  free();
});

it('who polls for news is told of states, and not of every batch', async () => {
  const updatedAt = async ({ jobId }: JobClaim) =>
    (
      await store.db.query<{ updated_at: Date }>('SELECT updated_at FROM gdpr_requests WHERE id = $1', [jobId])
    ).rows[0]!.updated_at.getTime();
  const deletion = await claimed('delete', await known(1));
  const before = await updatedAt(deletion);
  await updateStage(store.db, deletion, 'erasing');
  await addErased(store.db, deletion, 'events', 3);
  expect(await updatedAt(deletion)).toBe(before);
  expect(await findGdprRequestById(store.db, world.entity.id, deletion.jobId)).toMatchObject({
    stage: 'erasing',
    erased: { events: 3 },
  });
  const access = await claimed('access', await known(2));
  await inStep(() => steps.gatherToShow(access));
  const asked = await updatedAt(access);
  const { person, key } = (await write(store.db, (tx) => beginArchive(tx, access)))!;
  const begun = { ...access, ordinal: person.ordinal, key };
  const archive = {
    bytes: 1,
    sha256: Buffer.alloc(32),
    others: [store.secrets.customerHash(world.entity.id, 'user_id', 'somebody')],
  };
  await store.db.query('INSERT INTO tombstones (entity_id, customer_hash) VALUES ($1, $2)', [
    world.entity.id,
    archive.others[0],
  ]);
  expect(await write(store.db, (tx) => recordArchive(tx, begun, { shown: {}, archive, message: null }))).toBe(
    'outdated',
  );
  expect(await updatedAt(access)).toBe(asked);
  expect(await write(store.db, (tx) => recordArchive(tx, begun, { shown: {}, archive: null, message: 'x' }))).toBe(
    'recorded',
  );
  expect(await updatedAt(access)).toBeGreaterThan(asked);
});
