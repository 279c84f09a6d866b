import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type * as api from '../../api/apps/apps.ts';
import { text, textArray } from '../../api/core/input.ts';
import type { AppType } from '../../domain/apps/app.ts';
import { PRIVACY_SETTINGS } from '../../domain/apps/privacy-settings.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { listAppGroupIds } from '../../store/apps/app-groups.ts';
import type { AppSettings } from '../../store/apps/app-settings.ts';
import { type App, isPackageNameTaken, isParent, lockApp, type WholeApp } from '../../store/apps/apps.ts';
import type { Tx } from '../../store/core/database.ts';
import type { Caller } from '../http/caller.ts';
import { validate } from '../http/validate.ts';
import { requireOutcomesConnection } from '../syncs/connection-record.ts';

/** What an app is unless its makers say otherwise. */
export const APP_DEFAULTS: Omit<AppSettings, 'name' | 'packageName' | 'appType'> = {
  storeId: null,
  sku: null,
  qa: false,
  parentId: null,
  domains: [],
  defaultTz: 'Europe/Paris',
  localizations: [],
  icon: null,
  cvIcon: null,
  primaryCategory: null,
  secondaryCategory: null,
  statuses: [],
  fcmKey: null,
  crmSyncable: false,
  inboxDaysToLive: null,
  messageLimit: null,
  messagePeriod: null,
  gdprEmails: [],
  gdprApproval: true,
  sessionTimeoutSeconds: 120,
  verifiedUsers: false,
  quietHours: null,
  sendRate: null,
  outcomesConnection: null,
};

/** The settings by the members of the body that say them. */
const MEMBERS = {
  name: 'name',
  packageName: 'package_name',
  appType: 'app_type',
  storeId: 'store_id',
  sku: 'sku',
  qa: 'qa',
  parentId: 'parent_identifier',
  domains: 'domains',
  defaultTz: 'default_tz',
  localizations: 'localizations',
  icon: 'icon',
  cvIcon: 'cv_icon',
  primaryCategory: 'primary_category',
  secondaryCategory: 'secondary_category',
  statuses: 'statuses',
  fcmKey: 'fcm_key',
  crmSyncable: 'crm_syncable',
  inboxDaysToLive: 'inbox_days_to_live',
  messageLimit: 'rate_limit',
  messagePeriod: 'rate_limit',
  gdprEmails: 'gdpr_emails',
  gdprApproval: 'gdpr_approval',
  sessionTimeoutSeconds: 'session_timeout',
  verifiedUsers: 'verified_users',
  quietHours: 'quiet_hours',
  sendRate: 'send_rate',
  outcomesConnection: 'outcomes_connection',
} as const satisfies Record<keyof AppSettings, keyof api.AppChange>;

/** What the reference has in the body besides `name` and `parent_identifier`; all other members are Millrace's own. */
const OF_THE_STORE: readonly string[] = ['package_name', 'store_id', 'sku', 'app_type', 'qa', 'domains', 'default_tz'];

/** The type that a body gives, once its package name is known to be free. */
async function readAppType(tx: Tx, entityId: number, body: api.AppChange, before: App | null): Promise<AppType> {
  const errors: { element: string; message: string }[] = [];
  const { package_name: packageName } = body;
  if (packageName !== undefined && (await isPackageNameTaken(tx, entityId, packageName, before?.id ?? null))) {
    errors.push({ element: 'package_name', message: `Package name ${packageName} has already been taken` });
  }
  if (body.app_type === null) errors.push({ element: 'app_type', message: "App type can't be blank" });
  if (errors.length === 0) return body.app_type!;
  // The reference's own: HTTP 400 with an integer status, and messages without the field's name before them.
  return refuse(400, 400, errors[0]!.message, {
    messages: errors.map(({ element, message }) => ({ element, severity: 'error', message })),
    errors: errors.map(({ message }) => message),
  });
}

