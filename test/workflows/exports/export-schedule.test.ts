import { ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ExporterRef, exportTickSteps } from '../../../activities/jobs/run-ticks.ts';
import { EXPORTER_SCHEDULES, followExporter, putSchedule } from '../../../temporal/schedules.ts';
import { exportSchedule, lastMidnight } from '../../../domain/exports/export-schedule.ts';
import { jobWorkflowId } from '../../../domain/jobs/job.ts';
import { nextRuns } from '../../../domain/syncs/sync-schedule.ts';
import type { DataExporter } from '../../../store/exports/data-exporter-record.ts';
import {
  deleteExporter,
  findExporterById,
  updateActive,
  updateExportedUntil,
  updatePaused,
} from '../../../store/exports/data-exporters.ts';
import type { ExportRun } from '../../../store/exports/export-run-record.ts';
import { cancelExportRunsOf, listExportRuns } from '../../../store/exports/export-runs.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { runNow, storedExportRun } from '../../harness/exports/export-runs.ts';
import { storedExporter } from '../../harness/exports/stored-exporters.ts';
import { ask } from '../../harness/syncs/syncs.ts';

const stack = useStack();
const ZONE = 'Europe/Paris';
const DAY = 86_400_000;
let world: World;
let exporter: DataExporter;

beforeAll(async () => {
  world = await makeWorld(stack.store);
  await stack.store.db.query('UPDATE users SET superadmin = true WHERE id = $1', [world.user.id]);
});

beforeEach(async () => {
  const { db, secrets } = stack.store;
  const { id } = await storedExporter(db, secrets, world);
  await updateActive(db, world.entity.id, id, true);
  exporter = (await found(id))!;
});

/** No worker of a later test takes up what is left, and looks for a bucket that is not there. */
afterEach(() => cancelExportRunsOf(stack.store.db, world.entity.id, exporter.id, 'all'));

const found = (id: number) => findExporterById(stack.store.db, world.entity.id, id);
const follow = async () => {
  const now = (await found(exporter.id)) ?? { ...exporter, active: false };
  await followExporter({ db: stack.store.db, temporal: stack.temporal }, now);
};
const refOf = ({ entityId, id: exporterId, identifier }: DataExporter): ExporterRef => ({
  entityId,
  exporterId,
  identifier,
});
const tick = (at: Date) =>
  exportTickSteps({ db: stack.store.db, temporal: stack.temporal, boundary: () => {} }).startScheduledExport(
    refOf(exporter),
    at.toISOString(),
  );
const runs = (): Promise<ExportRun[]> =>
  listExportRuns(stack.store.db, world.entity.id, exporter.id, { offset: 0, limit: 100 });
const ended = (run: ExportRun) =>
  waitFor(`the end of ${run.identifier}`, async () => {
    const now = await runNow(stack.store, run);
    return now.endedAt ? now : null;
  });
const scheduleOf = (identifier = exporter.identifier) =>
  stack.temporal.schedule
    .getHandle(`exporter/${identifier}`)
    .describe()
    .catch((error: unknown) => {
      if (error instanceof ScheduleNotFoundError) return null;
      throw error;
    });
/** As Temporal tells them, a moment late. */
async function expectNext(times: Date[]): Promise<void> {
  await expect.poll(async () => (await scheduleOf())!.info.nextActionTimes.slice(0, times.length)).toEqual(times);
}
const dueFrom = (from: Date, count: number, zone = ZONE) =>
  nextRuns(exportSchedule(exporter.identifier, zone), from, count);
/** As if all had been exported already: a run then has nothing to write, and needs no bucket. */
const allExported = () =>
  updateExportedUntil(stack.store.db, world.entity.id, exporter.id, {
    until: new Date(Date.now() + 9 * DAY),
    startedAt: new Date(),
  });

