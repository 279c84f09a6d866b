import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Queryable, write } from '../../../store/core/database.ts';
import { findWindowOpenMs } from '../../../store/core/open-window.ts';
import type { DataExporter } from '../../../store/exports/data-exporter-record.ts';
import { deleteExporter, findExporterById, updateExportedUntil } from '../../../store/exports/data-exporters.ts';
import type { ExportRun } from '../../../store/exports/export-run-record.ts';
import {
  cancelExportRun,
  cancelExportRunsOf,
  exportRuns,
  listExportRuns,
  lockExportRun,
} from '../../../store/exports/export-runs.ts';
import { findSnapshot } from '../../../store/exports/export-sources.ts';
import { listUnclaimedJobs, resetJob } from '../../../store/jobs/jobs-across-entities.ts';
import { findNextJob } from '../../../store/jobs/jobs.ts';
import { deleteOldExportRuns } from '../../../store/jobs/retention-across-entities.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { claimed, instant, keyOf, runNow, storedExportRun } from '../../harness/exports/export-runs.ts';
import { storedExporter } from '../../harness/exports/stored-exporters.ts';

let store: TestStore;
let world: World;
let exporter: DataExporter;

beforeAll(async () => {
  store = await testStore();
  world = await makeWorld(store);
});

beforeEach(async () => {
  exporter = await storedExporter(store.db, store.secrets, world);
});

const [MONDAY, TUESDAY, WEDNESDAY] = [
  instant('2026-11-02T00:00:00Z'),
  instant('2026-11-03T00:00:00Z'),
  instant('2026-11-04T00:00:00Z'),
];
const at = (day: Date, hour: number) => new Date(day.getTime() + hour * 3_600_000);
const scheduled = (day: Date) => storedExportRun(store, exporter, day, { cause: 'schedule', scheduledFor: at(day, 3) });
const cover = (day: Date, hour = 3) => exportRuns.cover(store.db, exporter.entityId, exporter.id, at(day, hour), day);
const finish = (run: ExportRun) => exportRuns.end(store.db, run, { state: 'finished', failure: null, alert: null });
const moveCursor = (until: Date) =>
  updateExportedUntil(store.db, exporter.entityId, exporter.id, { until, startedAt: until });

/** Transactions of other databases count, too: between two snapshots the next one may go on. */
async function parsedSnapshot(session: Queryable): Promise<{ database: string; nextTransaction: number }> {
  const [database, snapshot] = (await findSnapshot(session)).split('/') as [string, string];
  return { database, nextTransaction: Number(snapshot.split(':')[1]) };
}

