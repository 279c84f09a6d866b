/** The routes of apps: list, create, change. */

import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import * as api from '../../api/apps/apps.ts';
import { text, textArray } from '../../api/core/input.ts';
import { isUnwanted, newestLiveStatus, newestStatus } from '../../domain/apps/app-statuses.ts';
import type { AppType } from '../../domain/apps/app.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { showTimeOfDay } from '../../domain/time/time-of-day.ts';
import { type AppFigures, type KeptFigures, listAppFigures } from '../../store/apps/app-figures.ts';
import { listAppGroupIds, updateGroupsOfApp } from '../../store/apps/app-groups.ts';
import {
  type App,
  type AppIcon,
  type AppSettings,
  findWholeApp,
  insertApp,
  isPackageNameTaken,
  isParent,
  lockApp,
  streamWholeApps,
  updateApp,
  type WholeApp,
} from '../../store/apps/apps.ts';
import { type Queryable, type Tx, write } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { listMembersToNotify } from '../../store/gdpr/mails.ts';
import { listQuietSends } from '../../store/sends/attempts.ts';
import { updateOutcomeDelivery } from '../../store/sends/outcome-deliveries.ts';
import { audit, auditEach } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { streamedResult } from '../http/reply.ts';
import { refuseOlderRevision } from '../http/refuse-older-revision.ts';
import { requireRightOfField } from '../http/right-of-type.ts';
import { type Route, route } from '../http/route.ts';
import { validate } from '../http/validate.ts';
import { wakeSendSoon } from '../jobs/start-soon.ts';
import { requireConnection } from '../syncs/connection-record.ts';

const PLATFORM_IDS = { 'iOS App': 'ios', 'Android App': 'android', 'Web App': 'web' } as const satisfies Record<
  AppType,
  string
>;
const NO_ICON: AppIcon = { thumb: null, medium: null, large: null };

async function showApps(db: Queryable, kept: KeptFigures, caller: Caller, apps: WholeApp[]): Promise<api.App[]> {
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
    revision: app.revision,
    sor_id: app.sorIdentifier,
  }));
}

async function showCreatedApp(
  db: Queryable,
  kept: KeptFigures,
  caller: Caller,
  app: WholeApp,
): Promise<api.CreatedApp> {
  return api.CreatedApp.parse((await showApps(db, kept, caller, [app]))[0]);
}

function folded(email: string): string {
  return email.toLowerCase();
}

/** Returns whether the caller may see the key, by which anyone can send pushes. */
function seesFcmKey({ rights }: Caller): boolean {
  return rights.has('apps_manage');
}

async function requireWholeApp(
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
    session_timeout: app.sessionTimeout,
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
    has_api_key: figures.hasApiKey,
    last_sdk_version: figures.lastSdkVersion,
    downloads: figures.downloads,
    downloads_last_report_date: figures.downloadsLastReportDay,
    mau: figures.monthlyActive,
  };
}

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
  sessionTimeout: 120,
  verifiedUsers: false,
  quietHours: null,
  sendRate: null,
  outcomesConnection: null,
};

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
  sessionTimeout: 'session_timeout',
  verifiedUsers: 'verified_users',
  quietHours: 'quiet_hours',
  sendRate: 'send_rate',
  outcomesConnection: 'outcomes_connection',
} as const satisfies Record<keyof AppSettings, keyof api.AppChange>;

/** Members of the reference's body, beside `name` and `parent_identifier`; all others are Millrace's own. */
const OF_THE_STORE: readonly string[] = ['package_name', 'store_id', 'sku', 'app_type', 'qa', 'domains', 'default_tz'];

/** Returns the type of a body. Refuses a package name that is taken. */
async function readAppType(tx: Tx, entityId: number, body: api.AppChange, before: App | null): Promise<AppType> {
  const errors: { element: string; message: string }[] = [];
  const { package_name: packageName } = body;
  if (packageName !== undefined && (await isPackageNameTaken(tx, entityId, packageName, before?.id ?? null))) {
    errors.push({ element: 'package_name', message: `Package name ${packageName} has already been taken` });
  }
  if (body.app_type === null) errors.push({ element: 'app_type', message: "App type can't be blank" });
  if (errors.length === 0) return body.app_type!;
  // The reference's own form: HTTP 400 with an integer status, and messages without the field's name.
  return refuse(400, 400, errors[0]!.message, {
    messages: errors.map(({ element, message }) => ({ element, severity: 'error', message })),
    errors: errors.map(({ message }) => message),
  });
}

