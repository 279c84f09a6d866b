/** Imports: attribute values of many customers from a CSV or Excel file (docs/imports.md). */
import { z } from 'zod';
import { MAX_MAPPED_COLUMNS } from '../../domain/imports/import-file.ts';
import { isStorableJson, MAX_CODE_POINTS } from '../../domain/text/text-limits.ts';
import { DELIMITERS, ENCODINGS } from '../../domain/csv/csv-bytes.ts';
import { MAX_HEADERS, requestHeadersError } from '../../domain/core/request-headers.ts';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { DATE_RULES, DECIMALS, MAX_NULL_MARKER } from '../../domain/csv/table-format.ts';
import { IMPORT_ERROR_TYPES } from '../../domain/imports/import-error-type.ts';
import {
  bodyFlag,
  boundedRecord,
  closedObject,
  customerId,
  identifier,
  jsonObject,
  NOT_STORABLE,
  pageNumber,
  queryFlag,
  queryInteger,
  stored,
  text,
} from '../core/input.ts';
import { listCursor } from '../core/page.ts';
import { mailAttempt } from '../core/mail.ts';
import { operation } from '../core/operation.ts';
import { SUSPICIOUS } from '../core/suspicious-ids.ts';
import { internalError } from '../jobs/internal-error.ts';
import { stage } from '../jobs/stage.ts';

const instant = z.iso.datetime().nullable();
const state = z.enum(['accepted', 'running', 'finished', 'failed', 'canceled']);
export const RowCounts = z
  .object({ read: z.int(), ok: z.int(), ignored: z.int(), failed: z.int() })
  .meta({ id: 'RowCounts' });
export type RowCounts = z.output<typeof RowCounts>;

const untilStored = 'null until the file is stored';

/** The progress of an import (beyond the reference). */
export const ImportProgress = z
  .object({
    import_id: z.string(),
    jid: z.string(),
    state,
    stage,
    dry_run: z.boolean().describe('True: the import reports what it would do, and changes nothing'),
    sor: z.object({ name: z.string(), identifier: z.string(), type: z.string() }).nullable(),
    version: z.int().describe('Version of the interface: 2 or 3'),
    source: z.object({
      url: z.string().nullable().describe('Address of the file, without its query; null for an upload'),
      bytes: z.int().nullable().describe(`Size of the file as it came; ${untilStored}`),
      sha256: z.string().nullable(),
      compressed: z.boolean().nullable(),
      decompressed_bytes: z
        .int()
        .nullable()
        .describe('Size of the copy that the import reads: decompressed, and CSV in UTF-8'),
      decompressed_sha256: z.string().nullable(),
    }),
    file: z
      .object({
        format: z.enum(['csv', 'xlsx']),
        delimiter: z.enum(DELIMITERS).describe('Delimiter of the file; for an .xlsx file, of its error file'),
        encoding: z.enum(ENCODINGS),
        decimal: z.enum(DECIMALS),
        sheet: z.string().nullable().describe('Name of the sheet of an .xlsx file'),
        null_marker: z
          .string()
          .nullable()
          .describe('A cell that is exactly this text is an empty one; null if it is not set'),
        dates: z.enum(DATE_RULES).describe('lenient: a midnight is taken as a Date, and a day as a Datetime'),
      })
      .nullable()
      .describe('How Millrace reads the file: found in it, or set with it; null until Millrace has read its beginning'),
    columns: z
      .object({
        customer: z.string(),
        attributes: z.record(z.string(), z.string()),
        ignored: z
          .array(z.string())
          .nullable()
          .describe(
            'Names of the columns that the mapping leaves out, the first 100; null until the ' + 'header is read',
          ),
        ignored_count: z.int().nullable().describe('Number of these columns'),
        empty_cells: z.int().describe('Mapped cells without a value; they count as ignored rows, and are no errors'),
        unnamed_cells: z
          .int()
          .describe('Filled cells in columns that the header does not name; Millrace does not read them'),
      })
      .nullable()
      .describe('How the columns of a table are mapped; null for a file with a row for each value'),
    fetched_bytes: z.int().nullable().describe('Bytes that the current attempt has fetched; null for an upload'),
    fetch: z
      .object({ tries: z.int(), fault: z.string().nullable() })
      .nullable()
      .describe('Number of tries to fetch the file, and the fault of the last one; null for an upload'),
    failure: z.string().nullable().describe('Why Millrace could not import the file as a whole; else null'),
    internal_error: internalError,
    defect: z.string().nullable().describe('Why Millrace could not read the end of the file; else null'),
    rows: RowCounts.extend({
      open: z.int().describe('Ignored and failed rows that no re-drive has settled, without those of erased people'),
    }),
    errors_by_type: z
      .record(z.string(), z.int())
      .describe('Number of ignored and failed rows, by error type; an error of the file as a whole does not count'),
    open_by_type: z.record(z.string(), z.int()).describe('Number of open rows, by error type'),
    suspicious_ids: z.int().describe(`Number of rows taken ${SUSPICIOUS}`),
    similar_ids: z
      .object({
        count: z.int(),
        examples: z
          .array(
            z.object({
              line: z.int().describe('Line of the first row with the id'),
              like: z
                .int()
                .nullable()
                .describe('Line of the earlier id; null if the id is similar to that of an existing customer'),
            }),
          )
          .describe('The first 10'),
      })
      .nullable()
      .describe(
        'Only for a dry run: ids of the file that differ only in capitals or composed letters from an earlier one, or from that ' +
          'of an existing customer; null before its end, if there are too many ids to compare, and for other imports',
      ),
    bytes_read: z.int().describe('Bytes read of the decompressed file'),
    next_line: z.int().describe('Millrace has finished all rows before this line'),
    rate: z.number().nullable().describe('Rows per second since the start'),
    received_at: instant,
    started_at: instant,
    ended_at: instant,
    expected_end_at: instant.describe('Estimate from the bytes read so far; null if unknown'),
    parent_id: z.string().nullable().describe('The import whose errors this one re-drives'),
    redrives: z
      .array(z.object({ import_id: z.string(), state, rows: RowCounts, received_at: z.iso.datetime() }))
      .describe('Imports that re-drive the errors of this one'),
    mail: mailAttempt
      .nullable()
      .describe('Null if there is no mail: before the end, after a cancellation, or with skip_email'),
  })
  .meta({ id: 'ImportProgress' });
