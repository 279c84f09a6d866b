/** The routes that start exports: now, again, or a backfill. */
import * as api from '../../api/exports/export-runs.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { backfillWindow, daysError } from '../../domain/exports/export-window.ts';
import { findEntityZone } from '../../store/accounts/entities.ts';
import type { Tx } from '../../store/core/database.ts';
import type { DataExporter } from '../../store/exports/data-exporter-record.ts';
import type { ExportRun, NewExportRun } from '../../store/exports/export-run-record.ts';
import { findOpenExportRun } from '../../store/exports/export-runs.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { type Route, route } from '../http/route.ts';
import { exportRuns } from './export-run-record.ts';

const runNow = route(api.runDataExporter, async ({ params: { exporter_id }, ...who }, deps) => {
  return startRun(exporter_id, who, deps, async (tx, { entityId, id }) => {
    const waiting = await findOpenExportRun(tx, entityId, id, 'waiting');
    if (waiting !== null) refuse(409, 'conflict', `A run that was asked for waits already: ${waiting}`);
    return { cause: 'request', window: { start: null, end: new Date(Math.floor(Date.now() / 1000) * 1000) } };
  });
});

const rerun = route(api.rerunExport, async ({ params: { exporter_id, run_id }, ...who }, deps) => {
  return startRun(exporter_id, who, deps, async (tx, { entityId, id }) => {
    const run = await exportRuns.known(tx, entityId, exporter_id, run_id);
    refuseUnfinished(run);
    const rerunOf = run.rerunOf ?? run.id;
    const underWay = await findOpenExportRun(tx, entityId, id, { rerunOf });
    if (underWay !== null) refuse(409, 'conflict', `A rerun of it is under way already: ${underWay}`);
    return {
      cause: 'rerun',
      rerunOf,
      days: run.days,
      window: { start: run.window.start ?? '-infinity', end: run.window.end },
    };
  });
});

function refuseUnfinished({ state, isCovered }: ExportRun): void {
  if (state === 'accepted' || state === 'running') refuse(409, 'conflict', 'The run has not ended yet');
  if (state !== 'finished') {
    refuse(
      400,
      'bad_request',
      'Only a run that has finished is run again: what one of each day did not export the next one does, and ' +
        'a backfill is asked for anew',
    );
  }
  if (isCovered)
    refuse(400, 'bad_request', 'The run had nothing to export: an earlier run had exported all of its window');
}

const backfill = route(api.backfillExports, async ({ params: { exporter_id }, body: { from, to }, ...who }, deps) => {
  return startRun(exporter_id, who, deps, async (tx, { entityId, id }) => {
    const zone = await findEntityZone(tx, entityId);
    const days = { from, to };
    const error = daysError(days, zone, new Date());
    if (error) refuseField(error.element, error.message);
    const underWay = await findOpenExportRun(tx, entityId, id, { days });
    if (underWay !== null) refuse(409, 'conflict', `A backfill of these days is under way already: ${underWay}`);
    return { cause: 'backfill', days, window: backfillWindow(days, zone) };
  });
});

type Who = Parameters<typeof exportRuns.start>[1];
type Plan = (tx: Tx, exporter: DataExporter) => Promise<Omit<NewExportRun, 'exporterId'>>;

function startRun(exporterId: string, who: Who, deps: RouteDependencies, plan: Plan) {
  return exportRuns.start(deps, who, exporterId, async (tx, exporter) => {
    const run = await plan(tx, exporter);
    return { run, details: { cause: run.cause } };
  });
}

export const exportActionRoutes: Route[] = [runNow, rerun, backfill];
