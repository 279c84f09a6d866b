import { z } from 'zod';
import { RUN_ERROR_TYPES } from '../../domain/imports/import-error-type.ts';
import { write } from '../../store/core/database.ts';
import { type StoredImportError, streamImportErrors } from '../../store/imports/import-errors.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { SyncRun } from '../../store/syncs/sync-run-record.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { customerId, identifier, queryFlag } from '../http/input.ts';
import { streamedCsvFile, streamedResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { type RecordKey, recordKeys } from './record-key.ts';
import { knownSync } from './sync-record.ts';
import { knownRun } from './sync-run.ts';

/** The records of a run that were not written, or not wholly, each with the reason. */
const SHARED = {
  tag: 'Syncs', right: 'sor_manage', method: 'GET',
  params: z.object({ sync_id: identifier, run_id: identifier }),
  query: z.object({
    error_type: z.enum(RUN_ERROR_TYPES).optional(),
    customer_id: customerId.optional(),
    open: queryFlag.default(false).describe('Without those that a re-drive has brought since'),
  }),
} as const;
const PATH = '/api/syncs/:sync_id/runs/:run_id';

const RecordError = z.object({
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
});

const listErrors = route({
  ...SHARED,
  path: `${PATH}/errors`,
  summary: 'Read the failed and ignored records of a run, each with the reason',
  result: z.object({ errors: z.array(RecordError) }),
  async handle({ params: { sync_id, run_id }, query, caller, address }, deps) {
    const { run, sync } = await readableRun(deps, sync_id, run_id, { caller, address });
    const keyOf = recordKeys(sync);
    return streamedResult('errors', each(errorsOf(deps, run, query), (error) => showError(error, keyOf(error))));
  },
});

const HEADER = ['line', 'error_type', 'outcome', 'customer_id', 'record_key', 'key', 'reason', 'record'];

const readErrorsFile = route({
  ...SHARED,
  path: `${PATH}/errors.csv`,
  summary: 'Get the failed and ignored records of a run as a CSV file',
  description: `The columns are ${HEADER.join(', ')}. Those of erased people are left out.`,
  contentType: 'text/csv',
  async handle({ params: { sync_id, run_id }, query, caller, address }, deps) {
    const { run, sync } = await readableRun(deps, sync_id, run_id, { caller, address });
    return streamedCsvFile(`errors-${run.identifier}`, HEADER, rows(errorsOf(deps, run, query), recordKeys(sync)));
  },
});

type Query = { error_type?: StoredImportError['errorType'] | undefined; customer_id?: string | undefined; open: boolean };

function errorsOf({ db }: RouteDependencies, { entityId, id }: SyncRun, query: Query): AsyncGenerator<StoredImportError> {
  return streamImportErrors(db, entityId, id, { errorType: query.error_type, customerId: query.customer_id, isOpen: query.open });
}

function readableRun(
  { db }: RouteDependencies, syncId: string, runId: string, who: { caller: Caller; address: string },
): Promise<{ run: SyncRun; sync: Sync }> {
  return write(db, async (tx) => {
    const run = await knownRun(tx, who.caller.entityId, syncId, runId);
    await audit(tx, who, { action: 'read', subjectKind: 'sync_run', subject: run.identifier, details: { what: 'errors' } });
    return { run, sync: await knownSync(tx, who.caller.entityId, syncId) };
  });
}

function showError(error: StoredImportError, recordKey: RecordKey | null): z.input<typeof RecordError> {
  return {
    line: error.line, error_type: error.errorType, outcome: error.outcome, message: error.message, customer_id: error.customerId,
    record_key: recordKey, key: error.attributeKey, record: error.raw, date: error.happenedAt.toISOString(), redriven_by: error.redrivenBy,
  };
}

async function* each<T, U>(items: AsyncIterable<T>, show: (item: T) => U): AsyncGenerator<U> {
  for await (const item of items) yield show(item);
}

async function* rows(errors: AsyncIterable<StoredImportError>, keyOf: ReturnType<typeof recordKeys>): AsyncGenerator<string[]> {
  for await (const error of errors) {
    if (error.customerHash !== null) continue;
    const key = keyOf(error);
    yield [
      String(error.line), error.errorType, error.outcome, error.customerId ?? '', key === null ? '' : JSON.stringify(key),
      error.attributeKey ?? '', error.message, error.raw ?? '',
    ];
  }
}

export const syncErrorRoutes: Route[] = [listErrors, readErrorsFile];
