/** Runs of syncs: list, view, cancel, repeat failed records, errors, log and sample of a dry run. */
import { z } from 'zod';
import { RUN_ERROR_TYPES } from '../../domain/imports/import-error-type.ts';
import { RUN_CAUSES } from '../../domain/syncs/sync-codes.ts';
import { customerId, identifier, queryFlag, queryInteger } from '../core/input.ts';
import { alertedConnections, mailAttempt } from '../core/mail.ts';
import { operation } from '../core/operation.ts';
import { SUSPICIOUS } from '../core/suspicious-ids.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { internalError } from '../jobs/internal-error.ts';
import { stage } from '../jobs/stage.ts';

const instant = z.iso.datetime().nullable();

export const SyncRun = z
  .object({
    run_id: z.string(),
    cause: z.enum(RUN_CAUSES),
    state: z.enum(['accepted', 'running', 'finished', 'failed', 'canceled']),
    stage,
    scheduled_for: instant,
    missed: z.int().describe('Number of other scheduled times that this run makes up for'),
    dry_run: z.boolean().describe('True: the run reports what it would do, and writes nothing'),
    fresh: z.boolean().describe('True: the run reads from the beginning and writes each record again'),
    redrive_of: z.string().nullable().describe('The run whose failed and ignored records this run sends again'),
    received_at: z.iso.datetime(),
    started_at: instant,
    ended_at: instant.describe(
      'When the run ended. Its counts are final from then on: a canceled run still counts its last batch before',
    ),
    records: z
      .object({ read: z.int(), written: z.int(), unchanged: z.int(), ignored: z.int(), failed: z.int() })
      .describe('Numbers of records: read = written + unchanged + ignored + failed'),
    errors_by_type: z.record(z.string(), z.int()).describe('Numbers of failed and ignored records, by error type'),
    suspicious_ids: z.int().describe(`Number of records taken ${SUSPICIOUS}`),
    deletions_ignored: z
      .int()
      .describe('Number of the ignored records that the source has deleted: a sync without removes removes nothing'),
    open: z
      .int()
      .nullable()
      .describe(
        'Number of failed and ignored records that no re-drive has settled, without those of erased people; null in lists',
      ),
    bytes: z.int().describe('Bytes that came from the source'),
    requests: z
      .int()
      .describe('Number of HTTP requests to source and destination, without those of commands and of S3'),
    progress: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .describe(
        'Share of the source that the run has read, from 0 to 1: an estimate. Null if the source does not report its size',
      ),
    expected_end_at: instant.describe(
      'Estimated end at the speed so far; null if the run is not running or has no progress',
    ),
    rate: z.number().nullable().describe('Records per second since the start'),
    cursor_before: z.unknown().describe("Cursor at the start of the run, in the source's own form"),
    cursor: z.unknown().describe('Cursor now: the run has finished all records before it'),
    removed: z.int().describe('Number of records removed because the source no longer has them'),
    removal: z
      .object({ state: z.enum(['done', 'held', 'skipped']), reason: z.string().nullable() })
      .nullable()
      .describe(
        'held: more than removal_limit vanished; skipped: records failed that nothing identifies; null: no removal was due. ' +
          'The reason of done describes records that stayed',
      ),
    schema_change: z
      .object({
        added: z.array(z.object({ name: z.string(), type: z.string() })),
        removed: z.array(z.string()),
        retyped: z.array(z.object({ name: z.string(), from: z.string(), to: z.string() })),
      })
      .nullable()
      .describe("How the source's fields differ from the known ones; null if they do not"),
    unmapped_fields: z
      .array(z.string())
      .describe('Fields without an attribute in the System of Record, which the run left out; at most 100'),
    missing_fields: z
      .array(z.string())
      .describe('Fields that the mapping names but the source does not report, such as misspelt ones'),
    odd_cursors: z
      .int()
      .describe(
        "Number of records whose cursor value is NaN, infinite, or over a day ahead of the source's clock. " +
          'Each run reads them again; they never move the cursor',
      ),
    internal_error: internalError,
    fault: z.string().nullable().describe('Why the run waits for its source or destination; null if it does not'),
    tries: z.int().describe('Number of failed tries since the run last made progress. A wait for a quota is none'),
    waits_until: instant.describe('When the run tries again, or continues after a wait for a quota'),
    failure: z.object({ status: z.string(), message: z.string() }).nullable(),
    alert: z
      .enum(['failed', 'paused', 'recovered', 'records', 'held', 'fields'])
      .nullable()
      .describe(
        'The mail that the run caused. records: too many failed records; held: the run removed nothing; fields: the source has lost ' +
          'fields that the mapping names',
      ),
    mail: mailAttempt.nullable(),
    alerted: alertedConnections,
  })
  .meta({ id: 'SyncRun' });
export type SyncRun = z.output<typeof SyncRun>;

const SHARED = { tag: 'Syncs', right: 'sor_manage' } as const;
const PATH = '/api/syncs/:sync_id/runs';
const params = z.object({ sync_id: identifier, run_id: identifier });

export const listSyncRuns = operation({
  id: 'listSyncRuns',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List the runs of a sync, newest first',
  description: 'Millrace keeps a run for 30 days after its end.',
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
  summary: 'Cancel a run of a sync',
  description:
    'Records that the run has written stay. The next run of an incremental sync continues where this one stopped.',
  audits: 'update sync_run',
  params,
  result: SyncRun,
});