export type ImportProgress = z.output<typeof ImportProgress>;

const COLUMNS_BYTES = 256 * 1024;
const columnName = text({ max: MAX_CODE_POINTS });

const columns = jsonObject(
  stored(
    COLUMNS_BYTES,
    closedObject({
      customer: columnName.describe('Name of the column with the customer ids'),
      attributes: boundedRecord(columnName, MAX_MAPPED_COLUMNS)
        .refine((attributes) => Object.keys(attributes).length > 0, 'must name a column')
        .refine(isStorableJson, NOT_STORABLE)
        .describe('By the name of a column: the key of its attribute'),
    }),
  ),
);

/** A tab is hard to type, and to keep in a web form. */
const delimiter = z
  .enum([...DELIMITERS, 'tab'], { error: 'must be a comma, a semicolon, a tab (or the word tab) or |' })
  .transform((value) => (value === 'tab' ? ('\t' as const) : value));

const nullMarker = text({ max: MAX_NULL_MARKER });

const fileUrl = z.string().superRefine((value, ctx) => {
  const error = sourceUrlError(value);
  if (error !== undefined) ctx.addIssue({ code: 'custom', message: error });
});

const requestHeaders = jsonObject(
  boundedRecord(z.string({ error: 'must be a string' }), MAX_HEADERS).refine(isStorableJson, NOT_STORABLE),
).superRefine((value, ctx) => {
  const error = requestHeadersError(value);
  if (error !== undefined) ctx.addIssue({ code: 'custom', message: error });
});

export const NewImport = z
  .object({
    sor_id: identifier.describe('Identifier of the System of Records'),
    api_key: text().describe('API key of that System of Records'),
    file_url: fileUrl
      .optional()
      .describe('Address from which Millrace fetches the file, if you do not send it; gzipped or not'),
    request_headers: requestHeaders.optional().describe('Headers to send to file_url; in a web form as JSON'),
    delimiter: delimiter
      .optional()
      .describe('Delimiter between fields of CSV; by default Millrace finds it in the header'),
    encoding: z
      .enum(ENCODINGS, { error: `must be one of ${ENCODINGS.join(', ')}` })
      .optional()
      .describe('Encoding of a file without a byte order mark; UTF-8 by default'),
    decimal: z
      .enum(DECIMALS, { error: 'must be a point or a comma' })
      .optional()
      .describe('Decimal mark of numbers in CSV; a point by default'),
    sheet: text({ max: 31 })
      .optional()
      .describe('Name of the sheet of an .xlsx file; the first visible one by default'),
    null_marker: nullMarker
      .optional()
      .describe('A cell that is exactly this text is an empty one, such as \\N; none by default'),
    dates: z
      .enum(DATE_RULES, { error: 'must be strict or lenient' })
      .optional()
      .describe(
        'lenient: take a midnight as a Date, and a day as a Datetime at its midnight in UTC; strict by default',
      ),
    columns: columns
      .optional()
      .describe('Maps the columns of a table with a column for each attribute; in a web form as JSON'),
    skip_email: bodyFlag.default(false).describe('Send no mail at the end of the import'),
    dry_run: bodyFlag.default(false).describe('Report what the import would do, and change nothing'),
    redrive_of: identifier
      .optional()
      .describe(
        'The import that this corrected error file belongs to; with columns, the import of a ' +
          'table whose corrected lines these are',
      ),
  })
  .meta({ id: 'NewImport' });
