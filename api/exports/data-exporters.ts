import { z } from 'zod';
import { APP_TYPES } from '../../domain/apps/app.ts';
import { isDate, readDatetime } from '../../domain/core/date-value.ts';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { ENCRYPTION_TYPES, parseEncryptionType } from '../../domain/exports/encryption-type.ts';
import { EXPORT_DATA_TYPES, EXPORT_FORMATS, exportDataType } from '../../domain/exports/export-data-type.ts';
import { SERVER_IDENTITY } from '../../domain/exports/export-policy.ts';
import { EXPORTER_TYPES } from '../../domain/exports/exporter.ts';
import { BUCKET_NAME, REGION_NAME, subfolderError, trimSlashes } from '../../domain/exports/s3-names.ts';
import { bodyFlag, bodyInteger, email, identifier, name, text, textArray } from '../core/input.ts';
import { operation } from '../core/operation.ts';

const MAX_EMAILS = 20;
const MAX_NAMED = 1_000;
const MIB = 1024 ** 2;
const PART_BYTES = { min: MIB, max: 5 * 1024 * MIB };

/** Null, or an empty text as web forms have it, for none. */
function orNone<S extends z.ZodType>(schema: S) {
  return z.preprocess((value) => (value === '' ? null : value), schema.nullable()).optional();
}

const subfolder = z.string().max(1_024, 'must have at most 512 characters').transform(trimSlashes).superRefine((folder, ctx) => {
  const message = subfolderError(folder);
  if (message !== undefined) ctx.addIssue({ code: 'custom', message });
});

