import { z } from 'zod';
import { isDate, readDatetime } from '../../domain/core/date-value.ts';
import { sourceUrlFault } from '../../domain/core/source-url.ts';
import { EXPORT_DATA_TYPES, EXPORT_FORMATS, exportDataType } from '../../domain/exports/export-data-type.ts';
import { EXPORTER_TYPES } from '../../domain/exports/exporter.ts';
import { ENCRYPTION_TYPES, parseEncryptionType } from '../../domain/exports/file-encryption.ts';
import { BUCKET_NAME, REGION_NAME, subfolderFault, trimSlashes } from '../../domain/exports/s3-names.ts';
import { bodyFlag, bodyInteger, email, identifier, name, text, textArray } from '../http/input.ts';

/** An exporter as a caller says it (reference: Data exporters; docs/exports.md). */

const MAX_EMAILS = 20;
const MAX_NAMED = 1_000;
const MIB = 1024 ** 2;
const PART_BYTES = { min: MIB, max: 5 * 1024 * MIB };

/** Null, or an empty text as web forms have it, for none. */
function orNone<S extends z.ZodType>(schema: S) {
  return z.preprocess((value) => (value === '' ? null : value), schema.nullable()).optional();
}

const subfolder = z.string().max(1_024, 'must have at most 512 characters').transform(trimSlashes).superRefine((folder, ctx) => {
  const message = subfolderFault(folder);
  if (message !== undefined) ctx.addIssue({ code: 'custom', message });
});

const endpoint = text({ max: 2_048 }).superRefine((address, ctx) => {
  const fault = sourceUrlFault(address) === undefined && !/[?#]/.test(address) ? undefined
    : 'must be an http:// or https:// address without a user, ? and #, such as https://minio.example.com';
  if (fault !== undefined) ctx.addIssue({ code: 'custom', message: fault });
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
export type Since = { day: string } | { at: Date };

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

export const ExporterBody = z.object({ ...required, ...others });

/** Of a change: what is left out stays. */
export const ExporterChange = z.object(required).partial().extend(others);

export type ExporterChange = z.output<typeof ExporterChange>;
