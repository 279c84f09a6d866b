/** Imports as users see them: lists, progress, errors, error files and cancellation. */
import * as api from '../../api/imports/imports.ts';
import type { Delimiter } from '../../domain/csv/csv-bytes.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { errorFileHeader, errorFileRow } from '../../domain/imports/error-file.ts';
import type { ImportErrorType } from '../../domain/imports/import-error-type.ts';
import { type ImportFormat, templateRows } from '../../domain/imports/import-file.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { listCustomerAttributesOf } from '../../store/attributes/customer-attributes.ts';
import { findSorById, listSorNames, type SystemOfRecord } from '../../store/attributes/systems-of-records.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { findFeedRequest } from '../../store/feed/feed-requests.ts';
import {
  countSettledByType,
  findFileError,
  type StoredImportError,
  streamImportErrors,
} from '../../store/imports/import-errors.ts';
import {
  cancelImport,
  countImportDays,
  findImport,
  findImportById,
  findImportByJob,
  type Import,
  type ImportDay,
  listImports,
  listRedrives,
  streamImports,
} from '../../store/imports/imports.ts';
import { audit } from '../http/audit.ts';
import { cursorPage } from '../http/page.ts';
import { JsonText, bare, csvFile, type Reply, streamedCsvFile, streamedResult, streamedRows } from '../http/reply.ts';
import { type ApiVersion, type Route, route } from '../http/route.ts';
import { findSorOfKey, requireSor } from '../http/sor-key.ts';
import { findInternalError } from '../jobs/show-internal-error.ts';
import { stageOf } from '../jobs/show-stage.ts';

const listImportJobs = route(api.listImports, async (who, { db, streamedLists }) => {
  const members = streamedLists.shown(who, streamImports(db, who.caller.entityId), (piece) =>
    piece.map(({ identifier, receivedAt }) => new JsonText(`"${identifier}":"${toSeconds(receivedAt)}"`)),
  );
  return bare(await streamedRows('{"success":true,"result":{', members, () => '}}'));
});

const listSummaries = route(api.listImportSummaries, async ({ query, caller: { entityId } }, { db, settings }) => {
  const { sor_id: sorId, state, open: isOpen, per_page: limit, cursor } = query;
  const sor = sorId === undefined ? null : await requireSor(db, entityId, sorId);
  const filter = { sorId: sor?.id, state, isOpen };
  const found = await listImports(db, entityId, filter, cursor?.id ?? null, limit + 1);
  const path = api.listImportSummaries.path;
  const asked = { ...query, open: isOpen || undefined };
  const { rows, next } = cursorPage(
    settings,
    path,
    asked,
    found.map((job) => ({ ...job, micros: 0 })),
  );
  const sors = await listSorNames(db, entityId, [...new Set(rows.map((job) => job.sorId))]);
  return { imports: rows.map((job) => showSummary(job, sors.get(job.sorId) ?? null)), next };
});

const SHOWN_DAYS = 8;

