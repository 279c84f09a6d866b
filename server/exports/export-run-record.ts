import type * as api from '../../api/exports/export-runs.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { Queryable } from '../../store/core/database.ts';
import { type ExportRecord, listExportRecords } from '../../store/exports/export-files.ts';
import type { ExportRun } from '../../store/exports/export-run-record.ts';
import { findExportRun } from '../../store/exports/export-runs.ts';
import { listJobIdentifiers } from '../../store/jobs/jobs.ts';
import { listRunAlerts } from '../../store/jobs/run-alerts.ts';
import { wholeSeconds } from '../http/whole-seconds.ts';
import { findInternalErrors } from '../jobs/show-internal-error.ts';
import { stageOf } from '../jobs/show-stage.ts';
import { knownExporter } from './exporter-record.ts';

/** Runs of one entity, with what each wrote of each type. */
export async function showExportRuns(db: Queryable, entityId: number, runs: ExportRun[]): Promise<api.ExportRun[]> {
  const records = Map.groupBy(
    await listExportRecords(
      db,
      entityId,
      runs.map(({ id }) => id),
    ),
    ({ runId }) => runId,
  );
  const roots = await listJobIdentifiers(
    db,
    'export',
    entityId,
    runs.flatMap(({ rerunOf }) => rerunOf ?? []),
  );
  const errorOf = await findInternalErrors(
    db,
    'export',
    entityId,
    runs.map(({ identifier }) => identifier),
  );
  const alerted = await listRunAlerts(
    db,
    'export',
    entityId,
    runs.map(({ id }) => id),
  );
  return runs.map((run) => ({
    ...show(run, records.get(run.id) ?? [], roots.get(run.rerunOf ?? 0) ?? null),
    alerted: alerted.get(run.id) ?? [],
    internal_error: errorOf(run.identifier),
  }));
}

export async function showExportRun(db: Queryable, run: ExportRun): Promise<api.ExportRun> {
  return (await showExportRuns(db, run.entityId, [run]))[0]!;
}

/** A run of the caller's exporter. */
export async function knownExportRun(
  db: Queryable,
  entityId: number,
  exporterId: string,
  runId: string,
): Promise<ExportRun> {
  const exporter = await knownExporter(db, entityId, exporterId);
  const run = await findExportRun(db, entityId, runId);
  return run?.exporterId === exporter.id ? run : refuse(404, 'not_found', 'Run not found');
}

function show(
  run: ExportRun,
  records: ExportRecord[],
  rerunOf: string | null,
): Omit<api.ExportRun, 'alerted' | 'internal_error'> {
  return {
    identifier: run.identifier,
    cause: run.cause,
    state: run.state,
    stage: stageOf(run),
    window: { kind: run.window.kind, start: seconds(run.window.start), end: wholeSeconds(run.window.end) },
    days: run.days,
    covered: run.isCovered,
    rerun_of: rerunOf,
    scheduled_for: seconds(run.scheduledFor),
    covers: run.covers.toSorted((a, b) => a.getTime() - b.getTime()).map(wholeSeconds),
    received_at: wholeSeconds(run.receivedAt),
    started_at: seconds(run.startedAt),
    ended_at: seconds(run.endedAt),
    attempt: run.attempt,
    rows: records.reduce((sum, { rows }) => sum + rows, 0),
    types: records.map(showType),
    fault: run.fault,
    tries: run.tries,
    waits_until: seconds(run.waitsUntil),
    failure: run.failure,
    manifest_key: run.manifestKey,
    published_at: seconds(run.publishedAt),
    alert: run.alert,
    mail: run.mail,
  };
}

function showType({ identifier, dataType, expected, ambiguousSets, rows, files, isDone, lateRows }: ExportRecord) {
  return {
    identifier,
    type: dataType,
    expected,
    ambiguous_sets: ambiguousSets,
    rows,
    files,
    done: isDone,
    late_rows: lateRows,
  };
}

function seconds(time: Date | null): string | null {
  return time && wholeSeconds(time);
}
