import { z } from 'zod';
import { RUN_ERROR_TYPES } from '../../domain/imports/import-error-type.ts';
import { RUN_CAUSES } from '../../domain/syncs/sync-codes.ts';
import { customerId, identifier, queryFlag } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';

const instant = z.iso.datetime().nullable();

/** How a run of a sync stands. */
export const SyncRun = z.object({
  run_id: z.string(),
  cause: z.enum(RUN_CAUSES),
  state: z.enum(['accepted', 'running', 'finished', 'failed', 'canceled']),
  scheduled_for: instant,
  missed: z.int().describe('Scheduled times that this run stands for besides its own'),
  dry_run: z.boolean().describe('It tells what a run would do, and writes nothing'),
  fresh: z.boolean().describe('Reads from the beginning and writes each record again'),
  redrive_of: z.string().nullable().describe('The run whose failed records it brings again'),
  received_at: z.iso.datetime(),
  started_at: instant,
  ended_at: instant,
  records: z.object({ read: z.int(), written: z.int(), unchanged: z.int(), ignored: z.int(), failed: z.int() })
    .describe('read = written + unchanged + ignored + failed'),
  errors_by_type: z.record(z.string(), z.int()),
  open: z.int().nullable().describe('Failed and ignored records that no re-drive has brought since; null in lists'),
  bytes: z.int().describe('As they came from the source'),
  progress: z.number().min(0).max(1).nullable()
    .describe('Share of the source that was read, from 0 to 1; an estimate. Null if the source cannot tell'),
  expected_end_at: instant.describe('When the run ends at its speed so far; null unless it is running and has a progress'),
  rate: z.number().nullable().describe('Records per second since the start'),
  cursor_before: z.unknown().describe('Where it began'),
  cursor: z.unknown().describe('Where it is: all before it is done'),
  removed: z.int().describe('Records that the source has no more'),
  removal: z.object({ state: z.enum(['done', 'held', 'skipped']), reason: z.string().nullable() }).nullable(),
  schema_change: z.object({
    added: z.array(z.object({ name: z.string(), type: z.string() })),
    removed: z.array(z.string()),
    retyped: z.array(z.object({ name: z.string(), from: z.string(), to: z.string() })),
  }).nullable().describe('How the source\'s fields differ from those known before'),
  unmapped_fields: z.array(z.string()).describe('Fields that went nowhere: the System of Record has no attribute of theirs'),
  missing_fields: z.array(z.string()).describe('Fields that the mapping names and the source does not tell of: mostly misspelt'),
  fault: z.string().nullable().describe('Why the source can\'t be read for now'),
  tries: z.int().describe('How often it was tried since it last brought something'),
  waits_until: instant,
  failure: z.object({ status: z.string(), message: z.string() }).nullable(),
  alert: z.enum(['failed', 'paused', 'recovered', 'records', 'held']).nullable().describe('What was to be mailed'),
  mail: z.object({ state: z.enum(['sending', 'sent', 'not_sent', 'unknown']), tries: z.int(), reason: z.string().nullable() }).nullable(),
}).meta({ id: 'SyncRun' });
export type SyncRun = z.output<typeof SyncRun>;

/** The runs of a sync. */
const SHARED = { tag: 'Syncs', right: 'sor_manage' } as const;
const PATH = '/api/syncs/:sync_id/runs';
const params = z.object({ sync_id: identifier, run_id: identifier });

export const listSyncRuns = operation({
  id: 'listSyncRuns',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List the runs of a sync, newest first',
  description: 'Runs are kept for 30 days after their end.',
  params: z.object({ sync_id: identifier }),
  query: z.object(pageQuery),
  result: pageOf(SyncRun),
});

export const viewSyncRun = operation({
  id: 'viewSyncRun',
  ...SHARED,
  method: 'GET',
  path: `${PATH}/:run_id`,
  summary: 'Get the status of a run of a sync',
  params,
  result: SyncRun,
});

export const FoundSyncRun = SyncRun.extend({ sync_id: z.string() }).meta({ id: 'FoundSyncRun' });
export type FoundSyncRun = z.output<typeof FoundSyncRun>;

export const findSyncRun = operation({
  id: 'findSyncRun',
  ...SHARED,
  method: 'GET',
  path: '/api/sync_runs/:run_id',
  summary: 'Get a sync run and its sync',
  params: z.object({ run_id: identifier }),
  result: FoundSyncRun,
});

