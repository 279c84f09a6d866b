/** Data exporters: definitions of regular exports into a customer's bucket (docs/exports.md). */
import { z } from 'zod';
import { APP_TYPES } from '../../domain/apps/app.ts';
import { isDate, readDatetime } from '../../domain/time/date-value.ts';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { ENCRYPTION_TYPES, parseEncryptionType } from '../../domain/exports/encryption-type.ts';
import { EXPORT_DATA_TYPES, EXPORT_FORMATS, exportDataType } from '../../domain/exports/export-data-type.ts';
import { SERVER_IDENTITY } from '../../domain/exports/export-policy.ts';
import { EXPORTER_TYPES } from '../../domain/exports/exporter.ts';
import { BUCKET_NAME, REGION_NAME, subfolderError, trimSlashes } from '../../domain/exports/s3-names.ts';
import { SERVER_SIDE_ENCRYPTIONS } from '../../domain/core/server-side-encryption.ts';
import {
  bodyFlag,
  bodyInteger,
  email,
  identifier,
  name,
  secretsQuery,
  stored,
  text,
  textArray,
  ofRevision,
} from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { alertConnections } from '../syncs/connections.ts';

const MAX_EMAILS = 20;
const MAX_NAMED = 1_000;
const NAMED_BYTES = 64 * 1024;
const MIB = 1024 ** 2;
const PART_BYTES = { min: MIB, max: 5 * 1024 * MIB };

/** Null, or an empty text from a web form, means none. */
function orNone<S extends z.ZodType>(schema: S) {
  return z.preprocess((value) => (value === '' ? null : value), schema.nullable()).optional();
}

const subfolder = z
  .string()
  .max(1_024, 'must have at most 512 characters')
  .transform(trimSlashes)
  .superRefine((folder, ctx) => {
    const message = subfolderError(folder);
    if (message !== undefined) ctx.addIssue({ code: 'custom', message });
  });

