import { z } from 'zod';
import { refuse } from '../../domain/core/refusal.ts';
import { EXPORT_ALERTS, EXPORT_RUN_CAUSES, EXPORT_RUN_STATES } from '../../domain/exports/exporter.ts';
import type { Queryable } from '../../store/core/database.ts';
import { type ExportRecord, listExportRecords } from '../../store/exports/export-files.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import { findExportRun, listExportRunIdentifiers } from '../../store/exports/export-runs.ts';
import { wholeSeconds } from '../http/whole-seconds.ts';
import { knownExporter } from './exporter-record.ts';

const instant = z.iso.datetime().nullable();

/** How a run of an exporter stands. */
export const ExportRunRecord = z.object({
  identifier: z.string(),
  cause: z.enum(EXPORT_RUN_CAUSES),
  state: z.enum(EXPORT_RUN_STATES),
  window: z.object({
    kind: z.enum(['received', 'happened']).describe('By when events were received; of a backfill by when they happened'),
    start: instant.describe('Null: all there is; of a run that waits: where the last good one will have ended'),
    end: z.iso.datetime().describe('Exclusive'),
  }),
  days: z.object({ from: z.string(), to: z.string() }).nullable().describe('Of a backfill, and of its reruns'),
  covered: z.boolean().describe('An earlier run had exported all of it: nothing was written'),
  rerun_of: z.string().nullable().describe('The run whose window it exports again'),
  scheduled_for: instant,
  covers: z.array(z.iso.datetime()).describe('Scheduled times that this run stands for besides its own'),
  received_at: z.iso.datetime(),
  started_at: instant,
  ended_at: instant,
  attempt: z.int().describe('At its files: the number of their folder'),
  rows: z.int().describe('In files that are in the bucket'),
  types: z.array(z.object({
    identifier: z.string(),
    type: z.string(),
    expected: z.int().nullable().describe('Rows that were counted before the first was written'),
    rows: z.int(),
    files: z.int(),
    done: z.boolean(),
    late_rows: z.int().nullable().describe('Rows that came after the window was exported; null: not counted yet, or unknown'),
  })).describe('In the order in which they are written'),
  fault: z.string().nullable().describe('Why the bucket can\'t be written to for now'),
  tries: z.int().describe('How often it was tried since it last took something'),
  waits_until: instant,
  failure: z.object({ status: z.string(), message: z.string() }).nullable(),
  manifest_key: z.string().nullable(),
  published_at: instant.describe('When the manifest was in the bucket'),
  alert: z.enum(EXPORT_ALERTS).nullable().describe('What was to be mailed'),
  mail: z.object({ state: z.enum(['sending', 'sent', 'not_sent', 'unknown']), tries: z.int(), reason: z.string().nullable() }).nullable(),
});

/** Runs of one entity, with what each wrote of each type. */
export async function showExportRuns(db: Queryable, entityId: number, runs: ExportRun[]): Promise<z.input<typeof ExportRunRecord>[]> {
  const records = Map.groupBy(await listExportRecords(db, entityId, runs.map(({ id }) => id)), ({ runId }) => runId);
  const roots = await listExportRunIdentifiers(db, entityId, runs.flatMap(({ rerunOf }) => rerunOf ?? []));
  return runs.map((run) => show(run, records.get(run.id) ?? [], roots.get(run.rerunOf ?? 0) ?? null));
}

export async function showExportRun(db: Queryable, run: ExportRun): Promise<z.input<typeof ExportRunRecord>> {
  return (await showExportRuns(db, run.entityId, [run]))[0]!;
}

/** A run of the caller's exporter. */
export async function knownExportRun(db: Queryable, entityId: number, exporterId: string, runId: string): Promise<ExportRun> {
  const exporter = await knownExporter(db, entityId, exporterId);
  const run = await findExportRun(db, entityId, runId);
  return run?.exporterId === exporter.id ? run : refuse(404, 'not_found', 'Run not found');
}

function show(run: ExportRun, records: ExportRecord[], rerunOf: string | null): z.input<typeof ExportRunRecord> {
  return {
    identifier: run.identifier, cause: run.cause, state: run.state,
    window: { kind: run.window.kind, start: seconds(run.window.start), end: wholeSeconds(run.window.end) }, days: run.days,
    covered: run.isCovered, rerun_of: rerunOf, scheduled_for: seconds(run.scheduledFor),
    covers: run.covers.toSorted((a, b) => a.getTime() - b.getTime()).map(wholeSeconds),
    received_at: wholeSeconds(run.receivedAt), started_at: seconds(run.startedAt), ended_at: seconds(run.endedAt),
    attempt: run.attempt, rows: records.reduce((sum, { rows }) => sum + rows, 0), types: records.map(showType),
    fault: run.fault, tries: run.tries, waits_until: seconds(run.waitsUntil), failure: run.failure,
    manifest_key: run.manifestKey, published_at: seconds(run.publishedAt), alert: run.alert, mail: run.mail,
  };
}

function showType({ identifier, dataType, expected, rows, files, isDone, lateRows }: ExportRecord) {
  return { identifier, type: dataType, expected, rows, files, done: isDone, late_rows: lateRows };
}

function seconds(time: Date | null): string | null {
  return time && wholeSeconds(time);
}