/** The settings as a body gives them; what it leaves out is as before, or as of a new app. */
export async function readSettings(
  tx: Tx,
  entityId: number,
  body: api.AppChange & { name: string; package_name: string },
  before: WholeApp | null,
): Promise<AppSettings> {
  const appType = await readAppType(tx, entityId, body, before);
  const stays = before ?? APP_DEFAULTS;
  const or = <T>(given: T | undefined, otherwise: T) => (given === undefined ? otherwise : given);
  const rateLimit = body.rate_limit === null ? { message_limit: null, period: null } : body.rate_limit;
  return {
    name: body.name,
    packageName: body.package_name,
    appType,
    storeId: or(body.store_id, stays.storeId),
    sku: or(body.sku, stays.sku),
    qa: or(body.qa, stays.qa),
    parentId: await readParent(tx, entityId, body.parent_identifier, before),
    domains: appType === 'Web App' ? or(readDomains(body.domains), stays.domains) : [],
    defaultTz: or(body.default_tz, stays.defaultTz),
    localizations: or(body.localizations, stays.localizations),
    icon: or(body.icon, stays.icon),
    cvIcon: or(body.cv_icon, stays.cvIcon),
    primaryCategory: or(body.primary_category, stays.primaryCategory),
    secondaryCategory: or(body.secondary_category, stays.secondaryCategory),
    statuses: or(body.statuses, stays.statuses),
    fcmKey: or(body.fcm_key, stays.fcmKey),
    crmSyncable: or(body.crm_syncable, stays.crmSyncable),
    inboxDaysToLive: or(body.inbox_days_to_live, stays.inboxDaysToLive),
    messageLimit: or(rateLimit?.message_limit, stays.messageLimit),
    messagePeriod: or(rateLimit?.period, stays.messagePeriod),
    gdprEmails: or(body.gdpr_emails, stays.gdprEmails),
    gdprApproval: or(body.gdpr_approval, stays.gdprApproval),
    sessionTimeoutSeconds: or(body.session_timeout, stays.sessionTimeoutSeconds),
    verifiedUsers: or(body.verified_users, stays.verifiedUsers),
    quietHours: or(body.quiet_hours, stays.quietHours),
    sendRate: or(body.send_rate, stays.sendRate),
    outcomesConnection: await readOutcomesConnection(tx, entityId, body.outcomes_connection, stays.outcomesConnection),
  };
}

/** One that stays need not be looked at: it can't be deleted meanwhile. */
async function readOutcomesConnection(
  tx: Tx,
  entityId: number,
  given: string | null | undefined,
  before: string | null,
): Promise<string | null> {
  if (given === undefined || given === null || given === before) return given === undefined ? before : given;
  return requireOutcomesConnection(tx, entityId, given, 'outcomes_connection');
}

/** Two levels: a parent has none. It is held, so that it gets none meanwhile. */
async function readParent(
  tx: Tx,
  entityId: number,
  given: string | null | undefined,
  before: WholeApp | null,
): Promise<number | null> {
  if (given === undefined) return before?.parentId ?? null;
  if (given === null) return null;
  if (given === before?.identifier) refuseField('parent_identifier', 'names the app itself');
  const parent = (await lockApp(tx, entityId, given)) ?? refuseField('parent_identifier', 'names no app of the entity');
  if (parent.id === before?.parentId) return parent.id;
  if (parent.parentId !== null)
    refuseField('parent_identifier', 'names an app that has a parent itself: there are two levels');
  if (before && (await isParent(tx, entityId, before.id))) {
    refuseField('parent_identifier', "can't be given to an app that is a parent itself: there are two levels");
  }
  return parent.id;
}

/** The ids of the groups that a body names; undefined where it names none. */
export async function readGroups(
  tx: Tx,
  entityId: number,
  identifiers: string[] | undefined,
): Promise<number[] | undefined> {
  if (identifiers === undefined) return undefined;
  const ids = await listAppGroupIds(tx, entityId, identifiers);
  const unknown = identifiers.findIndex((identifier) => !ids.has(identifier));
  if (unknown >= 0) refuseField(`app_groups.${unknown}`, 'names no app group of the entity');
  return [...ids.values()];
}

/** The members of a body that made a difference. */
export function changedMembers(before: AppSettings, after: AppSettings): string[] {
  const changed = Object.entries(MEMBERS).filter(([setting]) => {
    const key = setting as keyof AppSettings;
    return !isDeepStrictEqual(before[key], after[key]);
  });
  return [...new Set(changed.map(([, member]) => member))];
}

/**
 * Refuses a change of who receives personal data, or decides about it, without the right to; `before` is null for a new
 * app.
 */
export function refuseChangeOfPrivacy({ rights }: Caller, before: AppSettings | null, after: AppSettings): void {
  if (rights.has('gdpr_data_manage')) return;
  const changed = changedMembers({ ...after, ...(before ?? APP_DEFAULTS) }, after);
  const member = PRIVACY_SETTINGS.find((setting) => changed.includes(setting));
  if (member) refuse(403, 'forbidden', `This needs the right gdpr_data_manage: it sets ${member}`);
}

/**
 * What comes from a store account is changed there (reference: Apps, 3); the settings that no store has are changed
 * here.
 */
export function refuseChangeOfStoreFetched(changed: readonly string[]): void {
  const fetched = changed.find((member) => OF_THE_STORE.includes(member));
  if (fetched === undefined) return;
  refuseField(
    fetched,
    `stays as it is in the store: of an app from a connected store account ${OF_THE_STORE.join(', ')} don't change`,
  );
}

/** An app as a caller says it (docs/apps.md). */

const MAX_DOMAINS = 200;

const HOST =
  /^(?:\*\.)?(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)*[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?(?::\d{1,5})?$/u;

const host = text({ max: 260 }).regex(HOST, 'must be a host name, such as www.example.com');
const WebApp = z.object({ domains: textArray(host, MAX_DOMAINS).optional() });

/** The domains that a body gives a web app; undefined where it gives none. */
function readDomains(domains: unknown): string[] | undefined {
  return validate(WebApp, { domains }, 'body').domains;
}