const endpoint = text({ max: 2_048 }).superRefine((address, ctx) => {
  const error =
    sourceUrlError(address) === undefined && !/[?#]/.test(address)
      ? undefined
      : 'must be an http:// or https:// address without a user, ? and #, such as https://minio.example.com';
  if (error !== undefined) ctx.addIssue({ code: 'custom', message: error });
});

/** Millrace sends it in a header. */
const accessKeyId = text().regex(
  /^[!-~]+$/,
  'must hold only ASCII letters, digits and signs, without spaces or line breaks',
);
const secretAccessKey = text().regex(
  /^(?!\s)[^\p{Cc}]*(?<!\s)$/u,
  'must not begin or end with a space, or hold line breaks',
);

const exportedData = textArray(text(), EXPORT_DATA_TYPES.length, 1).superRefine((names, ctx) => {
  const types = names.map(exportDataType);
  for (const [index, type] of types.entries()) {
    const earlier = type === undefined ? -1 : types.indexOf(type);
    if (type === undefined) {
      ctx.addIssue({ code: 'custom', path: [index], message: `must be one of ${EXPORT_DATA_TYPES.join(', ')}` });
    } else if (earlier < index) {
      ctx.addIssue({
        code: 'custom',
        path: [index],
        message: `is the same as ${names[earlier]}: name each type of data once`,
      });
    }
  }
});

type Since = { day: string } | { at: Date };

const since = z.string().transform((value, ctx): Since => {
  if (isDate(value)) return { day: value };
  const instant = readDatetime(value);
  if (instant !== undefined) return { at: new Date(instant) };
  ctx.issues.push({
    code: 'custom',
    message: 'must be a date or a date and time in ISO 8601, such as 2026-01-31',
    input: value,
  });
  return z.NEVER;
});

const encryptionType = z
  .string()
  .refine(
    (value) => value === '' || parseEncryptionType(value) !== undefined,
    `must be one of ${ENCRYPTION_TYPES.join(', ')}, or empty for none`,
  );

const required = {
  export_configuration: z.enum(EXPORTER_TYPES),
  bucket_name: text().regex(
    BUCKET_NAME,
    'must be the name of a bucket, without s3://: 3 to 63 lowercase letters, digits, dots and dashes',
  ),
  app_ids: stored(NAMED_BYTES, textArray(identifier, MAX_NAMED, 1)).describe('Identifiers of apps of the entity'),
  exported_data: exportedData.describe(`One or more, each once: ${EXPORT_DATA_TYPES.join(', ')}`),
};

const others = {
  name: name.optional().describe('By default Export to <bucket_name>'),
  subfolder: subfolder.optional().describe('Folder in the bucket; by default none'),
  aws_region: text()
    .regex(REGION_NAME, 'must be the name of a region, such as eu-west-1')
    .optional()
    .describe('By default eu-west-1'),
  aws_account_id: orNone(
    text().regex(/^\d{12}$/, 'must be the twelve digits of an AWS account, without dashes'),
  ).describe('Twelve digits; required if export_configuration is aws_account_id'),
  aws_role_name: orNone(
    text().regex(/^[\w+=,.@-]{1,64}$/, 'must be the name of a role, without its path and account'),
  ).describe('Role in that account; by default millrace-exporter'),
  aws_access_key_id: orNone(accessKeyId).describe('Required if export_configuration is aws_secret_key'),
  aws_secret_access_key: orNone(secretAccessKey).describe('Required if export_configuration is aws_secret_key'),
  endpoint: orNone(endpoint).describe("Address of an S3 that is not Amazon's; Millrace puts the bucket into the path"),
  sor_ids: stored(NAMED_BYTES, textArray(identifier, MAX_NAMED))
    .optional()
    .describe('Identifiers of Systems of Records; at least one if exported_data has attributes'),
  format: z.enum(EXPORT_FORMATS).optional().describe('By default csv'),
  include_headers: bodyFlag.optional().describe('Begin each CSV file with a line of column names; by default false'),
  encryption_type: encryptionType.optional().describe('Such as AES-256-CBC; by default empty, for no encryption'),
  encryption_key: orNone(text()).describe(
    'Required with encryption_type: 16, 24 or 32 bytes, as text or in hexadecimal',
  ),
  server_side_encryption: orNone(z.enum(SERVER_SIDE_ENCRYPTIONS)).describe(
    'The header x-amz-server-side-encryption of uploads, for buckets that deny uploads without it; by default none',
  ),
  kms_key_id: orNone(
    text({ max: 2_048 }).regex(/^[!-~]+$/, 'must be the id or ARN of a key, in ASCII without spaces'),
  ).describe("Key for server_side_encryption aws:kms; by default the account's own for S3"),
  content_md5: bodyFlag
    .optional()
    .describe('Send Content-MD5, for buckets that want it for deleting; by default false'),
  part_bytes: bodyInteger(PART_BYTES)
    .optional()
    .describe('Size of a file before compression, in bytes; by default 512 MiB'),
  export_since: orNone(since).describe(
    "Start of the first export: a date in the entity's time zone, or a date and time; by default it exports all data",
  ),
  notify_emails: textArray(email, MAX_EMAILS)
    .optional()
    .describe("Addresses that get mails about failures and late rows; by default the creator's"),
  notify_connections: alertConnections
    .optional()
    .describe('Connections that get the same as alerts, such as one to Slack; by default none'),
  check: bodyFlag.optional().describe('True: test the bucket first, and store nothing if the test fails'),
};

export const NewDataExporter = z.object({ ...required, ...others }).meta({ id: 'NewDataExporter' });
export type NewDataExporter = z.output<typeof NewDataExporter>;

export const DataExporterChange = z
  .object(required)
  .partial()
  .extend({ ...others, revision: ofRevision })
  .meta({ id: 'DataExporterChange' });
export type DataExporterChange = z.output<typeof DataExporterChange>;

const instant = z.iso.datetime().nullable();

/** An exporter as lists return it (reference: Data exporter). */
export const ListedDataExporter = z
  .object({
    identifier: z.string(),
    name: z.string(),
    type: z.enum(EXPORTER_TYPES),
    active: z.boolean(),
    apps: z.array(
      z.object({ name: z.string(), identifier: z.string(), package_name: z.string(), platform: z.enum(APP_TYPES) }),
    ),
    subfolder: z.string(),
    bucket_name: z.string(),
    aws_region: z.string(),
    exported_data: z.array(z.string()),
    initial_run_at: instant.describe('When the first successful run began'),
    last_run_at: instant.describe('When the last successful run began'),
    exported_until: instant.describe('Start of the next export; null before the first successful run'),
    next_run_at: instant.describe('When the next daily run is due; null if the exporter is not active, or paused'),
    missing_window: z
      .object({ start: instant.describe('Null: from the first data on'), end: z.iso.datetime() })
      .nullable()
      .describe('Due an hour ago or more, and not exported yet; null if there is none'),
    time_zone: z.string().describe('Time zone of the entity: a window of a daily run ends with one of its midnights'),
    failures: z.int().describe('Number of scheduled runs that failed since the last success'),
    paused_at: instant.describe('When failures paused its daily runs; to resume them, activate the exporter'),
    paused_reason: z.string().nullable(),
    sors: z.array(z.object({ name: z.string(), identifier: z.string(), type: z.enum(['app', 'custom', 'global']) })),
  })
  .meta({ id: 'ListedDataExporter' });
export type ListedDataExporter = z.output<typeof ListedDataExporter>;

/** The result of a run for one type of data (reference: Data exporter). */
export const Export = z
  .object({
    identifier: z.string(),
    date: z.iso.datetime().describe('End of the exported window'),
    type: z.string(),
    total_files: z.int(),
    total_exported: z.int().describe('Number of rows'),
  })
  .meta({ id: 'Export' });
export type Export = z.output<typeof Export>;

/** An exporter without its secrets. */
export const DataExporter = ListedDataExporter.extend({
  revision: z.int().describe('Increases with each change'),
  exports: z
    .record(z.string(), z.array(Export))
    .describe('Exports of the last 31 days; each key is the end of a window, in seconds since the epoch'),
  server_side_encryption: z.enum(SERVER_SIDE_ENCRYPTIONS).nullable().describe('Header of uploads; null: none'),
  kms_key_id: z.string().nullable(),
  content_md5: z.boolean(),
  encryption_type: z.string().describe('Empty if files are not encrypted'),
  aws_account_id: z.string().nullable(),
  aws_role_name: z.string().nullable(),
  endpoint: z.string().nullable(),
  format: z.enum(EXPORT_FORMATS),
  include_headers: z.boolean(),
  part_bytes: z.int().describe('Size of a file before compression, in bytes'),
  export_since: instant.describe('Start of the first export; null: it exports all data'),
  notify_emails: z.array(z.string()),
  notify_connections: z.array(z.string()),
  created_by: z.object({ id: z.int(), uid: z.string() }).nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
}).meta({ id: 'DataExporter' });
export type DataExporter = z.output<typeof DataExporter>;

const secret = z.string().nullable().describe('Null if not set');

/** An exporter with its secrets. Each response with this record has an entry in the audit log. */
export const RevealedDataExporter = DataExporter.extend({
  aws_access_key_id: secret,
  aws_secret_access_key: secret,
  encryption_key: secret,
  deletion_key: z
    .string()
    .nullable()
    .describe('HMAC-SHA-256 key of the ids in deletion lists: 32 bytes in hexadecimal'),
}).meta({ id: 'RevealedDataExporter' });
export type RevealedDataExporter = z.output<typeof RevealedDataExporter>;

/** An exporter as it is viewed: its secrets only if they are asked for. */
export const ViewedDataExporter = RevealedDataExporter.partial({
  aws_access_key_id: true,
  aws_secret_access_key: true,
  encryption_key: true,
  deletion_key: true,
}).meta({ id: 'ViewedDataExporter' });
export type ViewedDataExporter = z.output<typeof ViewedDataExporter>;

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
  summary: 'View a data exporter with its secrets and latest exports',
  description: '`exports` has the exports of the last 31 days.',
  audits: 'read data_exporter',
  params,
  query: z.object(secretsQuery('aws_access_key_id, aws_secret_access_key, encryption_key and deletion_key')),
  result: ViewedDataExporter,
});

