/** The apps of an entity (docs/apps.md). */

import { z } from 'zod';
import { APP_TYPES, type AppType } from '../../domain/apps/app.ts';
import { PRIVACY_SETTINGS } from '../../domain/apps/privacy-settings.ts';
import { isStorable } from '../../domain/text/text-limits.ts';
import { isTimeZone } from '../../domain/time/time-zone.ts';
import {
  bodyFlag,
  bodyInteger,
  closedObject,
  email,
  identifier,
  jsonArray,
  jsonObject,
  name,
  ofRevision,
  queryFlag,
  secretsQuery,
  stored,
  text,
  textArray,
} from '../core/input.ts';
import { operation } from '../core/operation.ts';

const MAX_DAYS = 3_650;
const MAX_SECONDS = 31_536_000;
const MAX_EMAILS = 20;
const MAX_SEND_RATE = 100_000;
const MAX_GROUPS = 200;
const MAX_VERSIONS = 1_000;
const MAX_LANGUAGES = 200;
const LIST_BYTES = 256 * 1024;
const MEMBER_BYTES = 64 * 1024;

/** SDKs name their app by exactly this text. */
const packageName = text().refine(
  (value) => /^[^\s\p{Cc}]+$/u.test(value),
  'must have no spaces, such as com.example.shop',
);

/** Null if it is blank: the reference has its own refusal for that. */
const appType = z
  .string()
  .nullish()
  .transform((value, ctx): AppType | null => {
    if (value === null || value === undefined || value.trim() === '') return null;
    const known = APP_TYPES.find((type) => type === value);
    if (known !== undefined) return known;
    ctx.issues.push({ code: 'custom', message: `must be one of ${APP_TYPES.join(', ')}`, input: value });
    return z.NEVER;
  })
  .meta({ enum: [...APP_TYPES], description: 'Required' });

const image = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .max(2_048)
  .refine(isStorable, 'must not hold NUL or half a surrogate pair')
  .nullable()
  .default(null);

const Icon = closedObject({ thumb: image, medium: image, large: image });

const Localization = closedObject({
  language: text().regex(/^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/, 'must be a language tag, such as en or pt-BR'),
  original_name: name,
  name,
  description: text({ max: 10_000 }).nullable().default(null),
});

const Status = closedObject({
  cdate: bodyInteger({ min: 0, max: 253_402_300_799 }).describe('Seconds since the epoch'),
  state: text().regex(/^[A-Za-z]+$/, 'must be a word of letters, such as live'),
  version_number: text(),
});

const RateLimit = closedObject({
  message_limit: bodyInteger({ min: 1, max: 1_000_000 })
    .nullable()
    .default(null)
    .describe('Number of pushes that a period allows'),
  period: bodyInteger({ min: 1, max: MAX_SECONDS })
    .nullable()
    .default(null)
    .describe('Length of the period in seconds'),
}).superRefine(({ message_limit, period }, ctx) => {
  if ((message_limit === null) === (period === null)) return;
  const [missing, given] = period === null ? ['period', 'message_limit'] : ['message_limit', 'period'];
  ctx.addIssue({
    code: 'custom',
    path: [missing!],
    message: `is required with ${given}; without a limit both are null`,
  });
});

const timeOfDay = z.string().transform((value, ctx) => {
  const minutes = readTimeOfDay(value);
  if (minutes !== undefined) return minutes;
  ctx.issues.push({ code: 'custom', message: 'must be a time from 00:00 to 23:59, such as 22:00', input: value });
  return z.NEVER;
});

const zone = text().refine(isTimeZone, 'must be a zone of the IANA database, such as Europe/Paris');

const QuietHours = closedObject({
  start: timeOfDay,
  end: timeOfDay.describe('Not included; earlier than start: on the next day'),
  timezone: zone.nullable().default(null).describe("By default the app's default_tz"),
}).refine(({ start, end }) => start !== end, { path: ['end'], error: 'must differ from start' });

