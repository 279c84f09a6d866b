import type { AppType } from '../../domain/apps/app.ts';
import type { QuietHours } from '../../domain/apps/quiet-hours.ts';
import type { Secrets } from '../core/secrets.ts';

type Localization = { language: string; original_name: string; name: string; description: string | null };
/** Addresses of images. */
export type AppIcon = { thumb: string | null; medium: string | null; large: string | null };
/** A version in its store, as domain/app-statuses reads it. */
type AppStatus = { cdate: number; state: string; version_number: string };

/** What its makers say of an app. */
export type AppSettings = {
  name: string;
  packageName: string;
  appType: AppType;
  storeId: string | null;
  sku: string | null;
  qa: boolean;
  parentId: number | null;
  /** Of a web app; of others none. */
  domains: string[];
  defaultTz: string;
  /** None: its name, in English. */
  localizations: Localization[];
  icon: AppIcon | null;
  cvIcon: AppIcon | null;
  primaryCategory: string | null;
  secondaryCategory: string | null;
  statuses: AppStatus[];
  fcmKey: string | null;
  crmSyncable: boolean;
  inboxDaysToLive: number | null;
  /** At most so many pushes in a period, which is in seconds; both are null or neither. */
  messageLimit: number | null;
  messagePeriod: number | null;
  gdprEmails: string[];
  /** Deletions asked for from its devices wait for somebody's approval. */
  gdprApproval: boolean;
  sessionTimeoutSeconds: number;
  /** Messages go only where a user token has vouched for the user. */
  verifiedUsers: boolean;
  quietHours: QuietHours | null;
  /** Messages a second at most. */
  sendRate: number | null;
  /** The identifier of the connection that gets what becomes of messages. */
  outcomesConnection: string | null;
};

/** The columns of the settings. */
export type SettingsRow = {
  name: string;
  package_name: string;
  app_type: AppType;
  store_id: string | null;
  sku: string | null;
  qa: boolean;
  parent_id: number | null;
  domains: string[];
  default_tz: string;
  localizations: Localization[];
  icon: AppIcon | null;
  cv_icon: AppIcon | null;
  primary_category: string | null;
  secondary_category: string | null;
  statuses: AppStatus[];
  fcm_key: string | null;
  crm_syncable: boolean;
  inbox_days_to_live: number | null;
  message_limit: number | null;
  message_period: number | null;
  gdpr_emails: string[];
  gdpr_approval: boolean;
  session_timeout: number;
  verified_users: boolean;
  quiet_hours: QuietHours | null;
  send_rate: number | null;
  outcomes_connection: string | null;
};

export function toSettings(secrets: Secrets, entityId: number, identifier: string, row: SettingsRow): AppSettings {
  return {
    name: row.name,
    packageName: row.package_name,
    appType: row.app_type,
    storeId: row.store_id,
    sku: row.sku,
    qa: row.qa,
    parentId: row.parent_id,
    domains: row.domains,
    defaultTz: row.default_tz,
    localizations: row.localizations,
    icon: row.icon,
    cvIcon: row.cv_icon,
    primaryCategory: row.primary_category,
    secondaryCategory: row.secondary_category,
    statuses: row.statuses,
    fcmKey: row.fcm_key === null ? null : secrets.open(row.fcm_key, fcmKeyCell(entityId, identifier)),
    crmSyncable: row.crm_syncable,
    inboxDaysToLive: row.inbox_days_to_live,
    messageLimit: row.message_limit,
    messagePeriod: row.message_period,
    gdprEmails: row.gdpr_emails,
    gdprApproval: row.gdpr_approval,
    sessionTimeoutSeconds: row.session_timeout,
    verifiedUsers: row.verified_users,
    quietHours: row.quiet_hours,
    sendRate: row.send_rate,
    outcomesConnection: row.outcomes_connection,
  };
}

/** The settings as they are stored, by column. */
export function toColumns(
  secrets: Secrets,
  entityId: number,
  identifier: string,
  settings: AppSettings,
): Record<keyof SettingsRow, unknown> {
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
