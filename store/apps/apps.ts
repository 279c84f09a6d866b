/** Apps of an entity. */

import { insertAppSor, lockSor, renameSor } from '../attributes/systems-of-records.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { idPieces } from '../core/id-pieces.ts';
import { newIdentifier } from '../core/identifiers.ts';
import type { Secrets } from '../core/secrets.ts';
import type { AppType } from '../../domain/apps/app.ts';
import type { QuietHours } from '../../domain/apps/quiet-hours.ts';

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
type SettingsRow = Row<
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

function toSettings(
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
function toColumns(
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

/** The facts of an app that other features need. */
export type App = Row<'apps', 'id' | 'identifier' | 'name' | 'packageName' | 'appType'>;

/** An app as it is shown, with its related objects. */
export type WholeApp = App &
  AppSettings & {
    /** True if it was copied from a connected store account. */
    storeFetched: boolean;
    parentIdentifier: string | null;
    childIdentifiers: string[];
    /** The identifier of its SDK System of Records. */
    sorIdentifier: string;
    groups: { identifier: string; name: string; createdAtSeconds: number }[];
  };

type WholeRow = SettingsRow &
  Row<'apps', 'id' | 'identifier' | 'storeFetched'> & {
    parentIdentifier: string | null;
    children: string[];
    sorIdentifier: string;
    groups: WholeApp['groups'];
  };

const WHOLE = `SELECT a.*, p.identifier AS parent_identifier, s.identifier AS sor_identifier,
  ARRAY(SELECT c.identifier FROM apps c WHERE c.entity_id = a.entity_id AND c.parent_id = a.id ORDER BY c.id) AS children,
  ARRAY(
    SELECT jsonb_build_object(
      'identifier', g.identifier, 'name', g.name, 'createdAtSeconds', floor(extract(epoch FROM g.created_at)))
    FROM app_group_members m JOIN app_groups g ON g.entity_id = m.entity_id AND g.id = m.group_id
    WHERE m.entity_id = a.entity_id AND m.app_id = a.id ORDER BY g.id) AS groups
  FROM apps a
  LEFT JOIN apps p ON p.entity_id = a.entity_id AND p.id = a.parent_id
  LEFT JOIN systems_of_records s ON s.entity_id = a.entity_id AND s.app_id = a.id AND s.deleted_at IS NULL`;

export async function findApp(db: Queryable, entityId: number, identifier: string): Promise<App | null> {
  return readRow<App>(
    await db.query(
      'SELECT id, identifier, name, package_name, app_type FROM apps WHERE entity_id = $1 AND identifier = $2',
      [entityId, identifier],
    ),
  );
}

/** Locks an app: no other transaction changes it, or makes it a parent. */
export async function lockApp(
  tx: Queryable,
  entityId: number,
  identifier: string,
): Promise<{ id: number; parentId: number | null } | null> {
  const rows = readRows<Row<'apps', 'id' | 'parentId'>>(
    await tx.query('SELECT id, parent_id FROM apps WHERE entity_id = $1 AND identifier = $2 FOR NO KEY UPDATE', [
      entityId,
      identifier,
    ]),
  );
  return rows[0] ? { id: rows[0].id, parentId: rows[0].parentId } : null;
}

/** Returns whether any app has this one as its parent. */
export async function isParent(db: Queryable, entityId: number, id: number): Promise<boolean> {
  const { rowCount } = await db.query('SELECT FROM apps WHERE entity_id = $1 AND parent_id = $2 LIMIT 1', [
    entityId,
    id,
  ]);
  return rowCount! > 0;
}

/** Returns the ids of apps by identifier; unknown ones are left out. */
export async function listAppIds(db: Queryable, entityId: number, identifiers: string[]): Promise<Map<string, number>> {
  const { rows } = await db.query<Row<'apps', 'id' | 'identifier'>>(
    'SELECT id, identifier FROM apps WHERE entity_id = $1 AND identifier = ANY ($2)',
    [entityId, identifiers],
  );
  return new Map(rows.map(({ id, identifier }) => [identifier, id]));
}

/** Lists apps by id. */
export async function listAppsById(db: Queryable, entityId: number, ids: number[]): Promise<Map<number, App>> {
  const apps = readRows<App>(
    await db.query(
      'SELECT id, identifier, name, package_name, app_type FROM apps WHERE entity_id = $1 AND id = ANY ($2)',
      [entityId, ids],
    ),
  );
  return new Map(apps.map((app) => [app.id, app]));
}

/** Yields apps in pieces, oldest first. */
export async function* streamWholeApps(db: Queryable, secrets: Secrets, entityId: number): AsyncGenerator<WholeApp[]> {
  const { rows: all } = await db.query<Row<'apps', 'id'>>('SELECT id FROM apps WHERE entity_id = $1 ORDER BY id', [
    entityId,
  ]);
  for await (const ids of idPieces(
    db,
    entityId,
    'apps',
    all.map(({ id }) => id),
  )) {
    const rows = readRows<WholeRow>(
      await db.query(`${WHOLE} WHERE a.entity_id = $1 AND a.id = ANY ($2) ORDER BY a.id`, [entityId, ids]),
    );
    yield rows.map((row) => toWholeApp(secrets, entityId, row));
  }
}

export async function findWholeApp(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  identifier: string,
): Promise<WholeApp | null> {
  const rows = readRows<WholeRow>(
    await db.query(`${WHOLE} WHERE a.entity_id = $1 AND a.identifier = $2`, [entityId, identifier]),
  );
  return rows[0] ? toWholeApp(secrets, entityId, rows[0]) : null;
}

/** Returns whether another app of the entity than `exceptId` has the package name, on any platform. */
export async function isPackageNameTaken(
  db: Queryable,
  entityId: number,
  packageName: string,
  exceptId: number | null,
): Promise<boolean> {
  const { rowCount } = await db.query(
    'SELECT FROM apps WHERE entity_id = $1 AND package_name = $2 AND id IS DISTINCT FROM $3',
    [entityId, packageName, exceptId],
  );
  return rowCount! > 0;
}

/**
 * Inserts an app with its SDK System of Records, and returns its identifier and id. Fails if the package name is taken.
 */
export async function insertApp(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  settings: AppSettings,
  storeFetched: boolean,
): Promise<{ id: number; identifier: string }> {
  const identifier = newIdentifier('app');
  const columns = { ...toColumns(secrets, entityId, identifier, settings), identifier, store_fetched: storeFetched };
  const places = Object.keys(columns).map((_, index) => `$${index + 2}`);
  const { rows } = await tx.query<Row<'apps', 'id'>>(
    `INSERT INTO apps (entity_id, ${Object.keys(columns).join(', ')}) VALUES ($1, ${places.join(', ')}) RETURNING id`,
    [entityId, ...Object.values(columns)],
  );
  await insertAppSor(tx, entityId, rows[0]!.id);
  return { id: rows[0]!.id, identifier };
}

/** Updates the settings of an app, which the caller has locked, and the name of its SDK System of Records. */
export async function updateApp(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  before: WholeApp,
  settings: AppSettings,
): Promise<void> {
  const columns = toColumns(secrets, entityId, before.identifier, settings);
  const assignments = Object.keys(columns).map((column, index) => `${column} = $${index + 3}`);
  await tx.query(`UPDATE apps SET ${assignments.join(', ')}, updated_at = now() WHERE entity_id = $1 AND id = $2`, [
    entityId,
    before.id,
    ...Object.values(columns),
  ]);
  if (settings.name === before.name) return;
  const sor = await lockSor(tx, entityId, before.sorIdentifier);
  if (sor) await renameSor(tx, entityId, sor.id, settings.name);
}

function toWholeApp(secrets: Secrets, entityId: number, row: WholeRow): WholeApp {
  return {
    id: row.id,
    identifier: row.identifier,
    ...toSettings(secrets, entityId, row.identifier, row),
    storeFetched: row.storeFetched,
    parentIdentifier: row.parentIdentifier,
    childIdentifiers: row.children,
    sorIdentifier: row.sorIdentifier,
    groups: row.groups,
  };
}
