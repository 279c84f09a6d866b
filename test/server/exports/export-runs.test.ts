import { beforeEach, describe, expect, test } from 'vitest';
import { write } from '../../../store/core/database.ts';
import type { DataExporter } from '../../../store/exports/data-exporter-record.ts';
import {
  findExporter,
  updateActive,
  updateExportedUntil,
  updatePaused,
} from '../../../store/exports/data-exporters.ts';
import {
  insertExportFile,
  insertExportRecords,
  listExportRecords,
  updateLateRows,
  updateRecordBegun,
} from '../../../store/exports/export-files.ts';
import type { ExportRun } from '../../../store/exports/export-run-record.ts';
import { exportRuns, findExportRun } from '../../../store/exports/export-runs.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { claimed, instant, storedExportRun } from '../../harness/exports/export-runs.ts';
import { storedExporter } from '../../harness/exports/stored-exporters.ts';
import { type Answer, testServer } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';
import { refusalOf, resultOf } from '../syncs/use-syncs.ts';

const { store, server, world } = useServer();
const [MONDAY, TUESDAY] = [instant('2026-11-02T00:00:00Z'), instant('2026-11-03T00:00:00Z')];
let exporter: DataExporter;

beforeEach(async () => {
  exporter = await storedExporter(store.db, store.secrets, world);
});

const call = (method: 'GET' | 'POST', path: string, body?: object, token = world.token): Promise<Answer> =>
  server.call(method, `/api/data_exporters/${exporter.identifier}${path}`, { token, ...(body ? { body } : {}) });
const get = (path: string) => call('GET', path);
const post = (path: string, body: object = {}) => call('POST', path, body);
const found = async (id: string) => (await findExportRun(store.db, world.entity.id, id))!;

/** A run that was claimed, wrote a file with 12 rows, of which 3 more came late, and finished. */
async function finished(end: Date): Promise<ExportRun> {
  const run = (await claimed(store, await storedExportRun(store, exporter, end)))!;
  await write(store.db, async (tx) => {
    const { entityId, id } = run;
    await insertExportRecords(tx, entityId, id, ['logs', 'devices']);
    const [logs] = await listExportRecords(tx, entityId, [id]);
    await updateRecordBegun(tx, entityId, logs!, { expected: 12, ambiguousSets: null, snapshot: '1:1:' });
    await insertExportFile(
      tx,
      entityId,
      id,
      {
        dataType: 'logs',
        part: 1,
        key: `${run.definition!.folder}/0001/logs-0001.csv.gz`,
        rows: 12,
        bytes: 100,
        sha256: 'ab',
        contentBytes: 90,
        contentSha256: 'cd',
        bucketChecksum: null,
      },
      null,
    );
    await updateLateRows(tx, entityId, logs!, 3);
    await exportRuns.end(tx, run, { state: 'finished', failure: null, alert: null });
    await updateExportedUntil(tx, entityId, exporter.id, { until: end, startedAt: end });
  });
  return run;
}

