import { beforeAll, describe, expect, it } from 'vitest';
import type { Dependencies } from '../../../activities/dependencies.ts';
import { beginBatch, settleRunsOf } from '../../../activities/syncs/deliver.ts';
import { deliveryOf } from '../../../activities/syncs/delivery.ts';
import { endSyncRun } from '../../../activities/syncs/end.ts';
import type { WriteOutcome } from '../../../connectors/core/contract.ts';
import { write } from '../../../store/core/database.ts';
import { listSyncsToSettle } from '../../../store/jobs/jobs-across-entities.ts';
import { raiseTombstones } from '../../../store/gdpr/tombstone-batches.ts';
import { findBatch, insertBatch, type PendingBatch, updateBatchOutcomes } from '../../../store/syncs/sync-batches.ts';
import type { Sync } from '../../../store/syncs/sync-record.ts';
import type { SyncRun } from '../../../store/syncs/sync-run-record.ts';
import { findKnownRecords, upsertSending } from '../../../store/syncs/sync-records.ts';
import { cancelRun, claimRun, findRunById } from '../../../store/syncs/sync-runs.ts';
import { findSyncById } from '../../../store/syncs/syncs.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { storedRun, storedSync } from '../../harness/syncs/stored-syncs.ts';

let store: TestStore;
let world: World;
const OK: WriteOutcome = { kind: 'ok' };

beforeAll(async () => {
  store = await testStore();
  world = await makeWorld(store);
});

const deps = () => ({ db: store.db, secrets: store.secrets, boundary: () => {} }) as unknown as Dependencies;

type Stored = { ids: number[]; answered: number; sent: number | null; isUnchanged?: boolean };

/** A running run with batches on their way; of each, `answered` records have their answer and `sent` may have left. */
async function runWith(...batches: Stored[]): Promise<{ sync: Sync; run: SyncRun }> {
  const { db } = store;
  const sync = await storedSync(db, world, { destination: { connectionId: 1, stream: 'people', key: ['id'] } });
  const { id } = await storedRun(db, sync, { state: 'accepted' });
  const run = (await write(db, (tx) => claimRun(tx, world.entity.id, id, 'workflow')))!;
  for (const { ids, answered, sent, isUnchanged } of batches) {
    const records = ids.map((n) => ({ id: n, email: `abandoned-${n}` }));
    const items = records.map((record, index) => ({
      ordinal: record.id,
      rootLine: null,
      key: JSON.stringify([record.id]),
      customerId: record.email,
      checksum: `0${index}`,
      error: null,
      source: record,
      record: null,
      sent: isUnchanged ? null : index,
    }));
    const fates = items.map(() => (isUnchanged ? 'unchanged' : 'written'));
    const position = `"${ids.at(-1)}"`;
    const batch = { items, fates, records: isUnchanged ? [] : records, bytes: 30, share: 1, position };
    const sending = new Map(
      items.flatMap(({ key, customerId, checksum, sent: n }) =>
        n === null ? [] : [[key, { key, customerId, checksum }]],
      ),
    );
    const ref = { entityId: world.entity.id, runId: id, recordsBefore: ids[0]! - 1 };
    const row = { identifier: `batch-${ids[0]}`, batch: JSON.stringify(batch), records: ids.length, sent };
    await write(db, async (tx) => {
      await upsertSending(tx, run, sending, { known: new Map(), isSeen: false });
      expect(await insertBatch(tx, ref, row)).toBe(true);
      const outcomes = JSON.stringify(Array.from({ length: answered }, () => OK));
      if (answered > 0) await updateBatchOutcomes(tx, ref, { outcomes, answered, share: null });
    });
  }
  return { sync, run };
}

/** A run whose batch of three is being sent, and whose next batch waits. */
const runWithBatch = (first: { answered: number; sent: number | null }) =>
  runWith({ ids: [1, 2, 3], ...first }, { ids: [4, 5], answered: 0, sent: 0 });

const found = async ({ id }: SyncRun) => (await findRunById(store.db, world.entity.id, id))!;
/** Returns the keys of records that the next run leaves out if they have not changed. */
async function writtenKeys({ id }: Sync): Promise<string[]> {
  const known = await findKnownRecords(store.db, world.entity.id, id, ['[1]', '[2]', '[3]', '[4]', '[5]']);
  return [...known].flatMap(([key, { checksum }]) => (checksum === null ? [] : key));
}
const cursorOf = async ({ id }: Sync) => (await findSyncById(store.db, world.entity.id, id))!.cursor;

describe('a canceled run', () => {
  it.each([
    [
      'that sent nothing counts nothing',
      { answered: 0, sent: 0 },
      { read: 0, written: 0, failed: 0, errorsByType: {} },
      null,
    ],
    [
      'counts what was answered, and leaves what was not sent',
      { answered: 2, sent: 2 },
      { read: 2, written: 2, failed: 0 },
      null,
    ],
    [
      'does not know what became of what was sent, and says what was not',
      { answered: 1, sent: 2 },
      { read: 3, written: 1, failed: 2, errorsByType: { DELIVERY_UNKNOWN: 1, DELIVERY_FAILED: 1 } },
      '"3"',
    ],
    [
      'whose process ended may have sent all',
      { answered: 1, sent: null },
      { read: 3, written: 1, failed: 2, errorsByType: { DELIVERY_UNKNOWN: 2 } },
      '"3"',
    ],
    [
      'counts a batch that was answered as a whole',
      { answered: 3, sent: 3 },
      { read: 3, written: 3, failed: 0 },
      '"3"',
    ],
  ])('%s, and has ended only then', async (_, batch, progress, cursor) => {
    const { sync, run } = await runWithBatch(batch);
    await write(store.db, (tx) => cancelRun(tx, world.entity.id, run.identifier));
    expect(await found(run)).toMatchObject({ state: 'canceled', endedAt: null, progress: { read: 0 } });
    // Should its workflow be lost, the sweep does the same.
    expect(await listSyncsToSettle(store.db, 0)).toContainEqual({ entityId: world.entity.id, syncId: sync.id });
    expect(await listSyncsToSettle(store.db, 60)).toEqual([]);
    await settleRunsOf(deps(), world.entity.id, sync.id);
    expect(await found(run)).toMatchObject({ state: 'canceled', endedAt: expect.any(Date) as Date, progress });
    expect([await cursorOf(sync), await findBatch(store.db, world.entity.id, run.id)]).toEqual([cursor, null]);
    expect(await writtenKeys(sync)).toEqual(['[1]', '[2]', '[3]'].slice(0, batch.answered));
    expect(await listSyncsToSettle(store.db, 0)).toEqual([]);
  });
});

