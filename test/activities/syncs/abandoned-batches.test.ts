import { beforeAll, describe, expect, it } from 'vitest';
import type { Dependencies } from '../../../activities/dependencies.ts';
import { settleRunsOf } from '../../../activities/syncs/deliver.ts';
import { endSyncRun } from '../../../activities/syncs/end.ts';
import type { WriteOutcome } from '../../../connectors/core/contract.ts';
import { write } from '../../../store/core/database.ts';
import { listSyncsToSettle } from '../../../store/jobs/jobs-across-entities.ts';
import { findBatch, insertBatch, updateBatchOutcomes, updateBatchSent } from '../../../store/syncs/sync-batches.ts';
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

/** A running run with a batch of three records, of which `answered` have their answer and `sent` may have left. */
async function runWithBatch({
  answered,
  sent,
}: {
  answered: number;
  sent: number | null;
}): Promise<{ sync: Sync; run: SyncRun }> {
  const { db } = store;
  const sync = await storedSync(db, world, { destination: { connectionId: 1, stream: 'people', key: ['id'] } });
  const { id } = await storedRun(db, sync, { state: 'accepted' });
  const run = (await write(db, (tx) => claimRun(tx, world.entity.id, id, 'workflow')))!;
  const records = [1, 2, 3].map((n) => ({ id: n, email: `abandoned-${n}` }));
  const items = records.map((record, index) => ({
    ordinal: index + 1,
    rootLine: null,
    key: JSON.stringify([record.id]),
    customerId: record.email,
    checksum: Buffer.from([index]),
    error: null,
    source: record,
    record: null,
    sent: index,
  }));
  const batch = { items, fates: items.map(() => 'written'), records, bytes: 30, share: 1, position: '"3"' };
  const sending = new Map(items.map(({ key, customerId, checksum }) => [key, { key, customerId, checksum }]));
  await write(db, async (tx) => {
    await upsertSending(tx, run, sending, { known: new Map(), isSeen: false });
    await insertBatch(tx, world.entity.id, id, { identifier: 'batch-0', batch: JSON.stringify(batch) });
    const outcomes = JSON.stringify(Array.from({ length: answered }, () => OK));
    if (answered > 0) await updateBatchOutcomes(tx, world.entity.id, id, { outcomes, answered, share: null });
    await updateBatchSent(tx, world.entity.id, id, sent);
  });
  return { sync, run };
}

const found = async ({ id }: SyncRun) => (await findRunById(store.db, world.entity.id, id))!;
/** Returns the keys of records that the next run leaves out if they have not changed. */
async function writtenKeys({ id }: Sync): Promise<string[]> {
  const known = await findKnownRecords(store.db, world.entity.id, id, ['[1]', '[2]', '[3]']);
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