const countRows = route(api.countImportRows, async ({ query: { sor_id: sorId }, caller: { entityId } }, { db }) => {
  const sor = sorId === undefined ? null : await requireSor(db, entityId, sorId);
  const counted = new Map((await countImportDays(db, entityId, sor?.id ?? null)).map((day) => [day.day, day]));
  const now = Date.now();
  const days = Array.from({ length: SHOWN_DAYS }, (_, index) =>
    new Date(now - (SHOWN_DAYS - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  );
  return { days: days.map((day) => showDay(day, counted.get(day))) };
});

function showDay(day: string, counted: ImportDay | undefined) {
  const { imports = 0, rowsIn = 0, rowsOk = 0, rowsIgnored = 0, rowsFailed = 0, errorsByType = {} } = counted ?? {};
  const rows = { read: rowsIn, ok: rowsOk, ignored: rowsIgnored, failed: rowsFailed };
  return { day, imports, rows, errors_by_type: errorsByType };
}

function showSummary(job: Import & { settled: number }, sor: api.ImportSummary['sor']): api.ImportSummary {
  const { url, bytes } = showSource(job);
  return {
    import_id: job.identifier,
    state: job.state,
    stage: stageOf(job),
    dry_run: job.dryRun,
    sor,
    source: { url, bytes },
    is_redrive: job.parentId !== null,
    rows: showRowsAndOpen(job, job.settled),
    received_at: job.receivedAt.toISOString(),
    started_at: job.startedAt?.toISOString() ?? null,
    ended_at: job.endedAt?.toISOString() ?? null,
  };
}

const listImportErrors = route(api.listImportErrors, async ({ query, version, ...who }, { db, streamedLists }) => {
  const { entityId } = who.caller;
  const [member, other] = version === 3 ? (['import_id', 'job_id'] as const) : (['job_id', 'import_id'] as const);
  const shown =
    query[member] ??
    refuseField(
      member,
      query[other] === undefined ? 'is required' : `is required: ${other} is for v${5 - version}, which Accept chooses`,
    );
  const { job, sor } = await write(db, async (tx) => {
    const find = version === 3 ? findImport : findImportByJob;
    const found =
      (await find(tx, entityId, shown)) ??
      (await findFeedRequest(tx, entityId, shown)) ??
      refuse(404, 'not_found', shown.startsWith('req_') ? 'Request not found' : 'Import not found');
    await audit(tx, who, { action: 'read', subjectKind: 'import', subject: found.identifier });
    return { job: found, sor: await findSorById(tx, entityId, found.sorId) };
  });
  const filter = { customerId: query.customer_id, errorType: query.error_type, isOpen: query.open };
  const record = (error: StoredImportError) => ({
    [member]: shown,
    ...(version === 3 ? { error_type: error.errorType as ImportErrorType } : {}),
    ...showError(error, sor?.identifier ?? null, 'tableLayout' in job ? job : null),
    ...(query.cells ? { cells: 'tableLayout' in job ? errorFileRow(error, columnsOf(job)) : null } : {}),
  });
  const errors = each(streamImportErrors(db, entityId, job.id, filter, query), record);
  return streamedResult('attribute_errors', streamedLists.within(who, errors));
});

const viewImport = route(api.viewImport, async ({ params, caller }, { db }) => {
  const job = (await findImport(db, caller.entityId, params.import_id)) ?? refuseUnknownImport(params.import_id);
  return viewImportProgress(db, job, new Date());
});

const cancelAnImport = route(api.cancelImport, async ({ params: { import_id }, keepReply, ...who }, { db }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const canceled = (await cancelImport(tx, entityId, import_id)) ?? refuseUnknownImport(import_id);
    if (!canceled) refuse(400, 'bad_request', 'The import has ended already');
    await audit(tx, who, { action: 'update', subjectKind: 'import', subject: import_id, details: { canceled } });
    return keepReply(tx, await viewImportProgress(tx, (await findImport(tx, entityId, import_id))!, new Date()));
  });
});

function showError(error: StoredImportError, sor: string | null, table: Table | null) {
  return {
    customer_id: error.customerId,
    key: error.attributeKey,
    sor,
    date: error.happenedAt.toISOString(),
    source: error.stage,
    message: error.message,
    raw: error.raw,
    line: error.line,
    column: table && nameOfColumn(error, table),
    redriven_by: error.redrivenBy,
  };
}

type Table = Pick<Import, 'tableLayout'>;

function nameOfColumn(error: StoredImportError, { tableLayout }: Table): string | null {
  return tableLayout?.cells.find(({ column }) => column === error.column)?.name ?? null;
}

async function* each<T, U>(rows: AsyncIterable<T>, show: (row: T) => U): AsyncGenerator<U> {
  for await (const row of rows) yield show(row);
}

function toSeconds(time: Date): string {
  return time.toISOString().slice(0, 19).replace('T', ' ');
}

const importTemplate = route(api.downloadImportTemplate, async ({ query, version }, deps) => {
  return templateOf(deps, await findSorOfKey(deps, query.sor_id, query.api_key), version);
});