describe('two batches of a canceled run', () => {
  const whole = { ids: [1, 2, 3], answered: 3, sent: 3 };
  const part = { ids: [1, 2, 3], answered: 2, sent: 2 };
  it.each([
    [
      'are both counted if both were sent',
      [whole, { ids: [4, 5], answered: 0, sent: null }],
      { read: 5, failed: 2 },
      '"5"',
    ],
    ['are counted in part', [whole, { ids: [4, 5], answered: 1, sent: 1 }], { read: 4, written: 4, failed: 0 }, '"3"'],
    [
      'leave the cursor before the first one that is not whole',
      [part, { ids: [4, 5], answered: 0, sent: 0, isUnchanged: true }],
      { read: 2, written: 2, unchanged: 0 },
      null,
    ],
  ] satisfies [string, Stored[], object, string | null][])('%s', async (_, batches, progress, cursor) => {
    const { sync, run } = await runWith(...batches);
    await write(store.db, (tx) => cancelRun(tx, world.entity.id, run.identifier));
    await settleRunsOf(deps(), world.entity.id, sync.id);
    expect(await found(run)).toMatchObject({ state: 'canceled', endedAt: expect.any(Date) as Date, progress });
    expect([await cursorOf(sync), await findBatch(store.db, world.entity.id, run.id)]).toEqual([cursor, null]);
  });

  it('that waits is sent without people who were erased meanwhile, once, and by one attempt', async () => {
    const { sync, run } = await runWith(whole, { ids: [4, 5, 6], answered: 0, sent: 0 });
    const { id: entityId } = world.entity;
    const ref = { entityId, runId: run.id, recordsBefore: 3 };
    const stored = async () => {
      const { rows } = await store.db.query<PendingBatch>(
        'SELECT identifier, batch, outcomes, sent FROM sync_batches WHERE run_id = $1 AND records_before = 3',
        [run.id],
      );
      return rows[0]!;
    };
    const { identifier, ...pending } = await stored();
    const batch = { ...ref, identifier, delivery: deliveryOf({ identifier, ...pending, recordsBefore: 3 }) };
    const job = { sync, run, key: { entityId, jobId: run.id, generation: run.generation } };
    const older = { ...job, key: { ...job.key, generation: run.generation - 1 } };
    await raiseTombstones(store, entityId, [store.secrets.customerHash(entityId, 'user_id', 'abandoned-5')]);
    expect(await beginBatch(deps(), older, batch)).toBeNull();
    const begun = (await beginBatch(deps(), job, batch))!;
    expect(begun.sent).toBe(0);
    expect(begun.batch.delivery.records.map(({ id }) => id)).toEqual([4, 6]);
    const left = await stored();
    expect([left.sent, left.batch.includes('abandoned-5'), deliveryOf(left)]).toEqual([
      null,
      false,
      JSON.parse(JSON.stringify(begun.batch.delivery), (name, value: unknown) =>
        name === 'customerHash' && value ? (expect.any(Buffer) as unknown) : value,
      ),
    ]);
    expect(deliveryOf(left).items.map(({ sent, error }) => [sent, error?.message])).toEqual([
      [0, undefined],
      [null, 'erased'],
      [1, undefined],
    ]);
    // Another attempt of the same generation does not know what has left since.
    expect((await beginBatch(deps(), job, batch))!.sent).toBeNull();
  });

  it('follow each other: one that would leave a gap, or comes twice, is not stored', async () => {
    const { run } = await runWith(whole);
    const ref = { entityId: world.entity.id, runId: run.id };
    const row = { identifier: 'batch', batch: '{}', records: 1, sent: 0 };
    for (const [recordsBefore, isStored] of [
      [0, false],
      [4, false],
      [3, true],
      [3, false],
    ] as const)
      expect(await insertBatch(store.db, { ...ref, recordsBefore }, row)).toBe(isStored);
  });
});

describe('a run that fails', () => {
  it.each([
    [0, { read: 0 }, null],
    [2, { read: 2, written: 2 }, null],
    [3, { read: 3, written: 3 }, '"3"'],
  ])('counts the %i records of its last batch that were answered', async (answered, progress, cursor) => {
    const { sync, run } = await runWithBatch({ answered, sent: 3 });
    const key = { entityId: world.entity.id, jobId: run.id, generation: run.generation };
    await endSyncRun(deps(), key, { status: 'source_refused', message: 'no such table' });
    expect(await found(run)).toMatchObject({ state: 'failed', answered: 0, progress: { ...progress, failed: 0 } });
    expect([await cursorOf(sync), await findBatch(store.db, world.entity.id, run.id)]).toEqual([cursor, null]);
    expect(await writtenKeys(sync)).toEqual(['[1]', '[2]', '[3]'].slice(0, answered));
  });
});
