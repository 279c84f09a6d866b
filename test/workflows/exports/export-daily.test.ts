import { beforeAll, describe, expect, it } from 'vitest';
import { EXPORT_DATA_TYPES } from '../../../domain/exports/export-data-type.ts';
import { write } from '../../../store/core/database.ts';
import { findExporterById } from '../../../store/exports/data-exporters.ts';
import { listExportFiles, listExportRecords } from '../../../store/exports/export-files.ts';
import { cancelExportRun } from '../../../store/exports/export-runs.ts';
import { testS3, type TestS3 } from '../../harness/core/s3.ts';
import { useStack } from '../../harness/core/stack.ts';
import { ingestSamples } from '../../harness/exports/export-samples.ts';
import {
  addExporter,
  askForExport,
  DAY,
  type ExportWorld,
  exportEnded,
  insertEvents,
  makeExportWorld,
  readExport,
  runExport,
} from '../../harness/exports/exports.ts';

const stack = useStack();
const HOUR_MS = 3_600_000;
let s3: TestS3;

beforeAll(async () => {
  s3 = await testS3();
  stack.startWorker();
});

const exporterOf = async ({ exporter }: ExportWorld) =>
  (await findExporterById(stack.store.db, exporter.entityId, exporter.id))!;

it('an export names in a signed manifest what it wrote, and nothing else lies in the bucket', async () => {
  const world = await makeExportWorld(stack, s3, { exportedData: ['logs', 'details'] });
  await insertEvents(stack, world, 3_000);
  const run = await runExport(stack, world);
  expect(run).toMatchObject({ state: 'finished', failure: null, attempt: 1 });
  const { folder } = run.definition!;
  const { manifest, rows } = await readExport(stack, world, folder);
  expect(manifest).toMatchObject({
    exporter: world.exporter.identifier,
    run: run.identifier,
    generation: 1,
    rows: 9_000,
  });
  expect(manifest.window).toEqual({ kind: 'received', start: DAY.start.toISOString(), end: DAY.end.toISOString() });
  expect(new Set(rows.logs!.map(([, , name]) => name)).size).toBe(3_000);
  expect(await s3.keys(folder)).toEqual([
    `${folder}/0001/details-0001.csv.gz`,
    `${folder}/0001/logs-0001.csv.gz`,
    `${folder}/manifest.json`,
  ]);
  expect(await s3.unfinished()).toEqual([]);
  expect(await exporterOf(world)).toMatchObject({ exportedUntil: DAY.end, failures: 0 });
});

describe.each([
  { format: 'csv', encryptionType: null, includeHeaders: false },
  { format: 'csv', encryptionType: 'aes-256-gcm', includeHeaders: true },
  { format: 'jsonl', encryptionType: 'AES-128-CBC', includeHeaders: true },
  { format: 'csv', encryptionType: 'AES-192-CTR', includeHeaders: true },
  { format: 'parquet', encryptionType: 'AES-256-CBC', includeHeaders: true },
] as const)('as $format with $encryptionType', (how) => {
  it('every type of data can be read back, row by row', async () => {
    const world = await makeExportWorld(stack, s3, { exportedData: [...EXPORT_DATA_TYPES], ...how });
    const expected = await ingestSamples(stack, world);
    const sorIds = [world.sor.id];
    await stack.store.db.query('UPDATE data_exporters SET sor_ids = $2 WHERE id = $1', [world.exporter.id, sorIds]);
    const run = await runExport(stack, world);
    expect(run).toMatchObject({ state: 'finished', failure: null });
    const { manifest, rows } = await readExport(stack, world, run.definition!.folder);
    const counts = Object.fromEntries(manifest.types.map(({ type, rows: count }) => [type, count]));
    expect(counts).toEqual(expected);
    expect([manifest.format, manifest.include_headers]).toEqual([how.format, how.includeHeaders]);
    for (const { expected: foretold, rows: written } of manifest.types) expect(foretold).toBe(written);
    expect(Object.keys(rows)).toEqual([...EXPORT_DATA_TYPES]);
    expect(manifest.types.filter(({ files }) => files.length === 0)).toEqual([]);
  });
});