const sorTemplate = route(api.downloadSorTemplate, async ({ params, caller: { entityId }, version }, deps) =>
  templateOf(deps, await requireSor(deps.db, entityId, params.sor_identifier), version),
);

async function templateOf(
  { db }: { db: Queryable },
  sor: SystemOfRecord & { entityId: number },
  version: ApiVersion,
): Promise<Reply> {
  const attributes = sor.disabled ? [] : await listCustomerAttributesOf(db, sor.entityId, [sor.id]);
  const keys = attributes.filter(({ disabled }) => !disabled).map(({ key }) => key);
  return csvFile(`template-${sor.identifier}`, templateRows(version === 3 ? 'v3' : 'v2', keys));
}

const readErrorsFile = route(api.downloadImportErrors, async ({ params, query, ...who }, { db, streamedLists }) => {
  const { entityId } = who.caller;
  const job = await write(db, async (tx) => {
    const found = (await findImport(tx, entityId, params.import_id)) ?? refuseUnknownImport(params.import_id);
    await audit(tx, who, { action: 'read', subjectKind: 'import', subject: found.identifier });
    return found;
  });
  const errors = streamImportErrors(db, entityId, job.id, { errorType: query.error_type, isOpen: true });
  const format = columnsOf(job);
  const rows = streamedLists.within(who, eachRow(errors, format));
  return streamedCsvFile(`errors-${job.identifier}`, errorFileHeader(format), rows, format.delimiter);
});

type Columns = Pick<ImportFormat, 'columns' | 'hasErrorColumns' | 'layout'> & { delimiter: Delimiter };

function columnsOf({ columns, hasErrorColumns, fileFormat, tableLayout }: Import): Columns {
  const layout = tableLayout === null ? {} : { layout: tableLayout };
  return { columns: columns ?? 4, hasErrorColumns, delimiter: fileFormat?.delimiter ?? ',', ...layout };
}

async function* eachRow(errors: AsyncIterable<StoredImportError>, format: Columns): AsyncGenerator<string[]> {
  for await (const error of errors) {
    const row = errorFileRow(error, format);
    if (row) yield row;
  }
}

export const importRoutes: Route[] = [
  countRows,
  listImportJobs,
  listSummaries,
  listImportErrors,
  viewImport,
  cancelAnImport,
  importTemplate,
  sorTemplate,
  readErrorsFile,
];

type ImportInContext = {
  job: Import;
  /** Null once deleted. */
  sor: SystemOfRecord | null;
  parent: Import | null;
  redrives: Import[];
  /** Rows that a re-drive has settled, or that were an erased person's, by type of error. */
  settledByType: Readonly<Record<string, number>>;
  failure: string | null;
  internalError: api.ImportProgress['internal_error'];
};

export async function viewImportProgress(db: Queryable, job: Import, now: Date): Promise<api.ImportProgress> {
  const { entityId, id, sorId, parentId } = job;
  const redrives = await listRedrives(db, entityId, id);
  return showImportProgress(
    {
      job,
      redrives,
      sor: await findSorById(db, entityId, sorId),
      parent: parentId === null ? null : await findImportById(db, entityId, parentId),
      settledByType: await countSettledByType(db, entityId, id),
      failure: job.state === 'failed' ? await findFileError(db, entityId, id) : null,
      internalError: await findInternalError(db, 'import', job),
    },
    now,
  );
}

