/** The routes of export runs: list, view, find, cancel. */
import type { Export } from '../../api/exports/data-exporters.ts';
import * as api from '../../api/exports/export-runs.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { findExportRecord } from '../../store/exports/export-files.ts';
import { findExportRunById } from '../../store/exports/export-runs.ts';
import { bare } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { wholeSeconds } from '../http/whole-seconds.ts';
import { exportRuns as runs } from './export-run-record.ts';
import { knownExporter } from './exporter-record.ts';

const viewExport = route(
  api.viewExport,
  async ({ params: { exporter_id, export_identifier }, caller: { entityId } }, { db }) => {
    const exporter = await knownExporter(db, entityId, exporter_id);
    const record = await findExportRecord(db, entityId, export_identifier);
    const run = record && (await findExportRunById(db, entityId, record.runId));
    if (run?.exporterId !== exporter.id) return refuse(404, 'not_found', 'Export not found');
    return bare({
      identifier: record!.identifier,
      date: wholeSeconds(run.window.end),
      type: record!.dataType,
      total_files: record!.files,
      total_exported: record!.rows,
    } satisfies Export);
  },
);

const listTheRuns = route(api.listExportRuns, ({ params: { exporter_id }, query, caller }, deps) =>
  runs.list(deps, caller.entityId, exporter_id, query),
);

const viewRun = route(api.viewExportRun, ({ params: { exporter_id, run_id }, caller }, deps) =>
  runs.view(deps, caller.entityId, exporter_id, run_id),
);

const findTheRun = route(api.findExportRun, async ({ params: { run_id }, caller }, deps) => {
  const { owner, shown } = await runs.find(deps, caller.entityId, run_id);
  return { exporter: owner, ...shown };
});

const cancelTheRun = route(api.cancelExportRun, ({ params: { exporter_id, run_id }, ...who }, deps) =>
  runs.cancel(deps, who, exporter_id, run_id),
);

export const exportRunRoutes: Route[] = [viewExport, listTheRuns, viewRun, findTheRun, cancelTheRun];