describe('a run', () => {
  test('that is asked for exports until now, in whole seconds, and waits until it is claimed', async () => {
    const before = Math.floor(Date.now() / 1000) * 1000;
    const run = resultOf(await post('/runs'));
    expect(run).toMatchObject({
      identifier: expect.stringMatching(/^run_/),
      cause: 'request',
      state: 'accepted',
      covered: false,
      rerun_of: null,
      days: null,
      window: { kind: 'received', start: null, end: expect.stringMatching(/T\d\d:\d\d:\d\dZ$/) },
      scheduled_for: null,
      covers: [],
      started_at: null,
      attempt: 0,
      rows: 0,
      types: [],
      failure: null,
      manifest_key: null,
      mail: null,
    });
    expect(Date.parse(run.window.end)).toBeGreaterThanOrEqual(before);
    expect(resultOf(await get(`/runs/${run.identifier}`))).toEqual(run);
    expect(resultOf(await server.call('GET', `/api/export_runs/${run.identifier}`, { token: world.token }))).toEqual({
      exporter: exporter.identifier,
      ...run,
    });
  });

  test('is one at a time that waits; once it is claimed another may', async () => {
    const { identifier: first } = resultOf(await post('/runs'));
    expect(refusalOf(await post('/runs'))).toEqual([409, 'conflict', expect.stringContaining(first)]);
    await claimed(store, await found(first));
    expect((await post('/runs')).status).toBe(200);
  });

  test('can be asked for of one that is paused, or not active: so a mended one is tried', async () => {
    await updateActive(store.db, world.entity.id, exporter.id, true);
    await updatePaused(store.db, world.entity.id, exporter.id, 'no bucket');
    expect((await post('/runs')).status).toBe(200);
    expect(await findExporter(store.db, world.entity.id, exporter.identifier)).toMatchObject({
      paused: { reason: 'no bucket' },
    });
  });

  test('shows what it wrote of each type, and what came late; each is an export record of its own', async () => {
    const { identifier, definition } = await finished(TUESDAY);
    const run = resultOf(await get(`/runs/${identifier}`));
    expect(run).toMatchObject({
      state: 'finished',
      window: { kind: 'received', start: null, end: '2026-11-03T00:00:00Z' },
      rows: 12,
      types: [
        {
          identifier: expect.stringMatching(/^rec_/),
          type: 'logs',
          expected: 12,
          rows: 12,
          files: 1,
          done: true,
          late_rows: 3,
        },
        { type: 'devices', expected: null, rows: 0, files: 0, late_rows: null },
      ],
    });
    expect(definition!.folder).toContain('beginning_');
    const { status, body } = await get(`/exports/${run.types[0].identifier}`);
    expect([status, body]).toEqual([
      200,
      {
        identifier: run.types[0].identifier,
        date: '2026-11-03T00:00:00Z',
        type: 'logs',
        total_files: 1,
        total_exported: 12,
      },
    ]);
    expect(refusalOf(await get('/exports/rec_unknown'))).toEqual([404, 'not_found', 'Export not found']);
    exporter = await storedExporter(store.db, store.secrets, world);
    expect(refusalOf(await get(`/exports/${run.types[0].identifier}`))).toEqual([404, 'not_found', 'Export not found']);
  });

  test('comes in pages with the others, newest first', async () => {
    const runs = [await finished(MONDAY), await finished(TUESDAY)];
    const rerun = resultOf(await post(`/runs/${runs[0]!.identifier}/rerun`));
    const page = resultOf(await get('/runs?per_page=2'));
    expect(page).toMatchObject({
      total_items: 3,
      total_pages: 2,
      items: [
        { identifier: rerun.identifier, rerun_of: runs[0]!.identifier },
        { identifier: runs[1]!.identifier, rows: 12, window: { start: '2026-11-02T00:00:00Z' } },
      ],
    });
    expect(resultOf(await get('/runs?per_page=2&page=2')).items).toMatchObject([{ identifier: runs[0]!.identifier }]);
  });

  test('ends where it stands when it is canceled, once, and the one that waits is started', async () => {
    const [run, next] = [
      await storedExportRun(store, exporter, MONDAY),
      await storedExportRun(store, exporter, TUESDAY),
    ];
    await claimed(store, run);
    const started: string[] = [];
    const own = await testServer(store, { startJob: async (_kind, { identifier }) => void started.push(identifier) });
    const path = `/api/data_exporters/${exporter.identifier}/runs/${run.identifier}/cancel`;
    const cancel = () => own.call('POST', path, { token: world.token });
    expect(resultOf(await cancel())).toMatchObject({ state: 'canceled', ended_at: expect.any(String) });
    expect(started).toEqual([next.identifier]);
    expect(refusalOf(await cancel())).toEqual([400, 'bad_request', 'The run has ended already']);
  });

  test('is found under its own exporter and in its own entity only, by those with both rights', async () => {
    const run = await finished(TUESDAY);
    const stranger = await makeWorld(store);
    const [own, other] = [exporter, await storedExporter(store.db, store.secrets, world)];
    const asked = [
      ['GET', ''],
      ['POST', '/cancel'],
      ['POST', '/rerun'],
    ] as const;
    for (const [method, rest] of asked) {
      exporter = other;
      expect(refusalOf(await call(method, `/runs/${run.identifier}${rest}`))).toEqual([
        404,
        'not_found',
        'Run not found',
      ]);
      exporter = own;
      const reply = await call(method, `/runs/${run.identifier}${rest}`, undefined, stranger.token);
      expect(refusalOf(reply)).toEqual([404, 'not_found', 'Automated data exporter not found']);
    }
    const elsewhere = await server.call('GET', `/api/export_runs/${run.identifier}`, { token: stranger.token });
    expect(refusalOf(elsewhere)).toEqual([404, 'not_found', 'Run not found']);
    for (const right of ['sor_manage', 'usage_analytics_view'] as const) {
      const { token } = await makeWorld(store, { rights: [right], admin: false });
      expect((await call('GET', '/runs', undefined, token)).status).toBe(403);
      expect((await call('POST', '/runs', {}, token)).status).toBe(403);
    }
  });

  test('is written down in the audit log, with who asked for it and who canceled it', async () => {
    const { identifier } = resultOf(await post('/runs'));
    await post(`/runs/${identifier}/cancel`);
    const { rows } = await store.db.query(
      `SELECT action, subject, details FROM audit_log WHERE subject_kind = 'export_run' AND subject IN ($1, $2) ORDER BY id`,
      [exporter.identifier, identifier],
    );
    expect(rows).toEqual([
      { action: 'create', subject: exporter.identifier, details: { run: identifier, cause: 'request' } },
      { action: 'update', subject: identifier, details: { change: 'canceled' } },
    ]);
  });
});

