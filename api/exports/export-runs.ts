/** Runs of data exporters: list, view, cancel, repeat, backfill. */
import { z } from 'zod';
import { EXPORT_ALERTS, EXPORT_RUN_CAUSES, EXPORT_RUN_STATES } from '../../domain/exports/exporter.ts';
import { identifier, text } from '../core/input.ts';
import { alertedConnections, mailAttempt } from '../core/mail.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { internalError } from '../jobs/internal-error.ts';
import { stage } from '../jobs/stage.ts';
import { Export } from './data-exporters.ts';

const instant = z.iso.datetime().nullable();

export const ExportRun = z
  .object({
    identifier: z.string(),
    cause: z.enum(EXPORT_RUN_CAUSES),
    state: z.enum(EXPORT_RUN_STATES),
    stage,
    window: z.object({
      kind: z
        .enum(['received', 'happened'])
        .describe('received: rows by time of receipt; happened (backfills): by time of the event'),
      start: instant.describe('Null: from the first data on, or not known before the run starts'),
      end: z.iso.datetime().describe('Exclusive'),
    }),
    days: z
      .object({ from: z.string(), to: z.string() })
      .nullable()
      .describe('First and last day of a backfill and its reruns; else null'),
    covered: z.boolean().describe('True: an earlier run had exported the whole window, so this run wrote nothing'),
    rerun_of: z.string().nullable().describe('The run whose window this run exports again'),
    scheduled_for: instant,
    covers: z.array(z.iso.datetime()).describe('Other scheduled times that this run makes up for'),
    received_at: z.iso.datetime(),
    started_at: instant,
    ended_at: instant,
    attempt: z.int().describe('Number of the attempt, and of its folder in the bucket'),
    rows: z.int().describe('Number of rows in files that are in the bucket'),
    types: z
      .array(
        z.object({
          identifier: z.string(),
          type: z.string(),
          expected: z.int().nullable().describe('Number of rows counted before the run wrote the first one'),
          ambiguous_sets: z
            .int()
            .nullable()
            .describe(
              'Number of Sets that cannot be read back from CSV, counted with expected; null: other types and formats, or not counted',
            ),
          rows: z.int(),
          files: z.int(),
          done: z.boolean(),
          late_rows: z
            .int()
            .nullable()
            .describe('Number of rows that came after the export of the window; null: not counted yet, or unknown'),
        }),
      )
      .describe('In the order in which the run writes them'),
    internal_error: internalError,
    fault: z.string().nullable().describe('Why the run cannot write to the bucket at present; null if it can'),
    tries: z.int().describe('Number of failed tries in a row'),
    waits_until: instant.describe('When the run tries again'),
    failure: z.object({ status: z.string(), message: z.string() }).nullable(),
    manifest_key: z.string().nullable(),
    published_at: instant.describe('When the run had written the manifest'),
    alert: z
      .enum(EXPORT_ALERTS)
      .nullable()
      .describe('The mail that the run caused; late: rows came after the export of their window'),
    mail: mailAttempt.nullable(),
    alerted: alertedConnections,
  })
  .meta({ id: 'ExportRun' });
export type ExportRun = z.output<typeof ExportRun>;

const SHARED = { tag: 'Data exporters', right: ['sor_manage', 'usage_analytics_view'] } as const;
const PATH = '/api/data_exporters/:exporter_id';
const params = z.object({ exporter_id: identifier, run_id: identifier });

export const viewExport = operation({
  id: 'viewExport',
  ...SHARED,
  method: 'GET',
  path: `${PATH}/exports/:export_identifier`,
  summary: 'Get the export of one data type by a run',
  description: 'The response has no envelope.',
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
  summary: 'Cancel a run of an exporter',
  description:
    'Millrace deletes the files that the run has written. The next run exports the window of a canceled daily or requested ' +
    'run. A canceled rerun does not change the earlier export.',
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
  summary: 'Run an export now',
  description:
    'Exports from the end of the last successful window until now, also if the exporter is inactive or paused. The run ' +
    'starts once a run under way has ended and all data received until now is committed: after 30 seconds at the earliest.',
  audits: 'create export_run',
  params: exporterParams,
  result: ExportRun,
});

export const rerunExport = operation({
  id: 'rerunExport',
  ...SHARED,
  method: 'POST',
  path: `${PATH}/runs/:run_id/rerun`,
  summary: 'Export the window of a run again',
  description:
    'Uses the current settings of the exporter. The new manifest replaces the old one in one step. The next run begins ' +
    'where it would without the rerun.',
  audits: 'create export_run',
  params: z.object({ exporter_id: identifier, run_id: identifier }),
  result: ExportRun,
});

const day = text({ max: 10 }).describe("Day in the entity's time zone, such as 2026-01-31");

export const backfillExports = operation({
  id: 'backfillExports',
  ...SHARED,
  method: 'POST',
  path: `${PATH}/backfills`,
  summary: 'Backfill: export what happened on past days',
  description:
    'Exports the days from one to the other, both included, into the folder backfill/<from>_<to>. Daily runs do not change.',
  audits: 'create export_run',
  params: exporterParams,
  body: z.object({ from: day, to: day }),
  result: ExportRun,
});
