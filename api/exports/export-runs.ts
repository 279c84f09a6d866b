import { z } from 'zod';
import { EXPORT_ALERTS, EXPORT_RUN_CAUSES, EXPORT_RUN_STATES } from '../../domain/exports/exporter.ts';
import { identifier, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { Export } from './data-exporters.ts';

const instant = z.iso.datetime().nullable();

/** How a run of an exporter stands. */
export const ExportRun = z.object({
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
}).meta({ id: 'ExportRun' });
export type ExportRun = z.output<typeof ExportRun>;

/** The runs of an exporter, and what each of them exported. */
const SHARED = { tag: 'Data exporters', right: ['sor_manage', 'usage_analytics_view'] } as const;
const PATH = '/api/data_exporters/:exporter_id';
const params = z.object({ exporter_id: identifier, run_id: identifier });

export const viewExport = operation({
  id: 'viewExport',
  ...SHARED,
  method: 'GET',
  path: `${PATH}/exports/:export_identifier`,
  summary: 'Get what a run exported of one data type',
  description: 'The answer has no envelope.',
  params: z.object({ exporter_id: identifier, export_identifier: identifier }),
  result: Export,
  bare: true,
});

export const listExportRuns = operation({
  id: 'listExportRuns',
  ...SHARED,
  method: 'GET',
  path: `${PATH}/runs`,
  summary: 'List the runs of an exporter, newest first',
  params: z.object({ exporter_id: identifier }),
  query: z.object(pageQuery),
  result: pageOf(ExportRun),
});

export const viewExportRun = operation({
  id: 'viewExportRun',
  ...SHARED,
  method: 'GET',
  path: `${PATH}/runs/:run_id`,
  summary: 'Get the status of a run of an exporter',
  params,
  result: ExportRun,
});

export const FoundExportRun = ExportRun.extend({ exporter: z.string() }).meta({ id: 'FoundExportRun' });
export type FoundExportRun = z.output<typeof FoundExportRun>;

export const findExportRun = operation({
  id: 'findExportRun',
  ...SHARED,
  method: 'GET',
  path: '/api/export_runs/:run_id',
  summary: 'Get an export run and its exporter',
  params: z.object({ run_id: identifier }),
  result: FoundExportRun,
});

export const cancelExportRun = operation({
  id: 'cancelExportRun',
  ...SHARED,
  method: 'POST',
  path: `${PATH}/runs/:run_id/cancel`,
  summary: 'Cancel a run; what it has written stays',
  description: 'No manifest tells of what it has written, and the next run exports its window. A canceled rerun leaves what was there.',
  audits: 'update export_run',
  params,
  result: ExportRun,
});

const exporterParams = z.object({ exporter_id: identifier });

export const runDataExporter = operation({
  id: 'runDataExporter',
  ...SHARED,
  method: 'POST',
  path: `${PATH}/runs`,
  summary: 'Run an export now, from the end of the last successful window',
  description: 'Also of an exporter that is not active, or is paused: so a mended one is tried. It begins once the run under way has '
    + 'ended, and 30 s from now at the earliest, when all that was received until now is committed.',
  audits: 'create export_run',
  params: exporterParams,
  result: ExportRun,
});

export const rerunExport = operation({
  id: 'rerunExport',
  ...SHARED,
  method: 'POST',
  path: `${PATH}/runs/:run_id/rerun`,
  summary: 'Rerun the export of a window',
  description: 'As the exporter is now. The new manifest takes the place of the old one, in one go; where the next run begins stays.',
  audits: 'create export_run',
  params: z.object({ exporter_id: identifier, run_id: identifier }),
  result: ExportRun,
});

const day = text({ max: 10 }).describe('A day of the entity\'s zone, such as 2026-01-31');

export const backfillExports = operation({
  id: 'backfillExports',
  ...SHARED,
  method: 'POST',
  path: `${PATH}/backfills`,
  summary: 'Backfill: export the days from one to another, both included',
  description: 'By when events happened, into a folder of its own: backfill/<from>_<to>. Daily runs go on as they would without it.',
  audits: 'create export_run',
  params: exporterParams,
  body: z.object({ from: day, to: day }),
  result: ExportRun,
});
