import { listExportRecords } from '../../../store/exports/export-files.ts';
import type { ExportRun } from '../../../store/exports/export-run-record.ts';
import { findExportRun } from '../../../store/exports/export-runs.ts';
import { sharedS3 } from '../../harness/core/s3.ts';
import type { Stack } from '../../harness/core/stack.ts';
import {
  askForExport,
  type ExportWorld,
  insertEvents,
  makeExportWorld,
  readExport,
} from '../../harness/exports/exports.ts';
import type { FlowUnderKill } from '../../harness/jobs/under-kill.ts';

const EVENTS = 18_000;
/** Of two types, each with a detail of two entries. */
const ROWS = 3 * EVENTS;

export type ExportUnderKill = { world: ExportWorld; asked: ExportRun };

/** Copies of the database have the same exporter, so each run has a bucket of its own. */
let buckets = 0;

/** Small files of two types. */
export const exportDailyUnderKill: FlowUnderKill<ExportUnderKill> = {
  name: 'an export of 54,000 rows in many files',
  boundaries: [
    { name: 'export: claimed', hit: 1 },
    { name: 'export: attempt begun', hit: 1 },
    { name: 'export: after a file was uploaded', hit: 1 },
    { name: 'export: after a file was uploaded', hit: 6 },
    { name: 'export: after a file was recorded', hit: 3 },
    { name: 'export: before the manifest', hit: 1 },
    { name: 'export: after the manifest', hit: 1 },
    { name: 'export: after the end committed', hit: 1 },
    { name: 'export: after the old was removed', hit: 1 },
  ],
  begin: (stack) => beginExport(stack, EVENTS),
  async progress(stack, { asked: { entityId, id } }) {
    const records = await listExportRecords(stack.store.db, entityId, [id]);
    return records.reduce((sum, { rows }) => sum + rows, 0);
  },
  size: ROWS,
  hasEnded: async (stack, { asked }) => {
    const {
      rows: [row],
    } = await stack.store.db.query<{ is_over: boolean }>(
      'SELECT is_cleaned AND ended_at IS NOT NULL AS is_over FROM export_runs WHERE id = $1',
      [asked.id],
    );
    return row!.is_over;
  },
  outcome: exportOutcome,
};

/** Asks for an export of so many events, into a bucket of its own. */
export async function beginExport(stack: Stack, events: number, partBytes = 128 * 1024): Promise<ExportUnderKill> {
  const s3 = await (await sharedS3()).bucket(`bucket-${(buckets += 1)}`);
  const world = await makeExportWorld(stack, s3, {
    exportedData: ['logs', 'details'],
    partBytes,
    encryptionType: 'AES-256-CTR',
  });
  await insertEvents(stack, world, events);
  return { world, asked: await askForExport(stack, world) };
}

/** What readers find: the rows, in their order and files, by their content; nothing else lies in the bucket. */
export async function exportOutcome(stack: Stack, { world, asked }: ExportUnderKill): Promise<object> {
  const run = (await findExportRun(stack.store.db, asked.entityId, asked.identifier))!;
  const { folder } = run.definition!;
  const { manifest, rows } = await readExport(stack, world, folder);
  const named = manifest.types.flatMap(({ files }) => files.map(({ key }) => key));
  const stored = await world.s3.keys();
  const records = await listExportRecords(stack.store.db, asked.entityId, [asked.id]);
  return {
    state: run.state,
    failure: run.failure,
    rows: rows.logs!.map(([, , name]) => name),
    prices: rows.details!.map(([, key, value]) => [key, value]),
    files: manifest.types.map(({ type, files, expected }) => ({
      type,
      expected,
      files: files.map((file) => [file.part, file.rows]),
    })),
    unnamed: stored.filter((key) => !named.includes(key) && key !== `${folder}/manifest.json`),
    missing: named.filter((key) => !stored.includes(key)),
    unfinished: await world.s3.unfinished(),
    records: records.map(({ dataType, expected, rows: count, files, isDone }) => ({
      dataType,
      expected,
      count,
      files,
      isDone,
    })),
    exportedUntil: (
      await stack.store.db.query<{ until: Date }>('SELECT exported_until AS until FROM data_exporters WHERE id = $1', [
        world.exporter.id,
      ])
    ).rows[0]!.until,
  };
}
