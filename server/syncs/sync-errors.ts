/** The routes of a run's errors: as a list, or as a file. */
import * as api from '../../api/syncs/sync-runs.ts';
import { isOfErased } from '../../domain/imports/import-error.ts';
import { prepareMapping, type SourceRecord } from '../../domain/syncs/record-mapping.ts';
import { write } from '../../store/core/database.ts';
import { type StoredImportError, streamImportErrors } from '../../store/imports/import-errors.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { SyncRun } from '../../store/syncs/sync-run-record.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { streamedCsvFile, streamedResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { knownSync } from './sync-record.ts';
import { syncRuns } from './sync-run-record.ts';

type RecordKey = Record<string, unknown>;

/** Maximum length of a key (docs/syncs.md). */
const MAX_CHARS = 1_000;

/** Returns the record's key, read from the shown record: nothing is left once it is gone, as after an erasure. */
function recordKeys({ destination, mapping }: Sync): (error: StoredImportError) => RecordKey | null {
  if ('sorId' in destination || destination.key.length === 0) return () => null;
  const { key } = destination;
  const map = prepareMapping(mapping, { keepsCustomer: true });
  return ({ raw, stage }) => {
    const record = stage === 'parsing' ? null : recordOf(raw);
    if (record === null) return null;
    const values = new Map(map(record).values);
    const named = key.flatMap((field) =>
      (values.get(field) ?? null) === null ? [] : [[field, values.get(field)!] as const],
    );
    return named.length === 0 || JSON.stringify(named).length > MAX_CHARS ? null : Object.fromEntries(named);
  };
}

/** Returns null for a record that was not kept whole. */
function recordOf(raw: string | null): SourceRecord | null {
  if (raw === null) return null;
  try {
    const record = JSON.parse(raw) as unknown;
    return typeof record === 'object' && record !== null && !Array.isArray(record) ? (record as SourceRecord) : null;
  } catch {
    return null;
  }
}

const listErrors = route(api.listSyncErrors, async ({ params: { sync_id, run_id }, query, ...who }, deps) => {
  const { run, sync } = await readableRun(deps, sync_id, run_id, who);
  const keyOf = recordKeys(sync);
  return streamedResult(
    'errors',
    deps.streamedLists.within(
      who,
      each(errorsOf(deps, run, query), (error) => showError(error, keyOf(error))),
    ),
  );
});

const readErrorsFile = route(api.downloadSyncErrors, async ({ params: { sync_id, run_id }, query, ...who }, deps) => {
  const { run, sync } = await readableRun(deps, sync_id, run_id, who);
  const lines = deps.streamedLists.within(who, rows(errorsOf(deps, run, query), recordKeys(sync)));
  return streamedCsvFile(`errors-${run.identifier}`, api.SYNC_ERROR_COLUMNS, lines);
});

type Query = {
  error_type?: StoredImportError['errorType'] | undefined;
  customer_id?: string | undefined;
  open: boolean;
  after?: number | undefined;
  limit?: number | undefined;
};

function errorsOf(
  { db }: RouteDependencies,
  { entityId, id }: SyncRun,
  query: Query,
): AsyncGenerator<StoredImportError> {
  const filter = { errorType: query.error_type, customerId: query.customer_id, isOpen: query.open };
  return streamImportErrors(db, entityId, id, filter, query);
}

function readableRun(
  { db }: RouteDependencies,
  syncId: string,
  runId: string,
  who: { caller: Caller; address: string },
): Promise<{ run: SyncRun; sync: Sync }> {
  return write(db, async (tx) => {
    const run = await syncRuns.known(tx, who.caller.entityId, syncId, runId);
    await audit(tx, who, {
      action: 'read',
      subjectKind: 'sync_run',
      subject: run.identifier,
      details: { what: 'errors' },
    });
    return { run, sync: await knownSync(tx, who.caller.entityId, syncId) };
  });
}

function showError(error: StoredImportError, recordKey: RecordKey | null): api.SyncError {
  return {
    line: error.line,
    error_type: error.errorType,
    outcome: error.outcome,
    message: error.message,
    customer_id: error.customerId,
    record_key: recordKey,
    key: error.attributeKey,
    record: error.raw,
    date: error.happenedAt.toISOString(),
    redriven_by: error.redrivenBy,
  };
}

async function* each<T, U>(items: AsyncIterable<T>, show: (item: T) => U): AsyncGenerator<U> {
  for await (const item of items) yield show(item);
}

async function* rows(
  errors: AsyncIterable<StoredImportError>,
  keyOf: ReturnType<typeof recordKeys>,
): AsyncGenerator<string[]> {
  for await (const error of errors) {
    if (isOfErased(error)) continue;
    const key = keyOf(error);
    yield [
      String(error.line),
      error.errorType,
      error.outcome,
      error.customerId ?? '',
      key === null ? '' : JSON.stringify(key),
      error.attributeKey ?? '',
      error.message,
      error.raw ?? '',
    ];
  }
}

export const syncErrorRoutes: Route[] = [listErrors, readErrorsFile];
