/** Settings of an app, and their columns. */

import type { AppType } from '../../domain/apps/app.ts';
import type { QuietHours } from '../../domain/apps/quiet-hours.ts';
import type { Row } from '../core/camel-row.ts';
import type { Secrets } from '../core/secrets.ts';

type Localization = { language: string; original_name: string; name: string; description: string | null };
/** Addresses of images. */
export type AppIcon = { thumb: string | null; medium: string | null; large: string | null };
/** A version in the app's store, as domain/apps/app-statuses.ts reads it. */
type AppStatus = { cdate: number; state: string; version_number: string };

/** The settings of an app. */
export type AppSettings = {
  name: string;
  packageName: string;
  appType: AppType;
  storeId: string | null;
  sku: string | null;
  qa: boolean;
  parentId: number | null;
  /** Domains of a web app; empty for others. */
  domains: string[];
  defaultTz: string;
  /** Empty: its name, in English. */
  localizations: Localization[];
  icon: AppIcon | null;
  cvIcon: AppIcon | null;
  primaryCategory: string | null;
  secondaryCategory: string | null;
  statuses: AppStatus[];
  fcmKey: string | null;
  crmSyncable: boolean;
  inboxDaysToLive: number | null;
  /** Maximum number of pushes in a period of seconds; both are null, or neither. */
  messageLimit: number | null;
  messagePeriod: number | null;
  gdprEmails: string[];
  /** Deletions that its devices request wait for approval. */
  gdprApproval: boolean;
  sessionTimeoutSeconds: number;
  /** Messages reach only devices for which a user token has vouched. */
  verifiedUsers: boolean;
  quietHours: QuietHours | null;
  /** Maximum number of messages per second. */
  sendRate: number | null;
  /** The identifier of the connection that gets outcomes of messages. */
  outcomesConnection: string | null;
};

/** The columns of the settings. */
export type SettingsRow = Row<
  'apps',
  Exclude<keyof AppSettings, 'sessionTimeoutSeconds'> | 'sessionTimeout',
  {
    localizations: Localization[];
    icon: AppIcon | null;
    cvIcon: AppIcon | null;
    statuses: AppStatus[];
    quietHours: QuietHours | null;
  }
>;

export function toSettings(
  secrets: Secrets,
  entityId: number,
  identifier: string,
  { fcmKey, sessionTimeout: sessionTimeoutSeconds, ...row }: SettingsRow,
): AppSettings {
  return {
    ...row,
    fcmKey: fcmKey === null ? null : secrets.open(fcmKey, fcmKeyCell(entityId, identifier)),
    sessionTimeoutSeconds,
  };
}

/** Returns the settings by column, as they are stored. */
export function toColumns(
  secrets: Secrets,
  entityId: number,
  identifier: string,
  settings: AppSettings,
): Record<string, unknown> {
  const { fcmKey } = settings;
  return {
    name: settings.name,
    package_name: settings.packageName,
    app_type: settings.appType,
    store_id: settings.storeId,
    sku: settings.sku,
    qa: settings.qa,
    parent_id: settings.parentId,
    domains: settings.domains,
    default_tz: settings.defaultTz,
    localizations: JSON.stringify(settings.localizations),
    icon: settings.icon,
    cv_icon: settings.cvIcon,
    primary_category: settings.primaryCategory,
    secondary_category: settings.secondaryCategory,
    statuses: JSON.stringify(settings.statuses),
    fcm_key: fcmKey === null ? null : secrets.seal(fcmKey, fcmKeyCell(entityId, identifier)),
    crm_syncable: settings.crmSyncable,
    inbox_days_to_live: settings.inboxDaysToLive,
    message_limit: settings.messageLimit,
    message_period: settings.messagePeriod,
    gdpr_emails: settings.gdprEmails,
    gdpr_approval: settings.gdprApproval,
    session_timeout: settings.sessionTimeoutSeconds,
    verified_users: settings.verifiedUsers,
    quiet_hours: settings.quietHours,
    send_rate: settings.sendRate,
    outcomes_connection: settings.outcomesConnection,
  };
}

function fcmKeyCell(entityId: number, identifier: string) {
  return { table: 'apps', column: 'fcm_key', entityId, row: identifier };
}