export const createDataExporter = operation({
  id: 'createDataExporter',
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Create a data exporter, inactive at first',
  description: 'To start its daily exports, call PUT /api/data_exporters/<exporter_id>/activate.',
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
  description:
    'Fields that you leave out stay as they are. A new bucket_name, aws_region, endpoint or aws_access_key_id requires ' +
    'aws_secret_access_key again; a new encryption_type requires encryption_key. A run under way keeps its settings.',
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
  summary: 'Delete a data exporter and its secrets',
  description:
    'Exported files stay in the bucket. Millrace cancels its runs. Returns the exporter as it was, with its secrets.',
  audits: 'delete data_exporter',
  params,
  result: RevealedDataExporter,
});

const ONE_EXPORTER = {
  tag: 'Data exporters',
  right: ['sor_manage', 'usage_analytics_view'],
  params: z.object({ exporter_id: identifier }),
} as const;

const ONE = '/api/data_exporters/:exporter_id';

export const activateDataExporter = operation({
  id: 'activateDataExporter',
  ...ONE_EXPORTER,
  method: 'PUT',
  path: `${ONE}/activate`,
  summary: 'Activate the daily exports of a data exporter',
  description:
    'Millrace tests the bucket first. If the bucket refuses (4xx) or is out of reach (5xx), the exporter does not change. ' +
    'An exporter that failures had paused resumes.',
  audits: ['check data_exporter', 'update data_exporter'],
  result: DataExporter,
});

