import * as api from '../../api/imports/imports.ts';
import type { Delimiter } from '../../domain/core/csv-bytes.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { errorFileHeader, errorFileRow } from '../../domain/imports/error-file.ts';
import type { ImportErrorType } from '../../domain/imports/import-error-type.ts';
import { type ImportFormat, templateRows } from '../../domain/imports/import-file.ts';
import { listCustomerAttributesOf } from '../../store/attributes/customer-attributes.ts';
import { findSorById } from '../../store/attributes/systems-of-records.ts';
import { write } from '../../store/core/database.ts';
import { findFeedRequest } from '../../store/feed/feed-requests.ts';
import { type StoredImportError, streamImportErrors } from '../../store/imports/import-errors.ts';
import type { Import } from '../../store/imports/import-record.ts';
import { cancelImport, findImport, findImportByJob, streamImports } from '../../store/imports/imports.ts';
import { audit } from '../http/audit.ts';
import { JsonText } from '../http/raw-json.ts';
import { bare, csvFile, streamedCsvFile, streamedResult, streamedRows } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { findSorOfKey } from '../http/sor-key.ts';
import { viewImportProgress } from './import-progress.ts';
import { refuseUnknownImport } from './unknown-import.ts';

const listImportJobs = route(api.listImports, async (who, { db, streamedLists }) => {
  const members = streamedLists.shown(who, streamImports(db, who.caller.entityId), (piece) =>
    piece.map(({ identifier, receivedAt }) => new JsonText(`"${identifier}":"${toSeconds(receivedAt)}"`)),
  );
  return bare(await streamedRows('{"success":true,"result":{', members, () => '}}'));
});

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
  const sor = await findSorOfKey(deps, query.sor_id, query.api_key);
  const attributes = sor.disabled ? [] : await listCustomerAttributesOf(deps.db, sor.entityId, [sor.id]);
  const keys = attributes.filter(({ disabled }) => !disabled).map(({ key }) => key);
  return csvFile(`template-${sor.identifier}`, templateRows(version === 3 ? 'v3' : 'v2', keys));
});

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

/** Before its header is read an import has no errors of rows. */
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
  listImportJobs,
  listImportErrors,
  viewImport,
  cancelAnImport,
  importTemplate,
  readErrorsFile,
];
