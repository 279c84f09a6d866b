import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Dependencies } from '../../../activities/dependencies.ts';
import { endSyncRun } from '../../../activities/syncs/end.ts';
import { write } from '../../../store/core/database.ts';
import { listUnclaimedJobs, resetJob } from '../../../store/jobs/jobs-across-entities.ts';
import { findNextJob } from '../../../store/jobs/jobs.ts';
import type { Sync } from '../../../store/syncs/sync-record.ts';
import { updateRunBegun } from '../../../store/syncs/sync-run-progress.ts';
import type { NewRun, SyncRun } from '../../../store/syncs/sync-run-record.ts';
import { claimRun, findRunById, insertRun } from '../../../store/syncs/sync-runs.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { storedSync } from '../../harness/syncs/stored-syncs.ts';

let store: TestStore;
let world: World;
let sync: Sync;

beforeAll(async () => {
  store = await testStore();
});

beforeEach(async () => {
  world = await makeWorld(store);
  sync = await storedSync(store.db, world, {
    alerts: { emails: [], connections: [], failedRecords: null, pauseAfter: 1 },
  });
});

const asked = async (run: Partial<NewRun> = {}) =>
  (await write(store.db, (tx) => insertRun(tx, world.entity.id, { syncId: sync.id, cause: 'request', ...run })))!;
const claim = ({ id }: SyncRun, workflow: string) =>
  write(store.db, (tx) => claimRun(tx, world.entity.id, id, workflow));
const stateOf = async ({ id }: SyncRun) => (await findRunById(store.db, world.entity.id, id))!.state;

describe('runs of a sync', () => {
  it('begin in their order, also where one that had begun was lost by Temporal', async () => {
    const [first, second, dry] = [await asked(), await asked({ cause: 'redrive' }), await asked({ dryRun: true })];
    const begun = (await claim(first, 'lost'))!;
    await write(store.db, (tx) => updateRunBegun(tx, begun, { position: '[1]', missingFields: [] }));
    await resetJob(store.db, 'sync', {
      entityId: world.entity.id,
      jobId: first.id,
      identifier: first.identifier,
      workflowRunId: 'lost',
      generation: begun.generation,
    });
    expect(await claim(second, 'hasty')).toBeNull();
    expect((await claim(dry, 'dry'))?.state).toBe('running');
    expect(await claim(first, 'again')).toMatchObject({ state: 'running', generation: 1, isBegun: true });
    expect(await claim(second, 'hasty')).toBeNull();
    const unclaimed = await listUnclaimedJobs(store.db, 'sync', 0);
    expect(unclaimed.filter(({ entityId }) => entityId === world.entity.id)).toEqual([]);
    await endSyncRun(deps(), { entityId: world.entity.id, jobId: first.id, generation: 1 }, null);
    expect(await findNextJob(store.db, 'sync', world.entity.id, sync.id)).toMatchObject({ jobId: second.id });
    expect((await claim(second, 'hasty'))?.state).toBe('running');
  });

  it('that their schedule started and that wait are canceled where too many before them have failed', async () => {
    const [first, due, byHand] = [
      await asked(),
      await asked({ cause: 'schedule', scheduledFor: new Date() }),
      await asked(),
    ];
    await claim(first, 'failing');
    const key = { entityId: world.entity.id, jobId: first.id, generation: 0 };
    await endSyncRun(deps(), key, { status: 'source_refused', message: 'no such table' });
    expect(await Promise.all([first, due, byHand].map(stateOf))).toEqual(['failed', 'canceled', 'accepted']);
  });
});

const deps = () => ({ db: store.db, boundary: () => {} }) as unknown as Dependencies;