const others = {
  store_id: text().nullable().optional(),
  sku: text().nullable().optional(),
  app_type: appType,
  qa: bodyFlag.optional().describe('True for a test app; by default false'),
  parent_identifier: identifier
    .nullable()
    .optional()
    .describe('Identifier of the parent app, which must not have a parent itself'),
  domains: z
    .unknown()
    .optional()
    .meta({ type: 'array', items: { type: 'string' } })
    .describe('Host names of a Web App; Millrace ignores them for other types'),
  default_tz: zone.optional().describe('By default Europe/Paris'),
  app_groups: textArray(identifier, MAX_GROUPS).optional().describe('Identifiers of app groups'),
  localizations: jsonArray(Localization, { max: MAX_LANGUAGES, maxBytes: LIST_BYTES }).optional(),
  icon: jsonObject(stored(MEMBER_BYTES, Icon.nullable())).optional(),
  cv_icon: jsonObject(stored(MEMBER_BYTES, Icon.nullable())).optional(),
  primary_category: text().nullable().optional(),
  secondary_category: text().nullable().optional(),
  statuses: jsonArray(Status, { max: MAX_VERSIONS, maxBytes: LIST_BYTES }).optional(),
  fcm_key: text({ max: 10_000 }).nullable().optional().describe('Key for pushes to Android'),
  crm_syncable: bodyFlag.optional().describe('By default false'),
  inbox_days_to_live: bodyInteger({ min: 1, max: MAX_DAYS }).nullable().optional(),
  rate_limit: jsonObject(stored(MEMBER_BYTES, RateLimit.nullable())).optional(),
  gdpr_emails: textArray(email, MAX_EMAILS)
    .optional()
    .describe(
      'Recipients of mails about privacy requests from its devices; only members with gdpr_data_manage get mails',
    ),
  gdpr_approval: bodyFlag.optional().describe('Deletions that its devices request wait for approval; by default true'),
  session_timeout: bodyInteger({ min: 15, max: 3_600 })
    .optional()
    .describe('Seconds without an event after which a session ends; by default 120'),
  verified_users: bodyFlag
    .optional()
    .describe('Messages go only to devices on which a user token has vouched for the user; by default false'),
  quiet_hours: jsonObject(stored(MEMBER_BYTES, QuietHours.nullable()))
    .optional()
    .describe('Hours in which pushes wait; by default none'),
  send_rate: bodyInteger({ min: 1, max: MAX_SEND_RATE })
    .nullable()
    .optional()
    .describe('Messages per second at most; by default no limit'),
  outcomes_connection: identifier
    .nullable()
    .optional()
    .describe('Identifier of a webhook connection that gets the outcome of each message from then on; by default none'),
};

export const NewApp = z
  .object({
    name,
    package_name: packageName,
    ...others,
    store_fetched: bodyFlag
      .default(false)
      .describe(
        'Copied from a store account: package_name, store_id, sku, app_type, qa, domains and default_tz cannot change later',
      ),
  })
  .meta({ id: 'NewApp' });
export type NewApp = z.output<typeof NewApp>;

export const AppChange = z
  .object({ name: name.optional(), package_name: packageName.optional(), ...others, revision: ofRevision })
  .meta({ id: 'AppChange' });
export type AppChange = z.output<typeof AppChange>;

const shownImage = z.string().nullable();
export const AppIcon = z.object({ thumb: shownImage, medium: shownImage, large: shownImage }).meta({ id: 'AppIcon' });
export type AppIcon = z.output<typeof AppIcon>;

const epoch = z.int().describe('Seconds since the epoch');
const orNone = z.string().nullable();

