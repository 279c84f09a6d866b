import * as api from '../../api/apps/apps.ts';
import { isUnwanted, newestLiveStatus, newestStatus } from '../../domain/apps/app-statuses.ts';
import type { AppType } from '../../domain/apps/app.ts';
import { showTimeOfDay } from '../../domain/apps/quiet-hours.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { type AppFigures, type KeptFigures, listAppFigures } from '../../store/apps/app-figures.ts';
import type { AppIcon } from '../../store/apps/app-settings.ts';
import { findWholeApp, type WholeApp } from '../../store/apps/apps.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { listMembersToNotify } from '../../store/gdpr/mails.ts';
import type { Caller } from '../http/caller.ts';

const PLATFORM_IDS = { 'iOS App': 'ios', 'Android App': 'android', 'Web App': 'web' } as const satisfies Record<
  AppType,
  string
>;
const NO_ICON: AppIcon = { thumb: null, medium: null, large: null };

/** The apps as the caller sees them, in their order. */
export async function showApps(db: Queryable, kept: KeptFigures, caller: Caller, apps: WholeApp[]): Promise<api.App[]> {
  const figures = await listAppFigures(
    db,
    caller.entityId,
    apps.map(({ id }) => id),
    kept,
  );
  const mailed = new Set(
    (
      await listMembersToNotify(
        db,
        caller.entityId,
        apps.flatMap(({ gdprEmails }) => gdprEmails),
      )
    ).map(folded),
  );
  return apps.map((app) => ({
    ...showSettings(app),
    ...showVersions(app),
    ...showFigures(figures.get(app.id)!),
    fcm_key: seesFcmKey(caller) ? app.fcmKey : null,
    gdpr_emails_not_mailed: app.gdprEmails.filter((email) => !mailed.has(folded(email))),
    children_app_id: app.childIdentifiers,
    parent_app_id: app.parentIdentifier,
    app_groups: app.groups.map(({ identifier, name, createdAtSeconds }) => ({
      identifier,
      name,
      created_at: createdAtSeconds,
    })),
    store_fetched: app.storeFetched,
    sor_id: app.sorIdentifier,
  }));
}

export async function showCreatedApp(
  db: Queryable,
  kept: KeptFigures,
  caller: Caller,
  app: WholeApp,
): Promise<api.CreatedApp> {
  return api.CreatedApp.parse((await showApps(db, kept, caller, [app]))[0]);
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
export async function requireWholeApp(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  identifier: string,
): Promise<WholeApp> {
  return (await findWholeApp(db, secrets, entityId, identifier)) ?? refuse(404, 'not_found', 'App not found');
}

function showSettings(app: WholeApp) {
  const { identifier, name } = app;
  return {
    identifier,
    name,
    localizations:
      app.localizations.length > 0
        ? app.localizations
        : [{ language: 'en', original_name: name, name, description: null }],
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
    verified_users: app.verifiedUsers,
    quiet_hours: app.quietHours && {
      ...app.quietHours,
      start: showTimeOfDay(app.quietHours.start),
      end: showTimeOfDay(app.quietHours.end),
    },
    send_rate: app.sendRate,
    outcomes_connection: app.outcomesConnection,
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