async function readSettings(
  tx: Tx,
  entityId: number,
  body: api.AppChange & { name: string; package_name: string },
  before: WholeApp | null,
): Promise<AppSettings> {
  const appType = await readAppType(tx, entityId, body, before);
  const stays: Partial<AppSettings> = before ?? APP_DEFAULTS;
  const settings = Object.fromEntries(
    Object.entries(MEMBERS).map(([setting, member]) => [
      setting,
      body[member] ?? (body[member] === undefined ? stays[setting as keyof AppSettings] : null),
    ]),
  ) as AppSettings;
  const rateLimit = body.rate_limit === null ? { message_limit: null, period: null } : body.rate_limit;
  const { messageLimit, messagePeriod, domains, outcomesConnection } = before ?? APP_DEFAULTS;
  return {
    ...settings,
    appType,
    parentId: await readParent(tx, entityId, body.parent_identifier, before),
    domains: appType === 'Web App' ? (readDomains(body.domains) ?? domains) : [],
    messageLimit: rateLimit?.message_limit === undefined ? messageLimit : rateLimit.message_limit,
    messagePeriod: rateLimit?.period === undefined ? messagePeriod : rateLimit.period,
    outcomesConnection: await readOutcomesConnection(tx, entityId, body.outcomes_connection, outcomesConnection),
  };
}

/** Skips an unchanged connection: it can't be deleted meanwhile. */
async function readOutcomesConnection(
  tx: Tx,
  entityId: number,
  given: string | null | undefined,
  before: string | null,
): Promise<string | null> {
  if (given === undefined || given === null || given === before) return given === undefined ? before : given;
  return requireConnection(tx, entityId, given, 'outcomes_connection', 'outcomes');
}

/** Locks the parent, so that it gets no parent meanwhile. Refuses one that has a parent. */
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

async function readGroups(tx: Tx, entityId: number, identifiers: string[] | undefined): Promise<number[] | undefined> {
  if (identifiers === undefined) return undefined;
  const ids = await listAppGroupIds(tx, entityId, identifiers);
  const unknown = identifiers.findIndex((identifier) => !ids.has(identifier));
  if (unknown >= 0) refuseField(`app_groups.${unknown}`, 'names no app group of the entity');
  return [...ids.values()];
}

function changedMembers(before: AppSettings, after: AppSettings): string[] {
  const changed = Object.entries(MEMBERS).filter(([setting]) => {
    const key = setting as keyof AppSettings;
    return !isDeepStrictEqual(before[key], after[key]);
  });
  return [...new Set(changed.map(([, member]) => member))];
}

/** Refuses to change who receives personal data without the right. `before` is null for a new app. */
function refuseChangeOfPrivacy(
  operation: typeof api.createApp | typeof api.updateApp,
  caller: Caller,
  before: AppSettings | null,
  after: AppSettings,
): void {
  for (const member of changedMembers({ ...after, ...(before ?? APP_DEFAULTS) }, after))
    requireRightOfField(operation, caller, member);
}

/** Refuses to change settings that come from a store account (reference: Apps, 3). */
function refuseChangeOfStoreFetched(changed: readonly string[]): void {
  const fetched = changed.find((member) => OF_THE_STORE.includes(member));
  if (fetched === undefined) return;
  refuseField(
    fetched,
    `stays as it is in the store: of an app from a connected store account ${OF_THE_STORE.join(', ')} don't change`,
  );
}

/** Maximum number of an app's domains (docs/apps.md). */
const MAX_DOMAINS = 200;

