import { z } from 'zod';
import { DELIMITERS, ENCODINGS } from '../../domain/core/csv-bytes.ts';
import { requestHeadersError } from '../../domain/core/request-headers.ts';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { DECIMALS } from '../../domain/core/table-format.ts';
import { IMPORT_ERROR_TYPES } from '../../domain/imports/import-error-type.ts';
import { bodyFlag, customerId, identifier, jsonObject, queryFlag, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';

const instant = z.iso.datetime().nullable();
const state = z.enum(['accepted', 'running', 'finished', 'failed', 'canceled']);
export const RowCounts = z.object({ read: z.int(), ok: z.int(), ignored: z.int(), failed: z.int() }).meta({ id: 'RowCounts' });
export type RowCounts = z.output<typeof RowCounts>;

const untilStored = 'null until the file is stored';

/** How an import stands (beyond the reference). */
export const ImportProgress = z.object({
  import_id: z.string(),
  jid: z.string(),
  state,
  dry_run: z.boolean().describe('It reports what the import would do, and changes nothing'),
  sor: z.object({ name: z.string(), identifier: z.string(), type: z.string() }).nullable(),
  version: z.int(),
  source: z.object({
    url: z.string().nullable().describe('Where the file comes from, without its query; null for an upload'),
    bytes: z.int().nullable().describe(untilStored),
    sha256: z.string().nullable(),
    compressed: z.boolean().nullable(),
    decompressed_bytes: z.int().nullable().describe('Of the copy that the import reads: decompressed, and CSV in UTF-8'),
    decompressed_sha256: z.string().nullable(),
  }),
  file: z.object({
    format: z.enum(['csv', 'xlsx']),
    delimiter: z.enum(DELIMITERS).describe('Of an .xlsx file that of its error file'),
    encoding: z.enum(ENCODINGS),
    decimal: z.enum(DECIMALS),
    sheet: z.string().nullable().describe('Of an .xlsx file'),
  }).nullable().describe('How the file is read, as found in it or set with it; null until its beginning is read'),
  fetched_bytes: z.int().nullable().describe('Of the attempt to fetch the file; null for an upload'),
  fetch: z.object({ tries: z.int(), fault: z.string().nullable() }).nullable()
    .describe('How often the file was asked for, and why the last time came to nothing'),
  failure: z.string().nullable().describe('Why the file as a whole could not be imported'),
  defect: z.string().nullable().describe('Why the end of the file could not be read'),
  rows: RowCounts.extend({ open: z.int().describe('Ignored and failed rows that no re-drive has brought since') }),
  errors_by_type: z.record(z.string(), z.int())
    .describe('Rows ignored and failed, by error type; an error of the file as a whole is not counted'),
  bytes_read: z.int().describe('Of the decompressed file'),
  next_line: z.int().describe('All rows before this line are done'),
  rate: z.number().nullable().describe('Rows per second since the start'),
  received_at: instant,
  started_at: instant,
  ended_at: instant,
  expected_end_at: instant.describe('From the bytes read so far; null where it is unknown'),
  parent_id: z.string().nullable().describe('The import whose errors this one re-drives'),
  redrives: z.array(z.object({ import_id: z.string(), state, rows: RowCounts })),
  mail: z.object({ state: z.enum(['sending', 'sent', 'not_sent', 'unknown']), tries: z.int(), reason: z.string().nullable() })
    .nullable().describe('null where none was sent yet, or none is wanted'),
}).meta({ id: 'ImportProgress' });
export type ImportProgress = z.output<typeof ImportProgress>;

/** A tab is hard to type, and to keep in a web form. */
const delimiter = z.enum([...DELIMITERS, 'tab'], { error: 'must be a comma, a semicolon, a tab (or the word tab) or |' })
  .transform((value) => value === 'tab' ? '\t' as const : value);

const fileUrl = z.string().superRefine((value, ctx) => {
  const error = sourceUrlError(value);
  if (error !== undefined) ctx.addIssue({ code: 'custom', message: error });
});

const requestHeaders = jsonObject(z.record(z.string(), z.string({ error: 'must be a string' })))
  .superRefine((value, ctx) => {
    const error = requestHeadersError(value);
    if (error !== undefined) ctx.addIssue({ code: 'custom', message: error });
  });

export const NewImport = z.object({
  sor_id: identifier,
  api_key: text(),
  file_url: fileUrl.optional().describe('Where to fetch the file, instead of sending it; gzipped or not'),
  request_headers: requestHeaders.optional().describe('Sent with the request for file_url; in a web form as JSON'),
  delimiter: delimiter.optional().describe('What stands between the fields of CSV; found from the header where it is not set'),
  encoding: z.enum(ENCODINGS, { error: `must be one of ${ENCODINGS.join(', ')}` }).optional()
    .describe('Of a file without a byte order mark; UTF-8 where it is not set'),
  decimal: z.enum(DECIMALS, { error: 'must be a point or a comma' }).optional()
    .describe('What stands before the decimals of a Number in CSV; a point where it is not set'),
  sheet: text({ max: 31 }).optional().describe('The sheet of an .xlsx file by its name; the first one where it is not set'),
  skip_email: bodyFlag.default(false),
  dry_run: bodyFlag.default(false).describe('Report what the import would do, and change nothing'),
  redrive_of: identifier.optional().describe('The import whose corrected error file this is'),
}).meta({ id: 'NewImport' });
export type NewImport = z.output<typeof NewImport>;

export const importAttributeValues = operation({
  id: 'importAttributeValues',
  method: 'POST',
  path: '/api/attribute_values/batch_import',
  summary: 'Import attribute values from a file of CSV or Excel',
  description: 'The file is a web-form part named `file`, CSV or .xlsx, gzipped, zipped or as it is, or is fetched from '
    + '`file_url`. Fields may come before or after the file; before it, wrong credentials are refused at once.',
  audits: 'import import',
  tag: 'Imports',
  auth: 'sor_key',
  body: NewImport,
  uploadPart: 'file',
  result: z.object({ jid: z.string(), import_id: z.string() }),
});

const SHARED = { tag: 'Imports', right: 'sor_manage' } as const;

export const listImports = operation({
  id: 'listImports',
  ...SHARED,
  method: 'GET',
  path: '/api/attribute_values/import_jobs',
  summary: 'List the imports of the last week',
  result: z.record(z.string(), z.string()).describe('Import id to start time, YYYY-MM-DD hh:mm:ss in UTC'),
});

export const ImportError = z.object({
  import_id: z.string().optional().describe('v3'),
  job_id: z.string().optional().describe('v2'),
  error_type: z.enum(IMPORT_ERROR_TYPES).optional().describe('v3'),
  customer_id: z.string().nullable(),
  key: z.string().nullable(),
  sor: z.string().nullable(),
  date: z.iso.datetime(),
  source: z.string().describe('The stage that found the error'),
  message: z.string(),
  raw: z.string().nullable(),
  line: z.int().describe('The line on which the record starts; 0: the file as a whole. Of a feed the value\'s place, from 0'),
  redriven_by: z.string().nullable().describe('The import that brought the row after all'),
}).meta({ id: 'ImportError' });
export type ImportError = z.output<typeof ImportError>;

export const listImportErrors = operation({
  id: 'listImportErrors',
  ...SHARED,
  method: 'GET',
  path: '/api/attribute_values/import_errors',
  summary: 'Read the errors of an import, in the order of its file, or of a feed\'s request, in the order of its values',
  audits: 'read import',
  query: z.object({
    import_id: identifier.optional().describe('v3: required; an import_id, or the requestId of a feed'),
    job_id: identifier.optional().describe('v2: required; an import_id, a jid or a requestId'),
    customer_id: customerId.optional(),
    error_type: z.enum(IMPORT_ERROR_TYPES).optional(),
    open: queryFlag.default(false).describe('Without the rows that a re-drive has brought since'),
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
  summary: 'Cancel an import; rows that are merged already stay',
  description: 'What it has brought stays; the rows from `next_line` on were not all read.',
  audits: 'update import',
  params: z.object({ import_id: identifier }),
  result: ImportProgress,
});

export const downloadImportErrors = operation({
  id: 'downloadImportErrors',
  method: 'GET',
  path: '/api/attribute_values/imports/:import_id/errors.csv',
  summary: 'Get the refused rows of an import as a CSV file, to correct and import again',
  description: 'The columns of the import, then line, error_type, reason and original. Left out are rows that a re-drive '
    + 'has brought since, and those of erased people.',
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
  description: 'The header of an import, and a row for each enabled attribute, in which user_id and value are to be filled in.',
  tag: 'Imports',
  auth: 'sor_key',
  query: z.object({ sor_id: identifier, api_key: text() }),
  contentType: 'text/csv',
});
