import { NativeConnection, Worker } from '@temporalio/worker';
import { ScheduleOverlapPolicy } from '@temporalio/client';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { putSchedule, SYNC_SCHEDULES } from '../../../temporal/schedules.ts';
import type { SyncRef, SyncTickSteps } from '../../../activities/jobs/run-ticks.ts';
import { nextRuns, type SyncSchedule } from '../../../domain/syncs/sync-schedule.ts';
import { dataConverter } from '../../../temporal/client.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import '../../harness/core/temporal-runtime.ts';

const stack = useStack();
const started: { ref: SyncRef; scheduledFor: string }[] = [];
let failures = 0;

/** Notes what a tick asks for. */
const steps: SyncTickSteps = {
  async startScheduledRun(ref, scheduledFor) {
    if (failures > 0) {
      failures -= 1;
      throw new Error('not yet');
    }
    started.push({ ref, scheduledFor });
  },
};

beforeAll(async () => {
  const connection = await NativeConnection.connect({ address: inject('temporal').address });
  const worker = await Worker.create({
    connection,
    namespace: stack.namespace,
    taskQueue: 'flows',
    identity: 'test-worker-tick',
    dataConverter,
    workflowBundle: { codePath: inject('bundlePath') },
    activities: steps,
  });
  const run = worker.run();
  onFileEnd(async () => {
    worker.shutdown();
    await run;
    await connection.close();
  });
});

const startedOf = (identifier: string) => started.filter(({ ref }) => ref.identifier === identifier);
const times = (identifier: string) =>
  startedOf(identifier)
    .map(({ scheduledFor }) => scheduledFor)
    .toSorted((a, b) => a.localeCompare(b));

describe('the tick of a sync', () => {
  it('asks for the run that was due, by its time without jitter', async () => {
    const ref = { entityId: 3, syncId: 4, identifier: 'syn_jitter' };
    const schedule: SyncSchedule = { everyMinutes: 60, jitterSeconds: 3_599 };
    const now = new Date();
    const start = new Date(now.getTime() - 6 * 3_600_000);
    await putSchedule(stack.temporal, SYNC_SCHEDULES, { ref, schedule, revision: 1 }, start);
    await stack.temporal.schedule
      .getHandle('sync/syn_jitter')
      .backfill({ start, end: now, overlap: ScheduleOverlapPolicy.ALLOW_ALL });
    await waitFor('five ticks', async () => startedOf(ref.identifier).length >= 5);
    const due = nextRuns(schedule, new Date(start.getTime() - 3_600_000), 7).map((run) => run.toISOString());
    expect(due).toEqual(expect.arrayContaining(times(ref.identifier)));
    expect(new Set(startedOf(ref.identifier).map((run) => JSON.stringify(run.ref)))).toEqual(
      new Set([JSON.stringify(ref)]),
    );
  });

  it('asks again for as long as the step fails', async () => {
    const ref = { entityId: 3, syncId: 5, identifier: 'syn_failing' };
    const now = new Date();
    const start = new Date(now.getTime() - 3_600_000);
    failures = 2;
    await putSchedule(
      stack.temporal,
      SYNC_SCHEDULES,
      { ref, schedule: { everyMinutes: 60, jitterSeconds: 0 }, revision: 1 },
      start,
    );
    await stack.temporal.schedule
      .getHandle('sync/syn_failing')
      .backfill({ start, end: now, overlap: ScheduleOverlapPolicy.ALLOW_ALL });
    await waitFor('the tick', async () => startedOf(ref.identifier).length === 1);
    expect(failures).toBe(0);
  });

  it('asks for the time of its own start when nothing has scheduled it', async () => {
    const ref = { entityId: 3, syncId: 6, identifier: 'syn_by_hand' };
    const handle = await stack.temporal.workflow.start('syncTick', {
      workflowId: 'sync-tick/by-hand',
      taskQueue: 'flows',
      args: [ref],
    });
    await handle.result();
    const { startTime } = await handle.describe();
    expect(startedOf(ref.identifier)).toEqual([{ ref, scheduledFor: startTime.toISOString() }]);
  });
});