describe('an active exporter', () => {
  it('has a Schedule each night by the clocks of its entity, which tells of numbers and a name only', async () => {
    await follow();
    await expectNext(dueFrom(new Date(), 5));
    expect((await scheduleOf())!.action).toMatchObject({
      workflowType: 'exportTick',
      workflowId: `export-tick/${exporter.identifier}`,
      taskQueue: 'flows',
      args: [refOf(exporter)],
    });
    expect((await found(exporter.id))!.scheduledUntil).not.toBeNull();
  });

  it('runs by itself when its time has come, until the last midnight before it', async () => {
    await allExported();
    const worker = stack.startWorker();
    const [start, end] = [new Date(Date.now() - 2 * DAY), new Date()];
    const [due] = dueFrom(new Date(end.getTime() - DAY), 1);
    // As it would stand had it been made two days ago: Temporal then catches up with last night.
    const schedule = exportSchedule(exporter.identifier, ZONE);
    await putSchedule(
      stack.temporal,
      EXPORTER_SCHEDULES,
      { ref: refOf(exporter), schedule, revision: exporter.revision },
      start,
    );
    await stack.store.db.query('UPDATE data_exporters SET scheduled_until = now() WHERE id = $1', [exporter.id]);
    await stack.temporal.schedule
      .getHandle(`exporter/${exporter.identifier}`)
      .backfill({ start: new Date(due!.getTime() - 60_000), end, overlap: ScheduleOverlapPolicy.ALLOW_ALL });
    const run = await waitFor('the scheduled run', async () => (await runs())[0] ?? null);
    expect(run).toMatchObject({
      cause: 'schedule',
      scheduledFor: due,
      covers: [],
      window: { end: lastMidnight(ZONE, due!) },
    });
    expect(await ended(run)).toMatchObject({ state: 'finished', isCovered: true });
    await worker.stop();
  });

  it('has one run for all the times that it missed, whichever comes first, until the last midnight before the last of them', async () => {
    const missed = dueFrom(new Date(Date.now() - 4 * DAY), 4).filter((time) => time <= new Date());
    expect(missed.length).toBeGreaterThanOrEqual(3);
    await Promise.all(missed.toSpliced(1, 1).map(tick));
    await tick(missed[1]!);
    await tick(missed[1]!);
    const [run, ...others] = await runs();
    const last = missed.at(-1)!;
    expect(others).toEqual([]);
    expect(run).toMatchObject({
      scheduledFor: last,
      window: { start: null, end: lastMidnight(ZONE, last) },
      state: 'accepted',
    });
    expect(run!.covers.toSorted((a, b) => a.getTime() - b.getTime())).toEqual(missed.slice(0, -1));
  });

  it('is left alone by its schedule while it is paused, not active, or deleted', async () => {
    const { db } = stack.store;
    await follow();
    for (const end of [
      () => updatePaused(db, world.entity.id, exporter.id, 'no bucket'),
      () => updateActive(db, world.entity.id, exporter.id, false),
      () => deleteExporter(db, world.entity.id, exporter.id),
    ]) {
      await end();
      await tick(new Date());
      await follow();
      expect([await scheduleOf(), await runs()]).toEqual([null, []]);
      await updateActive(db, world.entity.id, exporter.id, true);
      if (await found(exporter.id)) await follow();
    }
  });

  it('begins its days anew where the zone of its entity changes', async () => {
    await follow();
    await ask(stack.app, world, 'PUT', `/api/entities/${world.entity.identifier}`, { default_tz: 'Asia/Tokyo' });
    await expectNext(dueFrom(new Date(), 3, 'Asia/Tokyo'));
    expect((await found(exporter.id))!.revision).toBe(exporter.revision + 1);
    await ask(stack.app, world, 'PUT', `/api/entities/${world.entity.identifier}`, { default_tz: ZONE });
  });

  it('gets its Schedule back where Temporal has lost it, and one that nobody knows goes', async () => {
    await putSchedule(
      stack.temporal,
      EXPORTER_SCHEDULES,
      {
        ref: { entityId: 1, exporterId: 2, identifier: 'exp_unknown' },
        schedule: exportSchedule('exp_unknown', ZONE),
        revision: 1,
      },
      new Date(),
    );
    const worker = stack.startWorker();
    await waitFor('the schedule', async () => (await scheduleOf()) !== null);
    await waitFor('the unknown one to go', async () => (await scheduleOf('exp_unknown')) === null);
    await waitFor('until when it has times', async () => (await found(exporter.id))!.scheduledUntil);
    await expectNext(dueFrom(new Date(), 1));
    await worker.stop();
  });
});

describe('a run of an exporter', () => {
  it('that waits is started by the one before it, and its workflow is over', async () => {
    await allExported();
    const insert = () => storedExportRun(stack.store, exporter, new Date());
    const [first, second] = [await insert(), await insert()];
    const worker = stack.startWorker();
    const [one, other] = [await ended(first), await ended(second)];
    expect([one, other]).toMatchObject([
      { state: 'finished', isCovered: true },
      { state: 'finished', isCovered: true },
    ]);
    expect(other.startedAt! >= one.endedAt!).toBe(true);
    await stack.temporal.workflow.getHandle(jobWorkflowId('export', second.identifier)).result();
    await worker.stop();
  });

  it('waits until nobody writes into its window any more, and ends where it is canceled meanwhile', async () => {
    const made = await ask<{ identifier: string }>(
      stack.app,
      world,
      'POST',
      `/api/data_exporters/${exporter.identifier}/runs`,
      {},
    );
    const worker = stack.startWorker();
    const [run] = await runs();
    await waitFor('the claim', async () => (await runNow(stack.store, run!)).state === 'running');
    const next = await storedExportRun(stack.store, exporter, new Date(0));
    await ask(stack.app, world, 'POST', `/api/data_exporters/${exporter.identifier}/runs/${made.identifier}/cancel`);
    expect(await runNow(stack.store, run!)).toMatchObject({ state: 'canceled', attempt: 0 });
    await allExported();
    expect((await ended(next)).state).toBe('finished');
    await worker.stop();
  });

  it('whose workflow is lost starts again', async () => {
    await allExported();
    const run = await storedExportRun(stack.store, exporter, new Date());
    await stack.store.db.query(
      `UPDATE export_runs SET state = 'running', workflow_run_id = 'lost', started_at = now() WHERE id = $1`,
      [run.id],
    );
    const worker = stack.startWorker();
    expect(await ended(run)).toMatchObject({ state: 'finished', generation: 1 });
    await worker.stop();
  });
});