describe('the window of a run', () => {
  it('begins where the last good one ended, as it is when the run is claimed, and stays', async () => {
    const run = await scheduled(TUESDAY);
    await moveCursor(MONDAY);
    const first = (await claimed(store, run))!;
    expect(first).toMatchObject({
      state: 'running',
      window: { kind: 'received', start: MONDAY, end: TUESDAY },
      isCovered: false,
      startedAt: expect.any(Date),
      definition: {
        folder: `daily/${exporter.identifier}/2026-11-02T00-00-00Z_2026-11-03T00-00-00Z`,
        exportedData: ['logs'],
      },
    });
    await moveCursor(TUESDAY);
    expect(await claimed(store, run)).toEqual(first);
    expect(JSON.stringify(first.definition)).not.toContain('secret of a stored exporter');
  });

  it('begins with all there is, or where the exporter says, where none was good yet', async () => {
    expect(await claimed(store, await scheduled(MONDAY))).toMatchObject({
      window: { start: null, end: MONDAY },
      definition: { folder: `daily/${exporter.identifier}/beginning_2026-11-02T00-00-00Z` },
    });
    exporter = await storedExporter(store.db, store.secrets, world, { exportsSince: MONDAY, subfolder: '' });
    const since = await claimed(store, await scheduled(TUESDAY));
    expect(since).toMatchObject({ window: { start: MONDAY }, definition: { folder: expect.stringMatching(/^exp_/) } });
  });

  it('has nothing in it where an earlier run has exported it all; a rerun has its window all the same', async () => {
    await moveCursor(WEDNESDAY);
    const run = (await claimed(store, await scheduled(TUESDAY)))!;
    expect(run).toMatchObject({ isCovered: true, window: { start: WEDNESDAY, end: TUESDAY } });
    await finish(run);
    const window = { start: '-infinity' as const, end: TUESDAY };
    const rerun = await storedExportRun(store, exporter, TUESDAY, { cause: 'rerun', rerunOf: run.id, window });
    expect(await claimed(store, rerun)).toMatchObject({
      isCovered: false,
      window: { kind: 'received', start: null, end: TUESDAY },
    });
  });

  it('of a backfill has its days, and a folder of its own', async () => {
    const days = { from: '2026-11-02', to: '2026-11-02' };
    const run = await storedExportRun(store, exporter, TUESDAY, {
      cause: 'backfill',
      days,
      window: { start: MONDAY, end: TUESDAY },
    });
    await moveCursor(WEDNESDAY);
    expect(await claimed(store, run)).toMatchObject({
      isCovered: false,
      days,
      window: { kind: 'happened', start: MONDAY, end: TUESDAY },
      definition: { folder: `daily/${exporter.identifier}/backfill/2026-11-02_2026-11-02` },
    });
  });

  it('is open for 30 s after its end, and while a transaction that began before still writes', async () => {
    const {
      rows: [{ now }],
    } = (await store.db.query<{ now: Date }>('SELECT now()')) as unknown as { rows: [{ now: Date }] };
    expect(await findWindowOpenMs(store.db, now)).toBeGreaterThan(29_000);
    const past = new Date(now.getTime() - 31_000);
    expect(await findWindowOpenMs(store.db, past)).toBe(0);
    await write(store.db, async (tx) => {
      await tx.query(`UPDATE entities SET description = 'written' WHERE id = $1`, [world.entity.id]);
      const { rows } = await tx.query<{ began: Date }>('SELECT now() AS began');
      const after = new Date(rows[0]!.began.getTime() + 1);
      await tx.query('SELECT pg_sleep(0.05)');
      expect(await findWindowOpenMs(store.db, after)).toBeGreaterThan(0);
    });
  });

  it('is open for minutes while another role writes, whose beginning nobody but a superuser is told', async () => {
    const [password, name] = [randomBytes(12).toString('hex'), `plain_${randomBytes(4).toString('hex')}`];
    rememberSecret(password);
    await store.db.query(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'; GRANT pg_read_all_data TO ${name}`);
    const url = Object.assign(new URL(store.url), { username: name, password });
    const plain = new pg.Client({ connectionString: url.href });
    await plain.connect();
    const open = async (minutesAgo: number) => findWindowOpenMs(plain, new Date(Date.now() - minutesAgo * 60_000));
    try {
      expect(await open(2)).toBe(0);
      await write(store.db, async (tx) => {
        await tx.query(`UPDATE entities SET description = 'written' WHERE id = $1`, [world.entity.id]);
        expect(await open(2)).toBeGreaterThan(0);
        expect(await open(20)).toBe(0);
      });
      expect(await open(2)).toBe(0);
      const seen = [await parsedSnapshot(store.db), await parsedSnapshot(plain), await parsedSnapshot(store.db)];
      expect(new Set(seen.map(({ database }) => database)).size).toBe(1);
      const next = seen.map(({ nextTransaction }) => nextTransaction);
      expect(next).toEqual(next.toSorted((a, b) => a - b));
    } finally {
      await plain.end();
      await store.db.query(`DROP OWNED BY ${name}; DROP ROLE ${name}`);
    }
  });
});

describe('a scheduled time is covered', () => {
  it('by the run that waits, whose window then is longer, once however often it is told', async () => {
    const run = await scheduled(MONDAY);
    for (const day of [TUESDAY, MONDAY, WEDNESDAY, TUESDAY]) expect(await cover(day)).toBe(true);
    expect(await runNow(store, run)).toMatchObject({
      scheduledFor: at(MONDAY, 3),
      covers: [at(TUESDAY, 3), at(WEDNESDAY, 3)],
      window: { end: WEDNESDAY },
    });
  });

  it("by one that exports, or has exported, all until its window's end; not by one of less", async () => {
    const run = (await claimed(store, await storedExportRun(store, exporter, at(TUESDAY, 1))))!;
    expect(await cover(TUESDAY)).toBe(true);
    expect(await cover(WEDNESDAY)).toBe(false);
    await finish(run);
    expect(await cover(TUESDAY, 4)).toBe(true);
    expect(await runNow(store, run)).toMatchObject({
      covers: [at(TUESDAY, 3), at(TUESDAY, 4)],
      window: { end: at(TUESDAY, 1) },
    });
  });

  it('by none that failed, was canceled, exports days or a window again, or was asked for earlier', async () => {
    const failed = (await claimed(store, await storedExportRun(store, exporter, WEDNESDAY)))!;
    await exportRuns.end(store.db, failed, { state: 'failed', failure: { status: 'x', message: 'y' }, alert: null });
    await storedExportRun(store, exporter, WEDNESDAY, { cause: 'rerun', window: { start: MONDAY, end: WEDNESDAY } });
    await storedExportRun(store, exporter, at(MONDAY, 10));
    expect(await cover(TUESDAY)).toBe(false);
    const canceled = await scheduled(WEDNESDAY);
    await cancelExportRun(store.db, exporter.entityId, canceled.identifier);
    expect(await cover(TUESDAY)).toBe(false);
    expect(await cover(WEDNESDAY)).toBe(true); // somebody did not want this one
  });
});

describe("of an exporter's runs", () => {
  it('one is under way at a time, oldest first, also after a workflow was lost', async () => {
    const [first, second] = [await scheduled(MONDAY), await storedExportRun(store, exporter, TUESDAY)];
    expect(await claimed(store, second, 'second')).toBeNull();
    const { generation } = (await claimed(store, first, 'first'))!;
    expect(await claimed(store, first, 'another')).toBeNull();
    await resetJob(store.db, 'export', {
      entityId: exporter.entityId,
      jobId: first.id,
      identifier: first.identifier,
      workflowRunId: 'first',
      generation,
    });
    expect(await write(store.db, (tx) => lockExportRun(tx, keyOf(first)))).toBeNull();
    expect(await claimed(store, second, 'second')).toBeNull();
    const unclaimed = (await listUnclaimedJobs(store.db, 'export', 0)).map(({ jobId }) => jobId);
    expect(unclaimed).toEqual(expect.arrayContaining([first.id, second.id]));
    const again = (await claimed(store, first, 'third'))!;
    expect(again).toMatchObject({ generation: 1, startedAt: expect.any(Date) });
    expect(await findNextJob(store.db, 'export', exporter.entityId, exporter.id)).toBeNull();
    await finish(again);
    expect(await findNextJob(store.db, 'export', exporter.entityId, exporter.id)).toMatchObject({ jobId: second.id });
  });

  it('those of the schedule that wait are canceled apart from the others', async () => {
    const running = (await claimed(store, await scheduled(MONDAY)))!;
    const [due, asked] = [await scheduled(TUESDAY), await storedExportRun(store, exporter, TUESDAY)];
    const states = async () =>
      (await Promise.all([running, due, asked].map((run) => runNow(store, run)))).map(({ state }) => state);
    await cancelExportRunsOf(store.db, exporter.entityId, exporter.id, 'scheduled');
    expect(await states()).toEqual(['running', 'canceled', 'accepted']);
    await cancelExportRunsOf(store.db, exporter.entityId, exporter.id, 'all');
    expect(await states()).toEqual(['canceled', 'canceled', 'canceled']);
  });

  it('those of a deleted one go after 30 days, and then the exporter; what is younger, living or under way stays', async () => {
    const gone = [await scheduled(MONDAY), await scheduled(TUESDAY)];
    const { id } = exporter;
    for (const run of gone) await finish(run);
    await deleteExporter(store.db, exporter.entityId, id);
    const rows = async () => (await store.db.query('SELECT FROM data_exporters WHERE id = $1', [id])).rowCount;
    const age = (days: number) =>
      store.db.query('UPDATE data_exporters SET deleted_at = now() - make_interval(days => $2) WHERE id = $1', [
        id,
        days,
      ]);
    exporter = await storedExporter(store.db, store.secrets, world);
    await finish(await scheduled(MONDAY));
    await age(29);
    await deleteOldExportRuns(store.db);
    expect([
      await rows(),
      (await listExportRuns(store.db, world.entity.id, id, { offset: 0, limit: 9 })).length,
    ]).toEqual([1, 2]);
    await age(31);
    await store.db.query(`UPDATE export_runs SET state = 'running', ended_at = NULL WHERE id = $1`, [gone[0]!.id]);
    await deleteOldExportRuns(store.db);
    expect([
      await rows(),
      (await listExportRuns(store.db, world.entity.id, id, { offset: 0, limit: 9 })).length,
    ]).toEqual([1, 1]);
    await cancelExportRunsOf(store.db, world.entity.id, id, 'all');
    await deleteOldExportRuns(store.db);
    expect(await rows()).toBe(0);
    expect(await findExporterById(store.db, world.entity.id, exporter.id)).not.toBeNull();
    expect(await listExportRuns(store.db, world.entity.id, exporter.id, { offset: 0, limit: 9 })).toHaveLength(1);
  });
});