const HOST =
  /^(?:\*\.)?(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)*[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?(?::\d{1,5})?$/u;

const host = text({ max: 260 }).regex(HOST, 'must be a host name, such as www.example.com');
const WebApp = z.object({ domains: textArray(host, MAX_DOMAINS).optional() });

function readDomains(domains: unknown): string[] | undefined {
  return validate(WebApp, { domains }, 'body').domains;
}

const listApps = route(api.listApps, async ({ query, ...who }, { db, secrets, figures, streamedLists }) => {
  return streamedResult(
    'apps',
    streamedLists.shown(who, streamWholeApps(db, secrets, who.caller.entityId), async (piece) => {
      const apps = piece.filter(({ statuses }) => query.unwanted || !isUnwanted(statuses));
      return viewApps(db, figures, who, apps, query.secrets);
    }),
  );
});

const viewApp = route(api.viewApp, async ({ params: { app_identifier }, query, ...who }, { db, secrets, figures }) => {
  const app = await requireWholeApp(db, secrets, who.caller.entityId, app_identifier);
  return { apps: await viewApps(db, figures, who, [app], query.secrets) };
});

async function viewApps(
  db: Queryable,
  kept: KeptFigures,
  who: { caller: Caller; address: string },
  apps: WholeApp[],
  withSecrets: boolean,
): Promise<api.ViewedApp[]> {
  if (withSecrets) await writeDownKeys(db, who, apps);
  const shown = await showApps(db, kept, who.caller, apps);
  return withSecrets ? shown : shown.map(({ fcm_key: _key, ...app }) => app);
}

const createApp = route(api.createApp, async ({ body, keepReply, ...who }, { db, secrets, figures }) => {
  const { entityId } = who.caller;
  return write(
    db,
    async (tx) => {
      const settings = await readSettings(tx, entityId, body, null);
      refuseChangeOfPrivacy(api.createApp, who.caller, null, settings);
      const groups = await readGroups(tx, entityId, body.app_groups);
      const { id, identifier: made } = await insertApp(tx, secrets, entityId, settings, body.store_fetched);
      if (groups) await updateGroupsOfApp(tx, entityId, id, groups);
      await updateOutcomeDelivery(tx, entityId, id, settings.outcomesConnection !== null);
      const details = { app_type: settings.appType, store_fetched: body.store_fetched };
      await audit(tx, who, { action: 'create', subjectKind: 'app', subject: made, details });
      return keepReply(
        tx,
        await showCreatedApp(tx, figures, who.caller, await requireWholeApp(tx, secrets, entityId, made)),
      );
    },
    { collide: true },
  );
});

/** Maximum number of sends signaled at once when quiet hours change; others see it when they continue. */
const MAX_WOKEN = 100;

const changeApp = route(api.updateApp, async ({ params: { app_identifier }, body: given, ...who }, deps) => {
  const { revision, ...body } = given;
  const { db, secrets, figures } = deps;
  const { entityId } = who.caller;
  const { shown, waiting } = await write(
    db,
    async (tx) => {
      await lockApp(tx, entityId, app_identifier);
      const before = await requireWholeApp(tx, secrets, entityId, app_identifier);
      await refuseOlderRevision(tx, entityId, 'app', before, revision);
      const named = { ...body, name: body.name ?? before.name, package_name: body.package_name ?? before.packageName };
      const after = await readSettings(tx, entityId, named, before);
      refuseChangeOfPrivacy(api.updateApp, who.caller, before, after);
      const groups = await readGroups(tx, entityId, body.app_groups);
      const changed = [
        ...changedMembers(before, after),
        ...(isRegrouped(before, body.app_groups) ? ['app_groups'] : []),
      ];
      if (before.storeFetched) refuseChangeOfStoreFetched(changed);
      if (changed.length > 0) await updateApp(tx, secrets, entityId, before, after);
      if (groups) await updateGroupsOfApp(tx, entityId, before.id, groups);
      await updateOutcomeDelivery(tx, entityId, before.id, after.outcomesConnection !== null);
      const details = { changed: changed.join(' ') };
      await audit(tx, who, { action: 'update', subjectKind: 'app', subject: app_identifier, details });
      const changedApp = await requireWholeApp(tx, secrets, entityId, app_identifier);
      await writeDownKeys(tx, who, [changedApp]);
      const isOtherwiseQuiet = JSON.stringify(before.quietHours) !== JSON.stringify(after.quietHours);
      return {
        shown: { apps: await showApps(tx, figures, who.caller, [changedApp]) },
        waiting: isOtherwiseQuiet ? await listQuietSends(tx, entityId, before.id, MAX_WOKEN) : [],
      };
    },
    { collide: true },
  );
  await Promise.all(waiting.map((send) => wakeSendSoon(deps, who.log, send, 'a send whose quiet hours changed')));
  return shown;
});

function isRegrouped({ groups }: WholeApp, given: string[] | undefined): boolean {
  const before = groups.map((group) => group.identifier);
  return given !== undefined && (given.some((id) => !before.includes(id)) || before.some((id) => !given.includes(id)));
}

/** Audits apps' push keys, which are secrets. */
async function writeDownKeys(db: Queryable, who: { caller: Caller; address: string }, apps: WholeApp[]): Promise<void> {
  const shown = seesFcmKey(who.caller) ? apps.filter(({ fcmKey }) => fcmKey !== null) : [];
  if (shown.length === 0) return;
  await auditEach(
    db,
    who,
    shown.map(({ identifier: subject }) => ({
      action: 'read',
      subjectKind: 'app',
      subject,
      details: { fcm_key: true },
    })),
  );
}

export const appRoutes: Route[] = [listApps, viewApp, createApp, changeApp];
