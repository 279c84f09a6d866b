import { z } from 'zod';
import { refuse } from '../../domain/core/refusal.ts';
import { write } from '../../store/core/database.ts';
import { findExporterById } from '../../store/exports/data-exporters.ts';
import { findExportRecord } from '../../store/exports/export-files.ts';
import {
  cancelExportRun, countExportRuns, findExportRun, findExportRunById, findNextExportRun, listExportRuns,
} from '../../store/exports/export-runs.ts';
import { audit } from '../http/audit.ts';
import { identifier } from '../http/input.ts';
import { pageOf, pageQuery, rowsOf, showPage } from '../http/page.ts';
import { bare } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { wholeSeconds } from '../http/whole-seconds.ts';
import { startSoon } from '../jobs/start-soon.ts';
import { ExportRunRecord, knownExportRun, showExportRun, showExportRuns } from './export-run-record.ts';
import { ExportRecord, knownExporter } from './exporter-record.ts';

/** The runs of an exporter, and what each of them exported. */
const SHARED = { tag: 'Data exporters', right: ['sor_manage', 'usage_analytics_view'] } as const;
const PATH = '/api/data_exporters/:exporter_id';
const params = z.object({ exporter_id: identifier, run_id: identifier });

const viewExport = route({
  ...SHARED,
  method: 'GET',
  path: `${PATH}/exports/:export_identifier`,
  summary: 'Get what a run exported of one data type',
  description: 'The answer has no envelope.',
  params: z.object({ exporter_id: identifier, export_identifier: identifier }),
  result: ExportRecord,
  bare: true,
  async handle({ params: { exporter_id, export_identifier }, caller: { entityId } }, { db }) {
    const exporter = await knownExporter(db, entityId, exporter_id);
    const record = await findExportRecord(db, entityId, export_identifier);
    const run = record && await findExportRunById(db, entityId, record.runId);
    if (run?.exporterId !== exporter.id) return refuse(404, 'not_found', 'Export not found');
    return bare({
      identifier: record!.identifier, date: wholeSeconds(run.window.end), type: record!.dataType, total_files: record!.files,
      total_exported: record!.rows,
    } satisfies z.input<typeof ExportRecord>);
  },
});

const listTheRuns = route({
  ...SHARED,
  method: 'GET',
  path: `${PATH}/runs`,
  summary: 'List the runs of an exporter, newest first',
  params: z.object({ exporter_id: identifier }),
  query: z.object(pageQuery),
  result: pageOf(ExportRunRecord),
  async handle({ params: { exporter_id }, query, caller: { entityId } }, { db, settings }) {
    const { id } = await knownExporter(db, entityId, exporter_id);
    const runs = await listExportRuns(db, entityId, id, rowsOf(query));
    const total = await countExportRuns(db, entityId, id);
    return showPage(settings, `/api/data_exporters/${exporter_id}/runs`, query, total, await showExportRuns(db, entityId, runs));
  },
});

const viewRun = route({
  ...SHARED,
  method: 'GET',
  path: `${PATH}/runs/:run_id`,
  summary: 'Get the status of a run of an exporter',
  params,
  result: ExportRunRecord,
  async handle({ params: { exporter_id, run_id }, caller }, { db }) {
    return showExportRun(db, await knownExportRun(db, caller.entityId, exporter_id, run_id));
  },
});

const findTheRun = route({
  ...SHARED,
  method: 'GET',
  path: '/api/export_runs/:run_id',
  summary: 'Get an export run and its exporter',
  params: z.object({ run_id: identifier }),
  result: ExportRunRecord.extend({ exporter: z.string() }),
  async handle({ params: { run_id }, caller: { entityId } }, { db }) {
    const run = await findExportRun(db, entityId, run_id) ?? refuse(404, 'not_found', 'Run not found');
    const exporter = await findExporterById(db, entityId, run.exporterId) ?? refuse(404, 'not_found', 'Run not found');
    return { exporter: exporter.identifier, ...await showExportRun(db, run) };
  },
});

const cancelTheRun = route({
  ...SHARED,
  method: 'POST',
  path: `${PATH}/runs/:run_id/cancel`,
  summary: 'Cancel a run; what it has written stays',
  description: 'No manifest tells of what it has written, and the next run exports its window. A canceled rerun leaves what was there.',
  params,
  result: ExportRunRecord,
  async handle({ params: { exporter_id, run_id }, keepReply, log, ...who }, deps) {
    const { entityId } = who.caller;
    const { id, exporterId } = await knownExportRun(deps.db, entityId, exporter_id, run_id);
    const answer = await write(deps.db, async (tx) => {
      const canceled = await cancelExportRun(tx, entityId, run_id);
      if (!canceled) refuse(400, 'bad_request', 'The run has ended already');
      await audit(tx, who, { action: 'update', subjectKind: 'export_run', subject: run_id, details: { change: 'canceled' } });
      return keepReply(tx, await showExportRun(tx, (await findExportRunById(tx, entityId, id))!));
    });
    const next = await findNextExportRun(deps.db, entityId, exporterId);
    if (next) await startSoon(deps, log, 'export', next);
    return answer;
  },
});

export const exportRunRoutes: Route[] = [viewExport, listTheRuns, viewRun, findTheRun, cancelTheRun];
