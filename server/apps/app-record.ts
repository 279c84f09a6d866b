import { z } from 'zod';
import { isUnwanted, newestLiveStatus, newestStatus } from '../../domain/apps/app-statuses.ts';
import { APP_TYPES, type AppType } from '../../domain/apps/app.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { type AppFigures, type KeptFigures, listAppFigures } from '../../store/apps/app-figures.ts';
import type { AppIcon } from '../../store/apps/app-settings.ts';
import { findWholeApp, type WholeApp } from '../../store/apps/apps.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { listMembersToTell } from '../../store/gdpr/mails.ts';
import type { Caller } from '../http/caller.ts';

const image = z.string().nullable();
const Icon = z.object({ thumb: image, medium: image, large: image });
const epoch = z.int().describe('Seconds since the epoch');
const text = z.string().nullable();

/** An app as it is shown (reference: App), and what was said of it besides. */
export const AppRecord = z.object({
  identifier: z.string(),
  name: z.string(),
  localizations: z.array(z.object({ language: z.string(), original_name: z.string(), name: z.string(), description: text })),
  store_id: text,
  package_name: z.string(),
  sku: text,
  fcm_key: text.describe('Null also for a caller without the right apps_manage'),
  platform: z.enum(APP_TYPES),
  platform_id: z.enum(['ios', 'android', 'web']),
  is_qa: z.boolean(),
  has_usage_data: z.boolean(),
  has_pem_file: z.boolean(),
  last_sdk_version: text,
  children_app_id: z.array(z.string()),
  parent_app_id: text,
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
  newest_version: text,
  last_version_status: text,
  last_update: epoch.nullable(),
  app_icon: image,
  icon: Icon,
  cv_icon: Icon,
  statuses: z.array(z.object({ cdate: epoch, state: z.string(), version_number: z.string() })),
  current_live_version: text,
  current_version: text,
  primary_category: text,
  secondary_category: text,
  session_timeout: z.int().describe('Seconds'),
  store_fetched: z.boolean(),
  sor_id: z.string().describe('The System of Records of what its SDK sends'),
});

/** The answer to a creation leaves some out (reference: App). */
export const CreatedApp = AppRecord.omit({
  fcm_key: true, crm_syncable: true, inbox_days_to_live: true, rate_limit: true, gdpr_emails: true,
  gdpr_emails_not_mailed: true, app_groups: true, app_icon: true,
});

const PLATFORM_IDS = { 'iOS App': 'ios', 'Android App': 'android', 'Web App': 'web' } as const satisfies Record<AppType, string>;
const NO_ICON: AppIcon = { thumb: null, medium: null, large: null };

/** The apps as the caller sees them, in their order. */
export async function showApps(
  db: Queryable, kept: KeptFigures, caller: Caller, apps: WholeApp[],
): Promise<z.input<typeof AppRecord>[]> {
  const figures = await listAppFigures(db, caller.entityId, apps.map(({ id }) => id), kept);
  const mailed = new Set((await listMembersToTell(db, caller.entityId, apps.flatMap(({ gdprEmails }) => gdprEmails))).map(folded));
  return apps.map((app) => ({
    ...showSettings(app), ...showVersions(app), ...showFigures(figures.get(app.id)!),
    fcm_key: seesFcmKey(caller) ? app.fcmKey : null,
    gdpr_emails_not_mailed: app.gdprEmails.filter((email) => !mailed.has(folded(email))),
    children_app_id: app.childIdentifiers,
    parent_app_id: app.parentIdentifier,
    app_groups: app.groups.map(({ identifier, name, createdAtSeconds }) => ({ identifier, name, created_at: createdAtSeconds })),
    store_fetched: app.storeFetched,
    sor_id: app.sorIdentifier,
  }));
}

export async function showCreatedApp(
  db: Queryable, kept: KeptFigures, caller: Caller, app: WholeApp,
): Promise<z.input<typeof CreatedApp>> {
  return CreatedApp.parse((await showApps(db, kept, caller, [app]))[0]);
}

/** Addresses are compared without regard to case. */
function folded(email: string): string {
  return email.toLowerCase();
}

/** It is a secret: pushes are sent with it. */
export function seesFcmKey({ rights }: Caller): boolean {
  return rights.has('apps_manage');
}

/** The caller's app with all that is shown of it. */
export async function requireWholeApp(db: Queryable, secrets: Secrets, entityId: number, identifier: string): Promise<WholeApp> {
  return await findWholeApp(db, secrets, entityId, identifier) ?? refuse(404, 'not_found', 'App not found');
}

function showSettings(app: WholeApp) {
  const { identifier, name } = app;
  return {
    identifier, name,
    localizations: app.localizations.length > 0 ? app.localizations : [{ language: 'en', original_name: name, name, description: null }],
    store_id: app.storeId,
    package_name: app.packageName,
    sku: app.sku,
    platform: app.appType,
    platform_id: PLATFORM_IDS[app.appType],
    is_qa: app.qa,
    domains: app.domains,
    crm_syncable: app.crmSyncable,
    inbox_days_to_live: app.inboxDaysToLive,
    rate_limit: { message_limit: app.messageLimit, period: app.messagePeriod },
    gdpr_emails: app.gdprEmails,
    gdpr_approval: app.gdprApproval,
    default_tz: app.defaultTz,
    app_icon: app.icon?.thumb ?? null,
    icon: app.icon ?? NO_ICON,
    cv_icon: app.cvIcon ?? NO_ICON,
    primary_category: app.primaryCategory,
    secondary_category: app.secondaryCategory,
    session_timeout: app.sessionTimeoutSeconds,
  };
}

function showVersions({ statuses }: WholeApp) {
  const newest = newestStatus(statuses);
  return {
    statuses,
    has_unwanted_status: isUnwanted(statuses),
    newest_version: newest?.version_number ?? null,
    last_version_status: newest?.state ?? null,
    last_update: newest?.cdate ?? null,
    current_version: newest?.version_number ?? null,
    current_live_version: newestLiveStatus(statuses)?.version_number ?? null,
  };
}

function showFigures(figures: AppFigures) {
  return {
    has_usage_data: figures.hasUsageData,
    has_pem_file: figures.hasPemFile,
    last_sdk_version: figures.lastSdkVersion,
    downloads: figures.downloads,
    downloads_last_report_date: figures.downloadsLastReportDay,
    mau: figures.monthlyActive,
  };
}