export const deactivateDataExporter = operation({
  id: 'deactivateDataExporter',
  ...ONE_EXPORTER,
  method: 'PUT',
  path: `${ONE}/deactivate`,
  summary: 'Deactivate the daily exports of a data exporter',
  description:
    'A run under way continues; you can cancel it. Millrace cancels scheduled runs that still wait. You can still start ' +
    'runs by hand.',
  audits: 'update data_exporter',
  result: DataExporter,
});

export const checkDataExporter = operation({
  id: 'checkDataExporter',
  ...ONE_EXPORTER,
  method: 'POST',
  path: `${ONE}/check`,
  summary: 'Test the access of a data exporter to its bucket',
  description:
    "Writes, reads and deletes a small file in the bucket. An error has the provider's own words: 4xx if something must " +
    'change first, 5xx if the bucket is out of reach.',
  audits: 'check data_exporter',
  result: z.object({ ok: z.literal(true) }),
});

export const ExporterPolicy = z
  .object({
    policy: z
      .record(z.string(), z.unknown())
      .describe('IAM policy with the fewest rights that the access key or role needs'),
    trust_policy: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe(
        `Trust policy of the role; replace ${SERVER_IDENTITY} with the ARN of this server in AWS. Null without a role`,
      ),
    external_id: z
      .string()
      .describe('External id that the role must require; the same for all exporters of the entity'),
    role_name: z.string().nullable(),
  })
  .meta({ id: 'ExporterPolicy' });
export type ExporterPolicy = z.output<typeof ExporterPolicy>;

export const viewDataExporterPolicy = operation({
  id: 'viewDataExporterPolicy',
  ...ONE_EXPORTER,
  method: 'GET',
  path: `${ONE}/policy`,
  summary: 'Show the AWS policies that a data exporter needs',
  result: ExporterPolicy,
});