describe('a rerun', () => {
  test('has the window of its run, whatever was exported since, and is one at a time', async () => {
    const [first, second] = [await finished(MONDAY), await finished(TUESDAY)];
    const rerun = resultOf(await post(`/runs/${second.identifier}/rerun`));
    expect(rerun).toMatchObject({
      cause: 'rerun',
      state: 'accepted',
      rerun_of: second.identifier,
      window: { kind: 'received', start: '2026-11-02T00:00:00Z', end: '2026-11-03T00:00:00Z' },
    });
    expect(refusalOf(await post(`/runs/${second.identifier}/rerun`))).toEqual([
      409,
      'conflict',
      expect.stringContaining(rerun.identifier),
    ]);
    const { identifier: other } = resultOf(await post(`/runs/${first.identifier}/rerun`));
    expect(await found(other)).toMatchObject({ window: { start: null, end: MONDAY } });
  });

  test('of a rerun is one of its first run', async () => {
    const first = await finished(MONDAY);
    const { identifier } = resultOf(await post(`/runs/${first.identifier}/rerun`));
    const rerun = (await claimed(store, await found(identifier)))!;
    await exportRuns.end(store.db, rerun, { state: 'finished', failure: null, alert: null });
    expect(resultOf(await post(`/runs/${identifier}/rerun`))).toMatchObject({
      rerun_of: first.identifier,
      window: { start: null },
    });
  });

  test('is refused of a run that has not ended, has failed, was canceled, or had nothing to export', async () => {
    const waiting = await storedExportRun(store, exporter, MONDAY);
    const rerun = () => post(`/runs/${waiting.identifier}/rerun`);
    expect(refusalOf(await rerun())).toEqual([409, 'conflict', 'The run has not ended yet']);
    for (const state of ['failed', 'canceled'] as const) {
      await exportRuns.end(store.db, waiting, { state, failure: null, alert: null });
      expect(refusalOf(await rerun())).toEqual([400, 'bad_request', expect.stringContaining('the next one does')]);
    }
    await store.db.query(`UPDATE export_runs SET state = 'finished', is_covered = true WHERE id = $1`, [waiting.id]);
    expect(refusalOf(await rerun())).toEqual([400, 'bad_request', expect.stringContaining('nothing to export')]);
  });
});

describe('a backfill', () => {
  test('has local days of the entity, over the time of events', async () => {
    await store.db.query(`UPDATE entities SET default_tz = 'Europe/Paris' WHERE id = $1`, [world.entity.id]);
    const run = resultOf(await post('/backfills', { from: '2026-03-29', to: '2026-03-29' }));
    expect(run).toMatchObject({
      cause: 'backfill',
      days: { from: '2026-03-29', to: '2026-03-29' },
      window: { kind: 'happened', start: '2026-03-28T23:00:00Z', end: '2026-03-29T22:00:00Z' },
    });
    expect(refusalOf(await post('/backfills', { from: '2026-03-29', to: '2026-03-29' }))).toEqual([
      409,
      'conflict',
      expect.stringContaining(run.identifier),
    ]);
    expect((await post('/backfills', { from: '2026-03-29', to: '2026-03-30' })).status).toBe(200);
  });

  test.each([
    [{ from: '2026-03-29' }, 'to'],
    [{ from: 'yesterday', to: '2026-03-29' }, 'from'],
    [{ from: '2026-02-30', to: '2026-03-29' }, 'from'],
    [{ from: '2026-03-30', to: '2026-03-29' }, 'to'],
    [{ from: '2026-01-01', to: '2999-01-01' }, 'to'],
    [{ from: '2020-01-01', to: '2022-01-01' }, 'to'],
  ])('of %j is refused, which names %s', async (body, element) => {
    const reply = await post('/backfills', body);
    expect([reply.status, reply.body.messages.map((message: { element: string }) => message.element)]).toEqual([
      400,
      [element],
    ]);
  });
});

test("what Temporal can't be told now is left to the sweep", async () => {
  const unreachable = async () => Promise.reject(new Error('no Temporal'));
  const own = await testServer(store, { startJob: unreachable, followExporter: unreachable });
  const run = resultOf(
    await own.call('POST', `/api/data_exporters/${exporter.identifier}/runs`, { token: world.token, body: {} }),
  );
  expect(await found(run.identifier)).toMatchObject({ state: 'accepted' });
  expect(own.logs.filter(({ level }) => level === 40)).toMatchObject([{ exportRun: run.identifier }]);
});
