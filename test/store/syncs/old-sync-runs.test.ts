import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { write } from '../../../store/core/database.ts';
import { insertImportErrors } from '../../../store/imports/import-errors.ts';
import { deleteOldSyncRuns } from '../../../store/jobs/retention-across-entities.ts';
import { insertPinnedBatch } from '../../../store/syncs/pinned-batches.ts';
import { insertBatch } from '../../../store/syncs/sync-batches.ts';
import { insertLogLines } from '../../../store/syncs/sync-log.ts';
import type { Sync } from '../../../store/syncs/sync-record.ts';
import { upsertRecords } from '../../../store/syncs/sync-records.ts';
import type { SyncRun } from '../../../store/syncs/sync-run-record.ts';
import { deleteSync } from '../../../store/syncs/syncs.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { storedRun, storedSync } from '../../harness/syncs/stored-syncs.ts';

let store: TestStore;
let world: World;

beforeAll(async () => {
  store = await testStore();
});

beforeEach(async () => {
  world = await makeWorld(store);
});

/** A run with a row in each table that tells of it. */
async function runWithAll(sync: Sync, state: SyncRun['state'], daysAgo = 0): Promise<SyncRun> {
  return write(store.db, async (tx) => {
    const run = await storedRun(tx, sync, { state, daysAgo });
    await insertImportErrors(tx, sync.entityId, run.id, [
      {
        line: 1,
        errorType: 'INVALID_VALUE',
        outcome: 'failed',
        stage: 'validation',
        message: 'is no number',
        customerId: personId(81),
        attributeKey: 'score',
        raw: '{}',
        originalLine: null,
        customerHash: null,
      },
    ]);
    await insertLogLines(tx, sync.entityId, run.id, ['reading', 'read']);
    await tx.query(
      `INSERT INTO sync_requests (entity_id, run_id, sent_at, method, path, milliseconds) VALUES ($1, $2, now(), 'GET', '/', 1)`,
      [sync.entityId, run.id],
    );
    const ref = { entityId: sync.entityId, runId: run.id, recordsBefore: run.progress.read };
    await insertBatch(tx, ref, { identifier: `${run.identifier}-0`, batch: '{}', records: 1, sent: null });
    await insertPinnedBatch(tx, sync.entityId, run.id, { number: 1, recordsBefore: 0, position: null, items: '[]' });
    const record = { key: `${personId(81)}-${run.id}`, customerId: null, checksum: null };
    await upsertRecords(tx, sync.entityId, { syncId: sync.id, runId: run.id, isSeen: false }, [record]);
    return run;
  });
}

/** Rows of a run: itself, its errors, log, requests, batches, and the records that it wrote. */
async function rowsOf({ entityId, id }: SyncRun): Promise<number[]> {
  const tables = [
    ['sync_runs', 'id'],
    ['import_errors', 'import_id'],
    ['sync_log', 'run_id'],
    ['sync_requests', 'run_id'],
    ['sync_batches', 'run_id'],
    ['sync_pinned_batches', 'run_id'],
    ['sync_records', 'run_id'],
  ];
  return Promise.all(
    tables.map(async ([table, column]) => {
      const { rowCount } = await store.db.query(`SELECT FROM ${table} WHERE entity_id = $1 AND ${column} = $2`, [
        entityId,
        id,
      ]);
      return rowCount!;
    }),
  );
}

async function isThere({ entityId, id }: Sync): Promise<boolean> {
  return (await store.db.query('SELECT FROM syncs WHERE entity_id = $1 AND id = $2', [entityId, id])).rowCount === 1;
}

const WHOLE = [1, 1, 2, 1, 1, 1, 1];

describe('the sweep deletes', () => {
  it('runs that ended over a month ago with all that tells of them, but not what the sync knows of its records', async () => {
    const sync = await storedSync(store.db, world);
    const [old, young] = [await runWithAll(sync, 'finished', 31), await runWithAll(sync, 'failed', 29)];
    const runningFor = await runWithAll(sync, 'running');
    await store.db.query(`UPDATE sync_runs SET received_at = now() - interval '60 days' WHERE id = $1`, [
      runningFor.id,
    ]);
    await deleteOldSyncRuns(store.db);
    expect(await rowsOf(old)).toEqual([0, 0, 0, 0, 0, 0, 1]);
    for (const run of [young, runningFor]) expect(await rowsOf(run)).toEqual(WHOLE);
    expect(await isThere(sync)).toBe(true);
  });

  it('of a deleted sync that wrote into another system all but the sync itself, which receipts go on naming', async () => {
    const outgoing = { destination: { connectionId: 1, stream: 'contacts', key: ['id'] } };
    const [sync, unused] = [await storedSync(store.db, world, outgoing), await storedSync(store.db, world, outgoing)];
    const run = await runWithAll(sync, 'finished');
    for (const { id } of [sync, unused]) await deleteSync(store.db, world.entity.id, id);
    for (let times = 0; times < 2; times += 1) await deleteOldSyncRuns(store.db);
    expect(await rowsOf(run)).toEqual([0, 0, 0, 0, 0, 0, 0]);
    expect([await isThere(sync), await isThere(unused)]).toEqual([true, false]);
  });

  it('a deleted sync with its runs and all that it knew of records, and no other', async () => {
    const [sync, other] = [await storedSync(store.db, world), await storedSync(store.db, world)];
    const [gone, left] = [await runWithAll(sync, 'canceled'), await runWithAll(other, 'finished')];
    await deleteSync(store.db, world.entity.id, sync.id);
    await deleteOldSyncRuns(store.db);
    expect(await rowsOf(gone)).toEqual([0, 0, 0, 0, 0, 0, 0]);
    expect(await rowsOf(left)).toEqual(WHOLE);
    expect([await isThere(sync), await isThere(other)]).toEqual([false, true]);
  });

  it('a deleted sync whose run is still under way once that has ended', async () => {
    const sync = await storedSync(store.db, world);
    const run = await runWithAll(sync, 'running');
    await deleteSync(store.db, world.entity.id, sync.id);
    await deleteOldSyncRuns(store.db);
    expect([await rowsOf(run), await isThere(sync)]).toEqual([[1, 1, 2, 1, 1, 1, 0], true]);
    await store.db.query(`UPDATE sync_runs SET state = 'canceled', ended_at = now() WHERE id = $1`, [run.id]);
    await deleteOldSyncRuns(store.db);
    expect([await rowsOf(run), await isThere(sync)]).toEqual([[0, 0, 0, 0, 0, 0, 0], false]);
  });

  it('more of them than one look takes, a look at a time', async () => {
    const sync = await storedSync(store.db, world);
    await store.db.query(
      `INSERT INTO sync_runs (entity_id, identifier, sync_id, cause, state, ended_at)
       SELECT $1, 'run_' || n, $2, 'request', 'finished', now() FROM generate_series(1, 150) n`,
      [world.entity.id, sync.id],
    );
    await deleteSync(store.db, world.entity.id, sync.id);
    await deleteOldSyncRuns(store.db);
    expect(await isThere(sync)).toBe(true);
    await deleteOldSyncRuns(store.db);
    expect(await isThere(sync)).toBe(false);
  });
});