export const cancelSyncRun = operation({
  id: 'cancelSyncRun',
  ...SHARED,
  method: 'POST',
  path: `${PATH}/:run_id/cancel`,
  summary: 'Cancel a run; what it has written stays',
  description: 'What it has written stays; the next run of an incremental sync goes on where it was.',
  audits: 'update sync_run',
  params,
  result: SyncRun,
});

export const redriveSyncRun = operation({
  id: 'redriveSyncRun',
  ...SHARED,
  method: 'POST',
  path: `${PATH}/:run_id/redrive`,
  summary: 'Re-drive the failed records of a run',
  description: 'As they were read, through the mapping and into the attributes as they are now. A record of which a run since has '
    + 'brought a later state is left out; so is what could not be read as a record.',
  audits: 'create sync_run',
  params,
  result: SyncRun,
});

export const SyncLog = z.object({ lines: z.array(z.object({ at: z.iso.datetime(), line: z.string() })) }).meta({ id: 'SyncLog' });
export type SyncLog = z.output<typeof SyncLog>;

export const readSyncLog = operation({
  id: 'readSyncLog',
  ...SHARED,
  method: 'GET',
  path: `${PATH}/:run_id/log`,
  summary: 'Read the log of a run',
  audits: 'read sync_run',
  params,
  result: SyncLog,
});

export const SampledRecord = z.object({
  line: z.int().describe('The record\'s ordinal, from 1'),
  outcome: z.enum(['written', 'unchanged', 'ignored', 'failed']),
  customer_id: z.string().nullable(),
  changes: z.array(z.object({ key: z.string(), before: z.unknown(), after: z.unknown() })).optional().describe('Of attributes'),
  record: z.unknown().optional().describe('Of another destination: as it would be sent'),
  message: z.string().optional(),
}).meta({ id: 'SampledRecord' });
export type SampledRecord = z.output<typeof SampledRecord>;

export const viewDryRunSample = operation({
  id: 'viewDryRunSample',
  ...SHARED,
  method: 'GET',
  path: `${PATH}/:run_id/sample`,
  summary: 'Preview what a dry run would change, record by record',
  audits: 'read sync_run',
  params,
  result: z.object({ records: z.array(SampledRecord) }),
});

/** The records of a run that were not written, or not wholly, each with the reason. */
const ERRORS = {
  tag: 'Syncs', right: 'sor_manage', method: 'GET',
  params: z.object({ sync_id: identifier, run_id: identifier }),
  query: z.object({
    error_type: z.enum(RUN_ERROR_TYPES).optional(),
    customer_id: customerId.optional(),
    open: queryFlag.default(false).describe('Without those that a re-drive has brought since'),
  }),
} as const;

const ONE_RUN = '/api/syncs/:sync_id/runs/:run_id';

export const SyncError = z.object({
  line: z.int().describe('The record\'s ordinal in the run, from 1'),
  error_type: z.enum(RUN_ERROR_TYPES),
  outcome: z.enum(['ignored', 'failed']),
  message: z.string(),
  customer_id: z.string().nullable(),
  record_key: z.record(z.string(), z.unknown()).nullable()
    .describe('What names the record at a destination other than attributes, as the mapping is now'),
  key: z.string().nullable().describe('The attribute or field at fault'),
  record: z.string().nullable().describe('As it was read: JSON, or what should have been a record; null of an erased person\'s'),
  date: z.iso.datetime(),
  redriven_by: z.string().nullable().describe('The run that brought the record after all'),
}).meta({ id: 'SyncError' });
export type SyncError = z.output<typeof SyncError>;

export const listSyncErrors = operation({
  id: 'listSyncErrors',
  ...ERRORS,
  path: `${ONE_RUN}/errors`,
  summary: 'Read the failed and ignored records of a run, each with the reason',
  audits: 'read sync_run',
  result: z.object({ errors: z.array(SyncError) }),
});

export const SYNC_ERROR_COLUMNS = ['line', 'error_type', 'outcome', 'customer_id', 'record_key', 'key', 'reason', 'record'];

export const downloadSyncErrors = operation({
  id: 'downloadSyncErrors',
  ...ERRORS,
  path: `${ONE_RUN}/errors.csv`,
  summary: 'Get the failed and ignored records of a run as a CSV file',
  description: `The columns are ${SYNC_ERROR_COLUMNS.join(', ')}. Those of erased people are left out.`,
  audits: 'read sync_run',
  contentType: 'text/csv',
});