export function showImportProgress(
  { job, sor, parent, redrives, settledByType, failure, internalError }: ImportInContext,
  now: Date,
): api.ImportProgress {
  const seconds = job.startedAt ? ((job.endedAt ?? now).getTime() - job.startedAt.getTime()) / 1000 : 0;
  return {
    import_id: job.identifier,
    jid: job.jid,
    state: job.state,
    stage: stageOf(job),
    dry_run: job.dryRun,
    sor: sor && { name: sor.name, identifier: sor.identifier, type: sor.type },
    version: job.version,
    source: showSource(job),
    file: showFormat(job),
    columns: showColumns(job),
    fetched_bytes: job.fetchedBytes,
    fetch: job.shownUrl === null ? null : { tries: job.fetchTries, fault: job.fetchFault },
    failure,
    internal_error: internalError,
    defect: job.file?.sourceDefect ?? null,
    rows: showRowsAndOpen(
      job,
      Object.values(settledByType).reduce((sum, count) => sum + count, 0),
    ),
    errors_by_type: job.errorsByType,
    open_by_type: openByType(job, settledByType),
    suspicious_ids: job.suspiciousIds,
    similar_ids: job.similarIds === null ? null : { count: job.similarIds, examples: job.similarIdLines ?? [] },
    bytes_read: job.nextOffset,
    next_line: job.nextLine,
    rate: seconds > 0 ? Math.round((job.rowsIn / seconds) * 10) / 10 : null,
    received_at: job.receivedAt.toISOString(),
    started_at: job.startedAt?.toISOString() ?? null,
    ended_at: job.endedAt?.toISOString() ?? null,
    expected_end_at: expectedEnd(job, seconds, now)?.toISOString() ?? null,
    parent_id: parent?.identifier ?? null,
    redrives: redrives.map((redrive) => ({
      import_id: redrive.identifier,
      state: redrive.state,
      rows: showRows(redrive),
      received_at: redrive.receivedAt.toISOString(),
    })),
    mail: job.mail,
  };
}

function showRows({ rowsIn, rowsOk, rowsIgnored, rowsFailed }: Import): api.RowCounts {
  return { read: rowsIn, ok: rowsOk, ignored: rowsIgnored, failed: rowsFailed };
}

function showRowsAndOpen(job: Import, settled: number): api.ImportProgress['rows'] {
  return { ...showRows(job), open: Math.max(0, job.rowsIgnored + job.rowsFailed - job.cellsEmpty - settled) };
}

function openByType({ errorsByType }: Import, settled: ImportInContext['settledByType']): Record<string, number> {
  return Object.fromEntries(
    Object.entries(errorsByType).flatMap(([type, count]) => {
      const open = count - (settled[type] ?? 0);
      return open > 0 ? [[type, open]] : [];
    }),
  );
}

function showFormat({ fileFormat, fileSettings }: Import): api.ImportProgress['file'] {
  if (fileFormat === null) return null;
  const { format, delimiter, encoding, decimal, sheet } = fileFormat;
  const { nullMarker, dates } = fileSettings;
  return { format, delimiter, encoding, decimal, sheet, null_marker: nullMarker ?? null, dates: dates ?? 'strict' };
}

function showColumns({ columnMapping, tableLayout, cellsEmpty, cellsUnnamed }: Import): api.ImportProgress['columns'] {
  if (columnMapping === null) return null;
  return {
    ...columnMapping,
    ignored: tableLayout?.ignored ?? null,
    ignored_count: tableLayout?.ignoredCount ?? null,
    empty_cells: cellsEmpty,
    unnamed_cells: cellsUnnamed,
  };
}

function showSource({ shownUrl, file, fileFormat }: Import): api.ImportProgress['source'] {
  return {
    url: shownUrl,
    bytes: file?.sourceBytes ?? null,
    sha256: file?.sourceSha256.toString('hex') ?? null,
    compressed: file === null ? null : file.sourceGzip || fileFormat?.isZip === true,
    decompressed_bytes: file?.fileBytes ?? null,
    decompressed_sha256: file?.fileSha256.toString('hex') ?? null,
  };
}

function expectedEnd({ state: stands, nextOffset, file }: Import, seconds: number, now: Date): Date | null {
  if (stands !== 'running' || !file || nextOffset === 0 || seconds <= 0) return null;
  const secondsLeft = (file.fileBytes - nextOffset) * (seconds / nextOffset);
  return new Date(now.getTime() + secondsLeft * 1000);
}

/** Refuses an unknown import. Names the path of the feed for one of its request ids. */
function refuseUnknownImport(id: string): never {
  const hint = id.startsWith('req_')
    ? ': this is a request of the JSON feed, see /api/attribute_values/feeds/<requestId>'
    : '';
  return refuse(404, 'not_found', `Import not found${hint}`);
}