it('a window in which nothing came has a manifest without files', async () => {
  const world = await makeExportWorld(stack, s3, { includeHeaders: true });
  const run = await runExport(stack, world);
  const { manifest } = await readExport(stack, world, run.definition!.folder);
  expect(manifest.types).toMatchObject([{ type: 'logs', rows: 0, expected: 0, files: [] }]);
  expect(await s3.keys(run.definition!.folder)).toEqual([`${run.definition!.folder}/manifest.json`]);
  expect(await exporterOf(world)).toMatchObject({ exportedUntil: DAY.end });
});

it('a file ends with the slice that reaches part_bytes, and all parts together are the whole', async () => {
  const whole = await makeExportWorld(stack, s3, { exportedData: ['logs'] });
  await insertEvents(stack, whole, 40_000);
  const asParts = await addExporter(stack, s3, whole, {
    exportedData: ['logs'],
    partBytes: 1024 ** 2,
    includeHeaders: true,
  });
  const parted = { ...whole, ...asParts };
  const [one, many] = [await runExport(stack, whole), await runExport(stack, parted)];
  const read = await readExport(stack, parted, many.definition!.folder);
  const files = read.manifest.types[0]!.files;
  expect(files.length).toBeGreaterThan(3);
  expect(files.map(({ part }) => part)).toEqual(files.map((_, index) => index + 1));
  expect(read.rows.logs).toEqual((await readExport(stack, whole, one.definition!.folder)).rows.logs);
});

it('the next run begins where the last one ended, whatever day that was', async () => {
  const world = await makeExportWorld(stack, s3, { exportedData: ['logs'] });
  await insertEvents(stack, world, 1_000);
  const middle = new Date(DAY.start.getTime() + 10 * HOUR_MS);
  const first = await runExport(stack, world, { window: { start: null, end: middle } });
  const second = await runExport(stack, world);
  expect(second.window).toMatchObject({ start: middle, end: DAY.end });
  const [one, two] = [
    await readExport(stack, world, first.definition!.folder),
    await readExport(stack, world, second.definition!.folder),
  ];
  const names = [...one.rows.logs!, ...two.rows.logs!].map(([, , name]) => name);
  expect(names).toHaveLength(1_000);
  expect(new Set(names).size).toBe(1_000);
});

it('without a beginning the first run exports all there is', async () => {
  const world = await makeExportWorld(stack, s3, { exportsSince: null });
  await insertEvents(stack, world, 10, {
    from: new Date('2026-09-30T10:00:00Z'),
    to: new Date('2026-10-02T10:00:00Z'),
  });
  const run = await runExport(stack, world);
  const { manifest } = await readExport(stack, world, run.definition!.folder);
  expect(run.definition!.folder).toMatch(/\/beginning_2026-11-20T23-00-00Z$/);
  expect(manifest).toMatchObject({ rows: 10, window: { start: null } });
});

describe('a rerun', () => {
  it('gives the same content, takes the place of what was there, and moves nothing else', async () => {
    const world = await makeExportWorld(stack, s3, {
      exportedData: ['logs', 'details'],
      partBytes: 1024 ** 2,
      encryptionType: 'AES-256-CBC',
    });
    await insertEvents(stack, world, 20_000);
    const first = await runExport(stack, world);
    const { folder } = first.definition!;
    const before = await readExport(stack, world, folder);
    const exporter = await exporterOf(world);
    const second = await runExport(stack, world, {
      cause: 'rerun',
      rerunOf: first.id,
      window: { start: DAY.start, end: DAY.end },
    });
    const after = await readExport(stack, world, folder);
    expect(after.content).toEqual(before.content);
    expect(after.manifest).toMatchObject({ generation: 2, cause: 'rerun', run: second.identifier });
    const named = after.manifest.types.flatMap(({ files }) => files.map(({ key }) => key));
    expect(await s3.keys(folder)).toEqual([...named, `${folder}/manifest.json`].toSorted());
    expect(await exporterOf(world)).toMatchObject({ exportedUntil: exporter.exportedUntil });
    const files = await listExportFiles(stack.store.db, world.entity.id, [first.id, second.id]);
    for (const { runId, removedAt } of files) expect(removedAt !== null).toBe(runId === first.id);
  });

  it('is never seen half by whoever follows the manifest meanwhile', async () => {
    const world = await makeExportWorld(stack, s3, { exportedData: ['logs'], partBytes: 256 * 1024 });
    await insertEvents(stack, world, 20_000);
    const first = await runExport(stack, world);
    const { folder } = first.definition!;
    const seen = new Set([(await readExport(stack, world, folder)).manifest.generation]);
    const asked = await askForExport(stack, world, {
      cause: 'rerun',
      rerunOf: first.id,
      window: { start: DAY.start, end: DAY.end },
    });
    let isOver = false;
    const ended = exportEnded(stack, asked).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const { manifest, rows } = await readAgainWhereGone(() => readExport(stack, world, folder));
      seen.add(manifest.generation);
      expect(rows.logs).toHaveLength(20_000);
    }
    await ended;
    seen.add((await readExport(stack, world, folder)).manifest.generation);
    expect([...seen]).toEqual([1, 2]);
  });
});