const endpoint = text({ max: 2_048 }).superRefine((address, ctx) => {
  const error = sourceUrlError(address) === undefined && !/[?#]/.test(address) ? undefined
    : 'must be an http:// or https:// address without a user, ? and #, such as https://minio.example.com';
  if (error !== undefined) ctx.addIssue({ code: 'custom', message: error });
});

/** It goes into a header. */
const accessKeyId = text().regex(/^[!-~]+$/, 'must have letters, digits and signs of ASCII alone, without spaces and line breaks');
const secretAccessKey = text().regex(/^(?!\s)[^\p{Cc}]*(?<!\s)$/u, 'must not begin or end with a space, nor hold line breaks');

const exportedData = textArray(text(), EXPORT_DATA_TYPES.length, 1).superRefine((names, ctx) => {
  const types = names.map(exportDataType);
  for (const [index, type] of types.entries()) {
    const earlier = type === undefined ? -1 : types.indexOf(type);
    if (type === undefined) {
      ctx.addIssue({ code: 'custom', path: [index], message: `must be one of ${EXPORT_DATA_TYPES.join(', ')}` });
    } else if (earlier < index) {
      ctx.addIssue({ code: 'custom', path: [index], message: `is the same as ${names[earlier]}: name each type of data once` });
    }
  }
});

/** A day, which begins where the entity is, or an instant. */
type Since = { day: string } | { at: Date };

const since = z.string().transform((value, ctx): Since => {
  if (isDate(value)) return { day: value };
  const instant = readDatetime(value);
  if (instant !== undefined) return { at: new Date(instant) };
  ctx.issues.push({ code: 'custom', message: 'must be a date or a date and time in ISO 8601, such as 2026-01-31', input: value });
  return z.NEVER;
});

const encryptionType = z.string().refine((value) => value === '' || parseEncryptionType(value) !== undefined,
  `must be one of ${ENCRYPTION_TYPES.join(', ')}, or empty for none`);

const required = {
  export_configuration: z.enum(EXPORTER_TYPES),
  bucket_name: text().regex(BUCKET_NAME, 'must be the name of a bucket, without s3://: 3 to 63 small letters, digits, dots and dashes'),
  app_ids: textArray(identifier, MAX_NAMED, 1).describe('Apps of the entity'),
  exported_data: exportedData.describe(`Of ${EXPORT_DATA_TYPES.join(', ')}`),
};

const others = {
  name: name.optional().describe('By default after the bucket'),
  subfolder: subfolder.optional(),
  aws_region: text().regex(REGION_NAME, 'must be the name of a region, such as eu-west-1').optional().describe('By default eu-west-1'),
  aws_account_id: orNone(text().regex(/^\d{12}$/, 'must be the twelve digits of an AWS account, without dashes'))
    .describe('Required for aws_account_id'),
  aws_role_name: orNone(text().regex(/^[\w+=,.@-]{1,64}$/, 'must be the name of a role, without its path and account'))
    .describe('For aws_account_id; by default millrace-exporter'),
  aws_access_key_id: orNone(accessKeyId).describe('Required for aws_secret_key'),
  aws_secret_access_key: orNone(secretAccessKey).describe('Required for aws_secret_key'),
  endpoint: orNone(endpoint).describe('The address of an S3 that is not Amazon\'s; the bucket goes into the path'),
  sor_ids: textArray(identifier, MAX_NAMED).optional().describe('Systems of Records; at least one when attributes are exported'),
  format: z.enum(EXPORT_FORMATS).optional().describe('By default csv'),
  include_headers: bodyFlag.optional().describe('A line of column names in each CSV file; by default false'),
  encryption_type: encryptionType.optional().describe('Such as AES-256-CBC; by default empty: none'),
  encryption_key: orNone(text()).describe('Required with encryption_type'),
  part_bytes: bodyInteger(PART_BYTES).optional().describe('Of a file before compression; by default 512 MiB'),
  export_since: orNone(since).describe('Where the first export begins: a date or a date and time; by default all there is'),
  notify_emails: textArray(email, MAX_EMAILS).optional().describe('Who is mailed about failures; by default its creator'),
  check: bodyFlag.optional().describe('Try the bucket first: where that fails, nothing is stored'),
};

export const NewDataExporter = z.object({ ...required, ...others }).meta({ id: 'NewDataExporter' });
export type NewDataExporter = z.output<typeof NewDataExporter>;

/** Of a change: what is left out stays. */
export const DataExporterChange = z.object(required).partial().extend(others).meta({ id: 'DataExporterChange' });
export type DataExporterChange = z.output<typeof DataExporterChange>;

const instant = z.iso.datetime().nullable();

/** An exporter as lists show it (reference: Data exporter). */
export const ListedDataExporter = z.object({
  identifier: z.string(),
  name: z.string(),
  type: z.enum(EXPORTER_TYPES),
  active: z.boolean(),
  apps: z.array(z.object({ name: z.string(), identifier: z.string(), package_name: z.string(), platform: z.enum(APP_TYPES) })),
  subfolder: z.string(),
  bucket_name: z.string(),
  exported_data: z.array(z.string()),
  initial_run_at: instant.describe('When the first good run began'),
  last_run_at: instant.describe('When the last good run began'),
}).meta({ id: 'ListedDataExporter' });
export type ListedDataExporter = z.output<typeof ListedDataExporter>;

/** What a run exported of one type of data (reference: Data exporter). */
export const Export = z.object({
  identifier: z.string(),
  date: z.iso.datetime().describe('The end of the window that was exported'),
  type: z.string(),
  total_files: z.int(),
  total_exported: z.int(),
}).meta({ id: 'Export' });
export type Export = z.output<typeof Export>;

/** An exporter as it is shown but for its secrets. */
export const DataExporter = ListedDataExporter.extend({
  aws_region: z.string(),
  exports: z.record(z.string(), z.array(Export))
    .describe('What was exported in the last 31 days, by the end of its window in seconds since the epoch'),
  sors: z.array(z.object({ name: z.string(), identifier: z.string(), type: z.enum(['app', 'custom', 'global']) })),
  encryption_type: z.string().describe('Empty: files are not encrypted'),
  aws_account_id: z.string().nullable(),
  aws_role_name: z.string().nullable(),
  endpoint: z.string().nullable(),
  format: z.enum(EXPORT_FORMATS),
  include_headers: z.boolean(),
  part_bytes: z.int().describe('Of a file before compression'),
  export_since: instant.describe('Where the first export begins; null: with all there is'),
  exported_until: instant.describe('Where the next export begins'),
  notify_emails: z.array(z.string()),
  failures: z.int().describe('Runs that failed since the last that didn\'t'),
  paused_at: instant.describe('When failures ended its daily runs; activating it ends that'),
  paused_reason: z.string().nullable(),
  created_by: z.object({ id: z.int(), uid: z.string() }).nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
}).meta({ id: 'DataExporter' });
export type DataExporter = z.output<typeof DataExporter>;

const secret = z.string().nullable().describe('Null where there is none');

/** The whole of it: whoever is shown this is written down in the audit log. */
export const RevealedDataExporter = DataExporter.extend({
  aws_access_key_id: secret, aws_secret_access_key: secret, encryption_key: secret,
  deletion_key: z.string().nullable()
    .describe('Lists of erased people in the bucket name them under it (HMAC-SHA-256): 32 bytes in hexadecimal'),
}).meta({ id: 'RevealedDataExporter' });
export type RevealedDataExporter = z.output<typeof RevealedDataExporter>;

/** Daily exports to customers' S3 buckets (reference: Data exporters; docs/exports.md). */
const SHARED = { tag: 'Data exporters', right: ['sor_manage', 'usage_analytics_view'] } as const;
const PATH = '/api/data_exporters';
const params = z.object({ exporter_id: identifier });

export const listDataExporters = operation({
  id: 'listDataExporters',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List data exporters',
  result: z.array(ListedDataExporter),
});

export const viewDataExporter = operation({
  id: 'viewDataExporter',
  ...SHARED,
  method: 'GET',
  path: `${PATH}/:exporter_id`,
  summary: 'View a data exporter with its secrets, and what it exported in the last 31 days',
  description: 'The audit log has an entry for each time secrets are shown.',
  audits: 'read data_exporter',
  params,
  result: RevealedDataExporter,
});

export const createDataExporter = operation({
  id: 'createDataExporter',
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Create a data exporter, inactive at first',
  description: 'It exports daily once it is activated: PUT /api/data_exporters/<exporter_id>/activate.',
  audits: ['check data_exporter', 'create data_exporter'],
  body: NewDataExporter,
  result: RevealedDataExporter,
});

export const updateDataExporter = operation({
  id: 'updateDataExporter',
  ...SHARED,
  method: 'PUT',
  path: `${PATH}/:exporter_id`,
  summary: 'Change a data exporter',
  description: 'What is left out stays. Where bucket_name, aws_region, endpoint or aws_access_key_id change, aws_secret_access_key is '
    + 'given anew, and encryption_key where encryption_type does. A run under way goes on as it began.',
  audits: ['check data_exporter', 'update data_exporter'],
  params,
  body: DataExporterChange,
  result: DataExporter,
});

export const deleteDataExporter = operation({
  id: 'deleteDataExporter',
  ...SHARED,
  method: 'DELETE',
  path: `${PATH}/:exporter_id`,
  summary: 'Delete a data exporter with its secrets; what it exported stays in the bucket',
  description: 'Answers it as it was. A run that is under way is canceled.',
  audits: 'delete data_exporter',
  params,
  result: RevealedDataExporter,
});

/** What is done with a data exporter besides changing it. */
const ONE_EXPORTER = {
  tag: 'Data exporters', right: ['sor_manage', 'usage_analytics_view'], params: z.object({ exporter_id: identifier }),
} as const;

const ONE = '/api/data_exporters/:exporter_id';

export const activateDataExporter = operation({
  id: 'activateDataExporter',
  ...ONE_EXPORTER,
  method: 'PUT',
  path: `${ONE}/activate`,
  summary: 'Activate a data exporter: it exports daily',
  description: 'The bucket is tried first: where it refuses (4xx) or cannot be reached (5xx), the exporter stays as it is. '
    + 'Where failures had paused it, it goes on.',
  audits: ['check data_exporter', 'update data_exporter'],
  result: DataExporter,
});

export const deactivateDataExporter = operation({
  id: 'deactivateDataExporter',
  ...ONE_EXPORTER,
  method: 'PUT',
  path: `${ONE}/deactivate`,
  summary: 'Deactivate a data exporter: its daily exports stop',
  description: 'A run under way goes on, and can be canceled; those of the schedule that wait are canceled. By hand it can be run all '
    + 'the same.',
  audits: 'update data_exporter',
  result: DataExporter,
});

export const checkDataExporter = operation({
  id: 'checkDataExporter',
  ...ONE_EXPORTER,
  method: 'POST',
  path: `${ONE}/check`,
  summary: 'Check the bucket of a data exporter: write, read and delete a file in it',
  description: 'A failure has the provider\'s own words: 4xx where something must change first, 5xx where the bucket cannot '
    + 'be reached.',
  audits: 'check data_exporter',
  result: z.object({ ok: z.literal(true) }),
});

export const ExporterPolicy = z.object({
  policy: z.record(z.string(), z.unknown()).describe('The least rights of the access key or the role, as JSON of IAM'),
  trust_policy: z.record(z.string(), z.unknown()).nullable()
    .describe(`Of the role, for aws_account_id; in the place of ${SERVER_IDENTITY} comes what this server runs as in AWS`),
  external_id: z.string().describe('What the role asks for before it is assumed: the same for all exporters of the entity'),
  role_name: z.string().nullable(),
}).meta({ id: 'ExporterPolicy' });
export type ExporterPolicy = z.output<typeof ExporterPolicy>;

export const viewDataExporterPolicy = operation({
  id: 'viewDataExporterPolicy',
  ...ONE_EXPORTER,
  method: 'GET',
  path: `${ONE}/policy`,
  summary: 'Show the AWS policies that a data exporter needs',
  result: ExporterPolicy,
});
