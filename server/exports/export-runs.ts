import type { Export } from '../../api/exports/data-exporters.ts';
import * as api from '../../api/exports/export-runs.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { write } from '../../store/core/database.ts';
import { findExporterById } from '../../store/exports/data-exporters.ts';
import { findExportRecord } from '../../store/exports/export-files.ts';
import {
  cancelExportRun,
  countExportRuns,
  findExportRun,
  findExportRunById,
  listExportRuns,
} from '../../store/exports/export-runs.ts';
import { findNextJob } from '../../store/jobs/jobs.ts';
import { audit } from '../http/audit.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { bare } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { wholeSeconds } from '../http/whole-seconds.ts';
import { startSoon } from '../jobs/start-soon.ts';
import { knownExportRun, showExportRun, showExportRuns } from './export-run-record.ts';
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

const listTheRuns = route(
  api.listExportRuns,
  async ({ params: { exporter_id }, query, caller: { entityId } }, { db, settings }) => {
    const { id } = await knownExporter(db, entityId, exporter_id);
    const runs = await listExportRuns(db, entityId, id, rowsOf(query));
    const total = await countExportRuns(db, entityId, id);
    return showPage(
      settings,
      `/api/data_exporters/${exporter_id}/runs`,
      query,
      total,
      await showExportRuns(db, entityId, runs),
    );
  },
);

const viewRun = route(api.viewExportRun, async ({ params: { exporter_id, run_id }, caller }, { db }) => {
  return showExportRun(db, await knownExportRun(db, caller.entityId, exporter_id, run_id));
});

const findTheRun = route(api.findExportRun, async ({ params: { run_id }, caller: { entityId } }, { db }) => {
  const run = (await findExportRun(db, entityId, run_id)) ?? refuse(404, 'not_found', 'Run not found');
  const exporter = (await findExporterById(db, entityId, run.exporterId)) ?? refuse(404, 'not_found', 'Run not found');
  return { exporter: exporter.identifier, ...(await showExportRun(db, run)) };
});

const cancelTheRun = route(
  api.cancelExportRun,
  async ({ params: { exporter_id, run_id }, keepReply, log, ...who }, deps) => {
    const { entityId } = who.caller;
    const { id, exporterId } = await knownExportRun(deps.db, entityId, exporter_id, run_id);
    const answer = await write(deps.db, async (tx) => {
      const canceled = await cancelExportRun(tx, entityId, run_id);
      if (!canceled) refuse(400, 'bad_request', 'The run has ended already');
      await audit(tx, who, {
        action: 'update',
        subjectKind: 'export_run',
        subject: run_id,
        details: { change: 'canceled' },
      });
      return keepReply(tx, await showExportRun(tx, (await findExportRunById(tx, entityId, id))!));
    });
    const next = await findNextJob(deps.db, 'export', entityId, exporterId);
    if (next) await startSoon(deps, log, 'export', next);
    return answer;
  },
);

export const exportRunRoutes: Route[] = [viewExport, listTheRuns, viewRun, findTheRun, cancelTheRun];
