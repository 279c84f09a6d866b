import { beforeAll, expect, it } from 'vitest';
import { write } from '../../../store/core/database.ts';
import { openExporterSecrets, updateExporter } from '../../../store/exports/data-exporters.ts';
import { listExportFiles } from '../../../store/exports/export-files.ts';
import type { ExportRun } from '../../../store/exports/export-run-record.ts';
import { cancelExportRun } from '../../../store/exports/export-runs.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { type S3Proxy, s3Error, s3Proxy } from '../../harness/core/s3-proxy.ts';
import { testS3, type TestS3 } from '../../harness/core/s3.ts';
import { useStack } from '../../harness/core/stack.ts';
import {
  askForExport,
  DAY,
  ENCRYPTION_KEY,
  type ExportWorld,
  exportEnded,
  insertEvents,
  makeExportWorld,
  readExport,
  runExport,
} from '../../harness/exports/exports.ts';

const stack = useStack();
let s3: TestS3;
let proxy: S3Proxy;

beforeAll(async () => {
  s3 = await testS3();
  proxy = await s3Proxy(s3.settings.endpoint);
  stack.startWorker();
});

async function exportedDay(): Promise<{ world: ExportWorld; first: ExportRun; folder: string; files: string[] }> {
  const world = await makeExportWorld(stack, s3, { exportedData: ['logs'], endpoint: proxy.endpoint });
  await insertEvents(stack, world, 2_000);
  const first = await runExport(stack, world);
  const files = (await listExportFiles(stack.store.db, world.entity.id, [first.id])).map(({ key }) => key);
  expect(files).toHaveLength(1);
  return { world, first, folder: first.definition!.folder, files };
}

/** Begins to export the window again, and gives up when a file is on its way. */
async function cancelRerun(world: ExportWorld, { id, definition }: ExportRun): Promise<void> {
  const held = proxy.hold({ operation: 'PutObject', key: new RegExp(`${definition!.folder}/.*logs`) });
  const rerun = await askForExport(stack, world, {
    cause: 'rerun',
    rerunOf: id,
    window: { start: DAY.start, end: DAY.end },
  });
  await held.reached;
  await write(stack.store.db, (tx) => cancelExportRun(tx, world.entity.id, rerun.identifier));
  held.release();
  expect((await exportEnded(stack, rerun)).state).toBe('canceled');
}

it('a day whose manifest its reader has moved away keeps its files when a rerun of it is canceled', async () => {
  const { world, first, folder, files } = await exportedDay();
  await s3.delete(`${folder}/manifest.json`);
  await cancelRerun(world, first);
  expect(await s3.keys(folder)).toEqual(files);
});

it('a manifest that somebody has spoiled costs no file, and holds no later run up', async () => {
  const { world, first, folder, files } = await exportedDay();
  await s3.put(`${folder}/manifest.json`, 'no JSON at all');
  await cancelRerun(world, first);
  expect(await s3.keys(folder)).toEqual([...files, `${folder}/manifest.json`]);
  const rerun = await runExport(stack, world, {
    cause: 'rerun',
    rerunOf: first.id,
    window: { start: DAY.start, end: DAY.end },
  });
  expect(rerun.state).toBe('finished');
  expect((await readExport(stack, world, folder)).manifest).toMatchObject({ run: rerun.identifier, rows: 2_000 });
});

it('a run whose leftovers could not be removed keeps its files when that is done later, whatever became of its manifest', async () => {
  const world = await makeExportWorld(stack, s3, { exportedData: ['logs'], endpoint: proxy.endpoint });
  await insertEvents(stack, world, 2_000);
  proxy.meet(
    { operation: 'GetObject', key: new RegExp(`${world.exporter.identifier}.*manifest`) },
    s3Error(403, 'AllAccessDisabled'),
  );
  const asked = await askForExport(stack, world);
  await expect.poll(() => stateOf(asked)).toBe('finished');
  const [{ key } = { key: '' }] = await listExportFiles(stack.store.db, world.entity.id, [asked.id]);
  await expect.poll(() => proxy.count({ operation: 'GetObject', key: /manifest/ })).toBeGreaterThan(0);
  await s3.delete(key.replace(/\d{4}\/logs.*$/, 'manifest.json'));
  const end = new Date(DAY.end.getTime() + 3_600_000);
  expect((await runExport(stack, world, { window: { start: null, end } })).state).toBe('finished');
  expect(await s3.keys(key)).toEqual([key]);
});

it('a run has one key: one that is given meanwhile is that of the next run, which exports all of it', async () => {
  const world = await makeExportWorld(stack, s3, {
    exportedData: ['logs', 'details'],
    encryptionType: 'AES-256-GCM',
    endpoint: proxy.endpoint,
  });
  await insertEvents(stack, world, 2_000);
  const of = (type: string) => ({
    operation: 'PutObject' as const,
    key: new RegExp(`${world.exporter.identifier}.*${type}`),
  });
  const held = proxy.hold(of('logs'));
  proxy.meet(of('details'), s3Error(403, 'AllAccessDisabled'));
  const asked = await askForExport(stack, world);
  await held.reached;
  const { db, secrets } = stack.store;
  const keys = await openExporterSecrets(db, secrets, world.entity.id, world.exporter.id);
  const encryptionKey = ENCRYPTION_KEY.toUpperCase();
  rememberSecret(encryptionKey);
  await updateExporter(db, secrets, world.exporter, { ...world.exporter, secrets: { ...keys, encryptionKey } });
  held.release();
  const run = await exportEnded(stack, asked);
  expect(run).toMatchObject({
    state: 'failed',
    failure: { message: expect.stringContaining('encryption_key') as string },
  });
  const next = await runExport(stack, world);
  expect(next).toMatchObject({ state: 'finished', window: { start: DAY.start } });
  const { manifest } = await readExport(stack, { ...world, encryptionKey }, next.definition!.folder);
  expect(manifest.rows).toBe(6_000);
});

it('a table that is written anew between two attempts costs no row', async () => {
  const world = await makeExportWorld(stack, s3, {
    exportedData: ['logs'],
    partBytes: 256 * 1024,
    endpoint: proxy.endpoint,
  });
  const { db } = stack.store;
  const earlier = { from: new Date(DAY.start.getTime() - 3_600_000), to: DAY.start, name: 'Earlier' };
  await insertEvents(stack, world, 20_000, earlier);
  await insertEvents(stack, world, 20_000);
  await db.query(`DELETE FROM events WHERE entity_id = $1 AND name LIKE 'Earlier%'`, [world.entity.id]);
  const first = proxy.hold({ key: /logs-0001/ });
  proxy.meet({ key: /logs-0003/ }, s3Error(403, 'AllAccessDisabled'));
  const asked = await askForExport(stack, world);
  await first.reached;
  const again = proxy.hold({ operation: 'ListMultipartUploads' });
  first.release();
  await again.reached;
  await db.query('VACUUM FULL events');
  again.release();
  const run = await exportEnded(stack, asked);
  expect(run).toMatchObject({ state: 'finished', attempt: 2 });
  const { manifest, rows } = await readExport(stack, world, run.definition!.folder);
  expect(new Set(rows.logs!.map(([id]) => id)).size).toBe(20_000);
  expect(manifest).toMatchObject({ rows: 20_000 });
});

async function stateOf({ id }: ExportRun): Promise<string> {
  const { rows } = await stack.store.db.query<{ state: string }>('SELECT state FROM export_runs WHERE id = $1', [id]);
  return rows[0]!.state;
}