/** An app as the API returns it (reference: App), with further settings. */
export const App = z
  .object({
    identifier: z.string(),
    name: z.string(),
    localizations: z.array(
      z.object({ language: z.string(), original_name: z.string(), name: z.string(), description: orNone }),
    ),
    store_id: orNone,
    package_name: z.string(),
    sku: orNone,
    fcm_key: orNone.describe(
      'Key for pushes to Android; null if not set, or if the caller lacks the right apps_manage',
    ),
    platform: z.enum(APP_TYPES),
    platform_id: z.enum(['ios', 'android', 'web']),
    is_qa: z.boolean().describe('True for a test app'),
    has_usage_data: z.boolean().describe('True if there is a device or a session'),
    has_pem_file: z.boolean().describe('True if a push certificate is neither revoked nor expired'),
    has_api_key: z.boolean().describe('True if its SDK can send: a key is not revoked'),
    last_sdk_version: orNone,
    children_app_id: z.array(z.string()),
    parent_app_id: orNone,
    domains: z.array(z.string()),
    downloads: z.int().describe('Number of devices'),
    downloads_last_report_date: epoch
      .nullable()
      .describe('UTC day on which the newest device was first seen, in seconds since the epoch'),
    mau: z.int().describe('Number of devices seen in the last 30 days'),
    crm_syncable: z.boolean(),
    has_unwanted_status: z.boolean().describe('True if the app is removed from sale or inactive'),
    inbox_days_to_live: z.int().nullable(),
    rate_limit: z.object({ message_limit: z.int().nullable(), period: z.int().nullable().describe('In seconds') }),
    gdpr_emails: z.array(z.string()),
    gdpr_emails_not_mailed: z
      .array(z.string())
      .describe('Addresses that get no mail: they belong to no member with gdpr_data_manage'),
    gdpr_approval: z.boolean().describe('True: deletions that its devices request wait for approval'),
    app_groups: z.array(z.object({ identifier: z.string(), name: z.string(), created_at: epoch })),
    default_tz: z.string(),
    newest_version: orNone,
    last_version_status: orNone,
    last_update: epoch.nullable(),
    app_icon: shownImage,
    icon: AppIcon,
    cv_icon: AppIcon,
    statuses: z.array(z.object({ cdate: epoch, state: z.string(), version_number: z.string() })),
    current_live_version: orNone,
    current_version: orNone,
    primary_category: orNone,
    secondary_category: orNone,
    session_timeout: z.int().describe('Seconds without an event after which a session ends'),
    verified_users: z
      .boolean()
      .describe('True: messages go only to devices on which a user token has vouched for the user'),
    quiet_hours: z
      .object({ start: z.string(), end: z.string(), timezone: orNone.describe('Null: default_tz') })
      .nullable()
      .describe('Hours in which pushes wait, such as 22:00 to 07:00'),
    send_rate: z.int().nullable().describe('Messages per second at most; null: no limit'),
    outcomes_connection: orNone.describe('Identifier of the connection that gets the outcomes of messages'),
    store_fetched: z.boolean(),
    revision: z.int().describe('Increases with each change of its settings and groups'),
    sor_id: z.string().describe('Identifier of the System of Records for the data that its SDK sends'),
  })
  .meta({ id: 'App' });
export type App = z.output<typeof App>;

/** The response to a creation leaves some members out (reference: App). */
export const CreatedApp = App.omit({
  fcm_key: true,
  crm_syncable: true,
  inbox_days_to_live: true,
  rate_limit: true,
  gdpr_emails: true,
  gdpr_emails_not_mailed: true,
  app_groups: true,
  app_icon: true,
}).meta({ id: 'CreatedApp' });
export type CreatedApp = z.output<typeof CreatedApp>;

const SHARED = { tag: 'Apps' } as const;
const PATH = '/api/apps';
const params = z.object({ app_identifier: identifier });
/** Only a change of these needs it. */
const MANAGE = {
  ...SHARED,
  right: 'apps_manage',
  rightsByField: Object.fromEntries(PRIVACY_SETTINGS.map((setting) => [setting, 'gdpr_data_manage'] as const)),
} as const;
const Apps = z.object({ apps: z.array(App) });
/** An app as it is viewed: the key only if it is asked for. */
export const ViewedApp = App.partial({ fcm_key: true }).meta({ id: 'ViewedApp' });
export type ViewedApp = z.output<typeof ViewedApp>;
const ViewedApps = z.object({ apps: z.array(ViewedApp) });

export const listApps = operation({
  id: 'listApps',
  ...SHARED,
  right: 'apps',
  method: 'GET',
  path: PATH,
  summary: 'List apps',
  audits: 'read app',
  query: z.object({
    unwanted: queryFlag.default(false).describe('Include apps that are removed from sale or inactive'),
    ...secretsQuery('fcm_key'),
  }),
  result: ViewedApps,
});

export const viewApp = operation({
  id: 'viewApp',
  ...SHARED,
  right: 'apps',
  method: 'GET',
  path: `${PATH}/:app_identifier`,
  summary: 'View an app',
  audits: 'read app',
  params,
  query: z.object(secretsQuery('fcm_key')),
  result: ViewedApps,
});

export const createApp = operation({
  id: 'createApp',
  ...MANAGE,
  method: 'POST',
  path: PATH,
  summary: 'Create an app and its System of Records',
  description: 'To let its SDK send data, add a key: POST /api/apps/<app_identifier>/api_keys.',
  audits: 'create app',
  body: NewApp,
  result: CreatedApp,
});

export const updateApp = operation({
  id: 'updateApp',
  ...MANAGE,
  method: 'PUT',
  path: `${PATH}/:app_identifier`,
  summary: 'Change an app',
  description: 'app_type is required; other members that you leave out stay. Lists and objects replace earlier ones.',
  audits: ['read app', 'update app'],
  params,
  body: AppChange,
  result: Apps,
});

const TIME_OF_DAY = /^([01]\d|2[0-3]):([0-5]\d)$/;

function readTimeOfDay(text: string): number | undefined {
  const match = TIME_OF_DAY.exec(text);
  return match ? Number(match[1]) * 60 + Number(match[2]) : undefined;
}
