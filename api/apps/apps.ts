import { z } from 'zod';
import { APP_TYPES, type AppType } from '../../domain/apps/app.ts';
import { isStorable } from '../../domain/core/text-limits.ts';
import { isTimeZone } from '../../domain/core/time-zone.ts';
import {
  bodyFlag, bodyInteger, closedObject, email, identifier, jsonArray, jsonObject, name, queryFlag, text, textArray,
} from '../core/input.ts';
import { operation } from '../core/operation.ts';

const MAX_DAYS = 3_650;
const MAX_SECONDS = 31_536_000;
const MAX_EMAILS = 20;
const MAX_GROUPS = 200;
const MAX_VERSIONS = 1_000;
const MAX_LANGUAGES = 200;

/** SDKs say which app they are in by it, letter by letter. */
const packageName = text().refine((value) => /^[^\s\p{Cc}]+$/u.test(value), 'must not hold spaces: it is such as com.example.shop');

/** The types by their names; null where it is blank, which the reference has an answer for. */
const appType = z.string().nullish()
  .transform((value, ctx): AppType | null => {
    if (value === null || value === undefined || value.trim() === '') return null;
    const known = APP_TYPES.find((type) => type === value);
    if (known !== undefined) return known;
    ctx.issues.push({ code: 'custom', message: `must be one of ${APP_TYPES.join(', ')}`, input: value });
    return z.NEVER;
  })
  .meta({ enum: [...APP_TYPES], description: 'Required' });

const image = z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).max(2_048)
  .refine(isStorable, 'must not hold NUL or half a surrogate pair').nullable().default(null);

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
  message_limit: bodyInteger({ min: 1, max: 1_000_000 }).nullable().default(null),
  period: bodyInteger({ min: 1, max: MAX_SECONDS }).nullable().default(null).describe('Seconds'),
}).superRefine(({ message_limit, period }, ctx) => {
  if ((message_limit === null) === (period === null)) return;
  const [missing, given] = period === null ? ['period', 'message_limit'] : ['message_limit', 'period'];
  ctx.addIssue({ code: 'custom', path: [missing!], message: `is required with ${given}; without a limit both are null` });
});

const others = {
  store_id: text().nullable().optional(),
  sku: text().nullable().optional(),
  app_type: appType,
  qa: bodyFlag.optional().describe('By default false'),
  parent_identifier: identifier.nullable().optional().describe('An app that has no parent itself'),
  domains: z.unknown().optional().meta({ type: 'array', items: { type: 'string' } })
    .describe('Host names of a Web App; passed over for others'),
  default_tz: text().refine(isTimeZone, 'must be a zone of the IANA database, such as Europe/Paris').optional()
    .describe('By default Europe/Paris'),
  app_groups: textArray(identifier, MAX_GROUPS).optional().describe('Identifiers of app groups'),
  localizations: jsonArray(Localization, MAX_LANGUAGES).optional(),
  icon: jsonObject(Icon.nullable()).optional(),
  cv_icon: jsonObject(Icon.nullable()).optional(),
  primary_category: text().nullable().optional(),
  secondary_category: text().nullable().optional(),
  statuses: jsonArray(Status, MAX_VERSIONS).optional(),
  fcm_key: text({ max: 10_000 }).nullable().optional(),
  crm_syncable: bodyFlag.optional().describe('By default false'),
  inbox_days_to_live: bodyInteger({ min: 1, max: MAX_DAYS }).nullable().optional(),
  rate_limit: jsonObject(RateLimit.nullable()).optional(),
  gdpr_emails: textArray(email, MAX_EMAILS).optional(),
  gdpr_approval: bodyFlag.optional().describe('Deletions asked for from its devices wait for approval; by default true'),
  session_timeout: bodyInteger({ min: 15, max: 3_600 }).optional().describe('Seconds; by default 120'),
};

export const NewApp = z.object({
  name, package_name: packageName, ...others,
  store_fetched: bodyFlag.default(false)
    .describe('Copied out of a connected store account: package_name, store_id, sku, app_type, qa, domains and default_tz stay later'),
}).meta({ id: 'NewApp' });
export type NewApp = z.output<typeof NewApp>;