/** As docs/exports.md tells readers to: a file that is gone was replaced, and the manifest tells by what. */
async function readAgainWhereGone<T>(read: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if ((error as Error).name !== 'NoSuchKey') throw error;
    }
  }
}

it('a backfill exports by when things happened, to a folder of its own', async () => {
  const world = await makeExportWorld(stack, s3, { exportedData: ['logs'] });
  await insertEvents(stack, world, 100);
  await stack.store.db.query('UPDATE events SET received_at = now() WHERE entity_id = $1', [world.entity.id]);
  const run = await runExport(stack, world, {
    cause: 'backfill',
    days: { from: '2026-11-20', to: '2026-11-20' },
    window: { start: DAY.start, end: DAY.end },
  });
  expect(run.definition!.folder).toBe(`daily/${world.exporter.identifier}/backfill/2026-11-20_2026-11-20`);
  const { manifest } = await readExport(stack, world, run.definition!.folder);
  expect(manifest).toMatchObject({ rows: 100, window: { kind: 'happened' }, cause: 'backfill' });
  expect(await exporterOf(world)).toMatchObject({ exportedUntil: null });
});

it('a run that is canceled leaves nothing in the bucket', async () => {
  const world = await makeExportWorld(stack, s3, { exportedData: ['logs', 'details'], partBytes: 64 * 1024 });
  await insertEvents(stack, world, 60_000);
  const asked = await askForExport(stack, world);
  await expect
    .poll(async () => (await listExportRecords(stack.store.db, world.entity.id, [asked.id]))[0]?.files)
    .toBeGreaterThan(0);
  await write(stack.store.db, (tx) => cancelExportRun(tx, world.entity.id, asked.identifier));
  const run = await exportEnded(stack, asked);
  expect(run.state).toBe('canceled');
  expect(await s3.keys(run.definition!.folder)).toEqual([]);
  expect((await s3.unfinished()).filter((key) => key.startsWith(run.definition!.folder))).toEqual([]);
  expect(
    (await listExportFiles(stack.store.db, world.entity.id, [run.id])).every(({ removedAt }) => removedAt !== null),
  ).toBe(true);
  expect(await exporterOf(world)).toMatchObject({ exportedUntil: null });
});

it('rows that come late into a window are noted, and a rerun brings them', async () => {
  const world = await makeExportWorld(stack, s3, { exportedData: ['logs'] });
  await insertEvents(stack, world, 50);
  const first = await runExport(stack, world);
  await insertEvents(stack, world, 3, { name: 'Late' });
  const end = new Date(DAY.end.getTime() + 12 * HOUR_MS);
  const second = await runExport(stack, world, { window: { start: null, end } });
  expect(second).toMatchObject({ state: 'finished', alert: 'late' });
  const [record] = await listExportRecords(stack.store.db, world.entity.id, [first.id]);
  expect(record).toMatchObject({ rows: 50, lateRows: 3 });
  const third = await runExport(stack, world, { window: { start: null, end: new Date(end.getTime() + HOUR_MS) } });
  expect(third.alert).toBeNull();
  const rerun = await runExport(stack, world, {
    cause: 'rerun',
    rerunOf: first.id,
    window: { start: DAY.start, end: DAY.end },
  });
  expect((await readExport(stack, world, rerun.definition!.folder)).manifest.rows).toBe(53);
});
