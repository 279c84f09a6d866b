/** Export runs as the API shows them. */
import type * as api from '../../api/exports/export-runs.ts';
import { type ExportRecord, listExportRecords } from '../../store/exports/export-files.ts';
import type { ExportRun, NewExportRun } from '../../store/exports/export-run-record.ts';
import { exportRuns as stored, insertExportRun } from '../../store/exports/export-runs.ts';
import { wholeSeconds } from '../http/whole-seconds.ts';
import { servedRuns, showOfOthers } from '../jobs/runs.ts';
import { stageOf } from '../jobs/show-stage.ts';
import { followExporterSoon } from '../jobs/start-soon.ts';
import { knownExporter, showExporter } from './exporter-record.ts';

export const exportRuns = servedRuns({
  runs: stored,
  insert: (tx, { entityId, id: exporterId }, run: Omit<NewExportRun, 'exporterId'>) =>
    insertExportRun(tx, entityId, { ...run, exporterId }),
  ownerKind: 'data_exporter',
  knownOwner: knownExporter,
  showOwner: showExporter,
  followOwner: followExporterSoon,
  pathOf: (exporter) => `/api/data_exporters/${exporter}/runs`,
  async show(db, entityId, runs): Promise<api.ExportRun[]> {
    const ids = runs.map(({ id }) => id);
    const records = Map.groupBy(await listExportRecords(db, entityId, ids), ({ runId }) => runId);
    const ofOthers = await showOfOthers(db, 'export', entityId, runs, ({ rerunOf }) => rerunOf);
    return runs.map((run) => {
      const { root, alerted, internalError } = ofOthers(run);
      return { ...show(run, records.get(run.id) ?? [], root), alerted, internal_error: internalError };
    });
  },
});

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