/** Of a change: what is left out stays. */
export const AppChange = z.object({ name: name.optional(), package_name: packageName.optional(), ...others }).meta({ id: 'AppChange' });
export type AppChange = z.output<typeof AppChange>;

const shownImage = z.string().nullable();
export const AppIcon = z.object({ thumb: shownImage, medium: shownImage, large: shownImage }).meta({ id: 'AppIcon' });
export type AppIcon = z.output<typeof AppIcon>;

const epoch = z.int().describe('Seconds since the epoch');
const orNone = z.string().nullable();

/** An app as it is shown (reference: App), and what was said of it besides. */
export const App = z.object({
  identifier: z.string(),
  name: z.string(),
  localizations: z.array(z.object({ language: z.string(), original_name: z.string(), name: z.string(), description: orNone })),
  store_id: orNone,
  package_name: z.string(),
  sku: orNone,
  fcm_key: orNone.describe('Null also for a caller without the right apps_manage'),
  platform: z.enum(APP_TYPES),
  platform_id: z.enum(['ios', 'android', 'web']),
  is_qa: z.boolean(),
  has_usage_data: z.boolean(),
  has_pem_file: z.boolean(),
  last_sdk_version: orNone,
  children_app_id: z.array(z.string()),
  parent_app_id: orNone,
  domains: z.array(z.string()),
  downloads: z.int(),
  downloads_last_report_date: epoch.nullable(),
  mau: z.int(),
  crm_syncable: z.boolean(),
  has_unwanted_status: z.boolean(),
  inbox_days_to_live: z.int().nullable(),
  rate_limit: z.object({ message_limit: z.int().nullable(), period: z.int().nullable().describe('Seconds') }),
  gdpr_emails: z.array(z.string()),
  gdpr_emails_not_mailed: z.array(z.string()).describe('Those of gdpr_emails that get no mail: of no member with gdpr_data_manage'),
  gdpr_approval: z.boolean().describe('Deletions asked for from its devices wait for approval'),
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
  session_timeout: z.int().describe('Seconds'),
  store_fetched: z.boolean(),
  sor_id: z.string().describe('The System of Records of what its SDK sends'),
}).meta({ id: 'App' });
export type App = z.output<typeof App>;

/** The answer to a creation leaves some out (reference: App). */
export const CreatedApp = App.omit({
  fcm_key: true, crm_syncable: true, inbox_days_to_live: true, rate_limit: true, gdpr_emails: true,
  gdpr_emails_not_mailed: true, app_groups: true, app_icon: true,
}).meta({ id: 'CreatedApp' });
export type CreatedApp = z.output<typeof CreatedApp>;

/** The apps of the entity (docs/apps.md). */
const SHARED = { tag: 'Apps' } as const;
const PATH = '/api/apps';
const params = z.object({ app_identifier: identifier });
const PRIVACY_SETTINGS = 'Setting gdpr_emails or gdpr_approval needs gdpr_data_manage, too.';
const Apps = z.object({ apps: z.array(App) });

export const listApps = operation({
  id: 'listApps',
  ...SHARED,
  right: 'apps',
  method: 'GET',
  path: PATH,
  summary: 'List apps',
  audits: 'read app',
  query: z.object({ unwanted: queryFlag.default(false).describe('Also those that are removed from sale or inactive') }),
  result: Apps,
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
  result: Apps,
});

export const createApp = operation({
  id: 'createApp',
  ...SHARED,
  right: 'apps_manage',
  method: 'POST',
  path: PATH,
  summary: 'Create an app, with the System of Records for what its SDK sends',
  description: `Its SDK can send once it has a key: POST /api/apps/<app_identifier>/api_keys. ${PRIVACY_SETTINGS}`,
  audits: 'create app',
  body: NewApp,
  result: CreatedApp,
});

export const updateApp = operation({
  id: 'updateApp',
  ...SHARED,
  right: 'apps_manage',
  method: 'PUT',
  path: `${PATH}/:app_identifier`,
  summary: 'Change an app',
  description: `Members that are left out stay, but app_type has to be given; arrays are replaced as they are given. ${PRIVACY_SETTINGS}`,
  audits: ['read app', 'update app'],
  params,
  body: AppChange,
  result: Apps,
});