export type NewImport = z.output<typeof NewImport>;

export const importAttributeValues = operation({
  id: 'importAttributeValues',
  method: 'POST',
  path: '/api/attribute_values/batch_import',
  summary: 'Import attribute values from a CSV or Excel file',
  description:
    'Send the file as a web-form part named `file`, CSV or .xlsx, plain, gzipped or zipped, or have Millrace fetch it from ' +
    '`file_url`. Put sor_id and api_key before the file: the server then refuses wrong ones before it stores anything.',
  audits: 'import import',
  tag: 'Imports',
  auth: 'sor_key',
  body: NewImport,
  uploadPart: 'file',
  result: z.object({ jid: z.string(), import_id: z.string() }),
});

const SHARED = { tag: 'Imports', right: 'sor_manage' } as const;

export const ImportSummary = ImportProgress.pick({
  import_id: true,
  state: true,
  stage: true,
  dry_run: true,
  sor: true,
  rows: true,
  received_at: true,
  started_at: true,
  ended_at: true,
})
  .extend({
    source: ImportProgress.shape.source.pick({ url: true, bytes: true }),
    is_redrive: z.boolean().describe('True: it re-drives the errors of another import'),
  })
  .meta({ id: 'ImportSummary' });
export type ImportSummary = z.output<typeof ImportSummary>;

export const listImportSummaries = operation({
  id: 'listImportSummaries',
  ...SHARED,
  method: 'GET',
  path: '/api/attribute_values/imports',
  summary: 'List imports with their state and counts, newest first',
  description: 'Millrace keeps an import for a week.',
  query: z.object({
    sor_id: identifier.optional().describe('Identifier of a System of Records'),
    state: state.optional(),
    open: queryFlag.default(false).describe('Only imports with rows that no re-drive has settled; no dry runs'),
    per_page: pageNumber({ min: 1, max: 1_000, otherwise: 100 }),
    cursor: listCursor.optional().describe('From the `next` of the page before'),
  }),
  result: z.object({
    imports: z.array(ImportSummary),
    next: z.string().nullable().describe('Address of the next page; null at the end'),
  }),
});

export const ImportDay = z
  .object({
    day: z.iso.date().describe('In UTC'),
    imports: z.int(),
    rows: RowCounts,
    errors_by_type: z.record(z.string(), z.int()).describe('Number of ignored and failed rows, by error type'),
  })
  .meta({ id: 'ImportDay' });

export const countImportRows = operation({
  id: 'countImportRows',
  ...SHARED,
  method: 'GET',
  path: '/api/attribute_values/import_days',
  summary: 'Count the rows of imports by day, over the last week',
  description: 'Each import counts on the day on which Millrace received it. Dry runs do not count.',
  query: z.object({ sor_id: identifier.optional().describe('Identifier of a System of Records') }),
  result: z.object({ days: z.array(ImportDay).describe('Eight days, oldest first; the first and the last in part') }),
});

export const importWithToken = operation({
  id: 'importWithToken',
  ...SHARED,
  method: 'POST',
  path: '/api/attribute_values/imports',
  summary: 'Import attribute values from a CSV or Excel file, as a user',
  description:
    'Takes what POST /api/attribute_values/batch_import takes, without `api_key`: the token stands for it. Put sor_id ' +
    'before the file.',
  audits: 'import import',
  body: NewImport.omit({ api_key: true }).meta({ id: 'NewImportWithToken' }),
  uploadPart: 'file',
  result: z.object({ jid: z.string(), import_id: z.string() }),
});

export const listImports = operation({
  id: 'listImports',
  ...SHARED,
  method: 'GET',
  path: '/api/attribute_values/import_jobs',
  summary: 'List the imports of the last week',
  result: z
    .record(z.string(), z.string())
    .describe('By import id: when Millrace received the import, as YYYY-MM-DD hh:mm:ss in UTC'),
});