export const redriveSyncRun = operation({
  id: 'redriveSyncRun',
  ...SHARED,
  method: 'POST',
  path: `${PATH}/:run_id/redrive`,
  summary: 'Re-drive the failed and ignored records of a run',
  description:
    'Starts a run that sends the records as they were read, through the current mapping. It does not send records that ' +
    'could not be parsed, and records that a later run has sent in a newer state.',
  audits: 'create sync_run',
  params,
  result: SyncRun,
});

export const SyncLog = z
  .object({ lines: z.array(z.object({ at: z.iso.datetime(), line: z.string() })) })
  .meta({ id: 'SyncLog' });
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

export const SampledRecord = z
  .object({
    line: z.int().describe('Ordinal of the record, from 1'),
    outcome: z.enum(['written', 'unchanged', 'ignored', 'failed']),
    customer_id: z.string().nullable(),
    changes: z
      .array(z.object({ key: z.string(), before: z.unknown(), after: z.unknown() }))
      .optional()
      .describe('Changed attributes'),
    record: z.unknown().optional().describe('For another destination: the record as a run would send it'),
    message: z.string().optional(),
  })
  .meta({ id: 'SampledRecord' });
export type SampledRecord = z.output<typeof SampledRecord>;

export const viewDryRunSample = operation({
  id: 'viewDryRunSample',
  ...SHARED,
  method: 'GET',
  path: `${PATH}/:run_id/sample`,
  summary: 'Preview the changes of a dry run, record by record',
  audits: 'read sync_run',
  params,
  result: z.object({ records: z.array(SampledRecord) }),
});

export const SyncRequest = z
  .object({
    sent_at: z.iso.datetime(),
    method: z.string(),
    path: z.string().describe('Of the address, without the query; decoded'),
    status: z.int().nullable().describe('Null if no answer came'),
    milliseconds: z.int().describe("Time to the end of the answer's headers"),
  })
  .meta({ id: 'SyncRequest' });
export type SyncRequest = z.output<typeof SyncRequest>;

export const listSyncRequests = operation({
  id: 'listSyncRequests',
  ...SHARED,
  method: 'GET',
  path: `${PATH}/:run_id/requests`,
  summary: 'List the last HTTP requests of a run, newest first',
  description: 'A run keeps its last 1,000 requests to source and destination.',
  audits: 'read sync_run',
  params,
  result: z.object({ requests: z.array(SyncRequest) }),
});

/** The records that a run did not write, or not completely, each with the reason. */
const ERRORS = {
  tag: 'Syncs',
  right: 'sor_manage',
  method: 'GET',
  params: z.object({ sync_id: identifier, run_id: identifier }),
  query: z.object({
    error_type: z.enum(RUN_ERROR_TYPES).optional(),
    customer_id: customerId.optional(),
    open: queryFlag.default(false).describe('Only errors that no re-drive has settled, without those of erased people'),
  }),
} as const;

const ONE_RUN = '/api/syncs/:sync_id/runs/:run_id';

export const SyncError = z
  .object({
    line: z.int().describe('Ordinal of the record in the run, from 1'),
    error_type: z.enum(RUN_ERROR_TYPES),
    outcome: z.enum(['ignored', 'failed']),
    message: z.string(),
    customer_id: z.string().nullable(),
    record_key: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('Key of the record at an outside destination, by the current mapping; null for attributes'),
    key: z.string().nullable().describe('The attribute or field at fault'),
    record: z
      .string()
      .nullable()
      .describe('The record as the run read it: JSON, or malformed text; null for an erased person'),
    date: z.iso.datetime(),
    redriven_by: z.string().nullable().describe('The re-drive that settled the error'),
  })
  .meta({ id: 'SyncError' });
export type SyncError = z.output<typeof SyncError>;

export const listSyncErrors = operation({
  id: 'listSyncErrors',
  ...ERRORS,
  path: `${ONE_RUN}/errors`,
  summary: 'List the failed and ignored records of a run',
  description: 'The errors come in the order of the records: all of them, or with `limit` and `after` a page.',
  query: ERRORS.query.extend({
    limit: queryInteger({ min: 1, max: 10_000 }).optional().describe('Maximum number of errors; by default all'),
    after: queryInteger({ min: 0, max: 999_999_999_999 })
      .optional()
      .describe('Only errors behind this `line`: for the next page, the `line` of the last error'),
  }),
  audits: 'read sync_run',
  result: z.object({ errors: z.array(SyncError) }),
});

export const SYNC_ERROR_COLUMNS = [
  'line',
  'error_type',
  'outcome',
  'customer_id',
  'record_key',
  'key',
  'reason',
  'record',
];

export const downloadSyncErrors = operation({
  id: 'downloadSyncErrors',
  ...ERRORS,
  path: `${ONE_RUN}/errors.csv`,
  summary: 'Download the failed and ignored records of a run as CSV',
  description: `Columns: ${SYNC_ERROR_COLUMNS.join(', ')}. The file leaves out the records of erased people.`,
  audits: 'read sync_run',
  contentType: 'text/csv',
});
