import { beforeAll, describe, expect, it } from 'vitest';
import { ScheduleNotFoundError } from '@temporalio/client';
import { syncTickSteps } from '../../../activities/jobs/run-ticks.ts';
import { nextRuns } from '../../../domain/syncs/sync-schedule.ts';
import type { Sync } from '../../../store/syncs/sync-record.ts';
import { listRuns } from '../../../store/syncs/sync-runs.ts';
import { findSync } from '../../../store/syncs/syncs.ts';
import { personId } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { ask, makeSync, openShop, runEnded, type Shop } from '../../harness/syncs/syncs.ts';

const stack = useStack();
let world: World;
let shop: Shop;

beforeAll(async () => {
  world = await makeWorld(stack.store);
  shop = await openShop(stack, world);
  const table = shop.table('buyers');
  await shop.db
    .query(`CREATE TABLE ${table} (email text PRIMARY KEY, plan text); ALTER TABLE ${table} OWNER TO ${shop.role};
    INSERT INTO ${table} VALUES ('${personId(77)}', 'gold')`);
});

const syncWith = (more: object) =>
  makeSync(stack, world, {
    source: { connection: shop.connection, stream: 'buyers' },
    destination: { sor: world.sor.identifier },
    mapping: { customer: { field: 'email' } },
    ...more,
  });

const found = async (sync: string): Promise<Sync> => (await findSync(stack.store.db, world.entity.id, sync))!;
const runsOf = async (sync: string) =>
  listRuns(stack.store.db, world.entity.id, (await found(sync)).id, { offset: 0, limit: 100 });
const scheduleOf = (sync: string) =>
  stack.temporal.schedule
    .getHandle(`sync/${sync}`)
    .describe()
    .catch((error: unknown) => {
      if (error instanceof ScheduleNotFoundError) return null;
      throw error;
    });
/** As Temporal tells it, a moment late. */
const nextMinute = async (sync: string) => (await scheduleOf(sync))!.info.nextActionTimes[0]?.getUTCMinutes();
const refOf = ({ entityId, id: syncId, identifier }: Sync) => ({ entityId, syncId, identifier });
const tick = (sync: Sync, at: Date) => {
  const { db } = stack.store;
  return syncTickSteps({ db, temporal: stack.temporal, boundary: () => {} }).startScheduledRun(
    refOf(sync),
    at.toISOString(),
  );
};

describe('a sync with a schedule', () => {
  it('runs by itself when its time has come', async () => {
    const worker = stack.startWorker();
    const began = new Date();
    const sync = await syncWith({ schedule: { cron: '* * * * *' } });
    const run = await waitFor('the scheduled run', async () => (await runsOf(sync))[0] ?? null);
    expect(run).toMatchObject({ cause: 'schedule', missed: 0 });
    // On a busy machine Temporal may see the schedule a minute late.
    expect(nextRuns({ cron: '* * * * *', zone: 'UTC', jitterSeconds: 0 }, began, 3)).toContainEqual(run.scheduledFor);
    expect(await runEnded(stack.store, world, run.identifier)).toMatchObject({
      state: 'finished',
      progress: { read: 1 },
    });
    await worker.stop();
  });

  it('has one run for all the times that it missed, and shows how many', async () => {
    const sync = await found(await syncWith({ schedule: { every_minutes: 60 } }));
    const hour = (number: number) => new Date(Date.UTC(2026, 0, 1, number));
    await Promise.all([1, 2, 3, 3].map((number) => tick(sync, hour(number))));
    await tick(sync, hour(2));
    const runs = await runsOf(sync.identifier);
    expect(runs).toMatchObject([{ state: 'accepted', missed: 2 }]);
    const worker = stack.startWorker();
    const ended = await runEnded(stack.store, world, runs[0]!.identifier);
    await tick(sync, hour(4)); // it was due before that run began, which read all there was
    expect(await runsOf(sync.identifier)).toMatchObject([{ missed: 3 }]);
    await tick(sync, new Date(ended.startedAt!.getTime() + 1));
    expect(await runsOf(sync.identifier)).toHaveLength(2);
    await worker.stop();
  });

  it('is left alone by its schedule while it is paused, changed, or deleted', async () => {
    const sync = await syncWith({ schedule: { cron: '0 3 * * *', zone: 'Europe/Paris' } });
    await expect.poll(() => nextMinute(sync)).toBe(0);
    await ask(stack.app, world, 'POST', `/api/syncs/${sync}/pause`);
    expect(await scheduleOf(sync)).toBeNull();
    await tick(await found(sync), new Date());
    expect(await runsOf(sync)).toEqual([]);
    await ask(stack.app, world, 'POST', `/api/syncs/${sync}/resume`);
    await ask(stack.app, world, 'PUT', `/api/syncs/${sync}`, { schedule: { cron: '17 4 * * *' } });
    await expect.poll(() => nextMinute(sync)).toBe(17);
    await ask(stack.app, world, 'PUT', `/api/syncs/${sync}`, { schedule: null });
    expect(await scheduleOf(sync)).toBeNull();
    await ask(stack.app, world, 'DELETE', `/api/syncs/${sync}`);
  });

  it('gets its schedule back where Temporal has lost it, and one that nobody knows goes', async () => {
    const sync = await syncWith({ schedule: { cron: '0 3 * * *' } });
    await stack.temporal.schedule.getHandle(`sync/${sync}`).delete();
    await stack.temporal.schedule.create({
      scheduleId: 'sync/syn_unknown',
      spec: { calendars: [{ year: 2099 }] },
      action: { type: 'startWorkflow', workflowType: 'syncTick', taskQueue: 'flows', args: [] },
    });
    const worker = stack.startWorker();
    await waitFor('the schedule', async () => (await scheduleOf(sync)) !== null);
    await waitFor('the unknown one to go', async () => (await scheduleOf('syn_unknown')) === null);
    expect((await found(sync)).scheduledUntil).not.toBeNull();
    await worker.stop();
  });
});