export const ImportError = z
  .object({
    import_id: z.string().optional().describe('Only in v3'),
    job_id: z.string().optional().describe('Only in v2'),
    error_type: z.enum(IMPORT_ERROR_TYPES).optional().describe('Only in v3'),
    customer_id: z.string().nullable(),
    key: z.string().nullable(),
    sor: z.string().nullable(),
    date: z.iso.datetime(),
    source: z.string().describe('Stage of processing that found the error'),
    message: z.string(),
    raw: z
      .string()
      .nullable()
      .describe("The row as it stands in the file, or a feed's value as JSON; null for an erased person"),
    line: z
      .int()
      .describe('Line on which the row starts; 0: the file as a whole. For a feed: index of the value, from 0'),
    column: z
      .string()
      .nullable()
      .describe(
        'Name of the column of the cell, if the columns of a table are mapped; null if a line failed as a whole',
      ),
    redriven_by: z.string().nullable().describe('The re-drive that imported the row'),
    cells: z
      .array(z.string())
      .nullable()
      .optional()
      .describe(
        "Only with `cells`: the row as it stands in the error file; null if it is not in it, and for a feed's value",
      ),
  })
  .meta({ id: 'ImportError' });
export type ImportError = z.output<typeof ImportError>;

export const listImportErrors = operation({
  id: 'listImportErrors',
  ...SHARED,
  method: 'GET',
  path: '/api/attribute_values/import_errors',
  summary: 'List the errors of an import or a feed request',
  description:
    'The errors come in the order of the rows of the file, or of the values of the request: all of them, or with `limit` and ' +
    '`after` a page.',
  audits: 'read import',
  query: z.object({
    import_id: identifier.optional().describe('Required in v3: an import_id, or the requestId of a feed'),
    job_id: identifier.optional().describe('Required in v2: an import_id, a jid, or the requestId of a feed'),
    customer_id: customerId.optional(),
    error_type: z.enum(IMPORT_ERROR_TYPES).optional(),
    open: queryFlag.default(false).describe('Only rows that no re-drive has settled, without those of erased people'),
    limit: queryInteger({ min: 1, max: 10_000 }).optional().describe('Maximum number of errors; by default all'),
    after: queryInteger({ min: 0, max: 999_999_999_999 })
      .optional()
      .describe('Only errors behind this `line`: for the next page, the `line` of the last error'),
    cells: queryFlag.default(false).describe('Add the cells of each row, in the columns of the error file'),
  }),
  result: z.object({ attribute_errors: z.array(ImportError) }),
});

export const viewImport = operation({
  id: 'viewImport',
  ...SHARED,
  method: 'GET',
  path: '/api/attribute_values/imports/:import_id',
  summary: 'Get the progress of an import',
  params: z.object({ import_id: identifier }),
  result: ImportProgress,
});

export const cancelImport = operation({
  id: 'cancelImport',
  ...SHARED,
  method: 'POST',
  path: '/api/attribute_values/imports/:import_id/cancel',
  summary: 'Cancel an import',
  description: 'Rows that are already imported stay. The import has not read all rows from `next_line` on.',
  audits: 'update import',
  params: z.object({ import_id: identifier }),
  result: ImportProgress,
});

export const downloadImportErrors = operation({
  id: 'downloadImportErrors',
  method: 'GET',
  path: '/api/attribute_values/imports/:import_id/errors.csv',
  summary: 'Download the refused rows of an import as CSV',
  description:
    'Correct the file and import it with redrive_of. Columns: those of the import, then line, error_type, reason and ' +
    'original. The file leaves out rows that a re-drive has settled, and rows of erased people.',
  audits: 'read import',
  tag: 'Imports',
  right: 'sor_manage',
  params: z.object({ import_id: identifier }),
  query: z.object({ error_type: z.enum(IMPORT_ERROR_TYPES).optional() }),
  contentType: 'text/csv',
});

export const downloadImportTemplate = operation({
  id: 'downloadImportTemplate',
  method: 'GET',
  path: '/api/attribute_values/template',
  summary: 'Get a CSV template for an import',
  description: 'Returns the header, and a row for each enabled attribute. Fill in user_id and value.',
  tag: 'Imports',
  auth: 'sor_key',
  query: z.object({ sor_id: identifier, api_key: text() }),
  contentType: 'text/csv',
});

export const downloadSorTemplate = operation({
  id: 'downloadSorTemplate',
  ...SHARED,
  method: 'GET',
  path: '/api/system_of_records/:sor_identifier/template',
  summary: 'Get a CSV template for an import into a System of Records, as a user',
  description: 'Returns the header, and a row for each enabled attribute. Fill in user_id and value.',
  params: z.object({ sor_identifier: identifier }),
  contentType: 'text/csv',
});
