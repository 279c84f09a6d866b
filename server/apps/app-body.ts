import { z } from 'zod';
import { APP_TYPES, type AppType } from '../../domain/apps/app.ts';
import { isStorable } from '../../domain/core/text-limits.ts';
import { isTimeZone } from '../../domain/core/time-zone.ts';
import { bodyFlag, bodyInteger, closedObject, email, identifier, jsonArray, jsonObject, name, text, textArray } from '../http/input.ts';
import { validate } from '../http/validate.ts';

/** An app as a caller says it (docs/apps.md). */

const MAX_DAYS = 3_650;
const MAX_SECONDS = 31_536_000;
const MAX_DOMAINS = 200;
const MAX_EMAILS = 20;
const MAX_GROUPS = 200;
const MAX_VERSIONS = 1_000;
const MAX_LANGUAGES = 200;

const HOST = /^(?:\*\.)?(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)*[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?(?::\d{1,5})?$/u;

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

export const NewAppBody = z.object({
  name, package_name: packageName, ...others,
  store_fetched: bodyFlag.default(false)
    .describe('Copied out of a connected store account: package_name, store_id, sku, app_type, qa, domains and default_tz stay later'),
});

/** Of a change: what is left out stays. */
export const AppChangeBody = z.object({ name: name.optional(), package_name: packageName.optional(), ...others });

export type AppChangeBody = z.output<typeof AppChangeBody>;

const host = text({ max: 260 }).regex(HOST, 'must be a host name, such as www.example.com');
const WebApp = z.object({ domains: textArray(host, MAX_DOMAINS).optional() });

/** The domains that a body gives a web app; undefined where it gives none. */
export function readDomains(domains: unknown): string[] | undefined {
  return validate(WebApp, { domains }, 'body').domains;
}
