/** Apps of an entity. */

import { insertAppSor, lockSor, renameSor } from '../attributes/systems-of-records.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { idPieces } from '../core/id-pieces.ts';
import { newIdentifier } from '../core/identifiers.ts';
import type { Secrets } from '../core/secrets.ts';
import type { QuietHours } from '../../domain/apps/quiet-hours.ts';
import type { Tables } from '../schema.ts';

type Localization = { language: string; original_name: string; name: string; description: string | null };
export type AppIcon = { thumb: string | null; medium: string | null; large: string | null };
type AppStatus = { cdate: number; state: string; version_number: string };

/**
 * `localizations`: none for its name in English. `messageLimit`: pushes in `messagePeriod` seconds; both null, or
 * neither. `gdprApproval`: deletions that its devices request wait for approval. `sessionTimeout`: in seconds.
 * `verifiedUsers`: messages reach only devices for which a user token has vouched. `sendRate`: maximum messages per
 * second. `outcomesConnection`: the identifier of the connection that gets outcomes of messages.
 */
export type AppSettings = Row<
  'apps',
  Exclude<
    keyof Tables['apps'],
    'entityId' | 'id' | 'identifier' | 'storeFetched' | 'revision' | 'createdAt' | 'updatedAt'
  >,
  {
    localizations: Localization[];
    icon: AppIcon | null;
    cvIcon: AppIcon | null;
    statuses: AppStatus[];
    quietHours: QuietHours | null;
  }
>;

const columnOf = (setting: string) => setting.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);

/** Returns settings by column. Arrays of objects are JSON, which pg would write as arrays. */
function toColumns(
  secrets: Secrets,
  entityId: number,
  identifier: string,
  { fcmKey, localizations, statuses, ...settings }: AppSettings,
): Record<string, unknown> {
  const stored = {
    ...settings,
    localizations: JSON.stringify(localizations),
    statuses: JSON.stringify(statuses),
    fcmKey: fcmKey === null ? null : secrets.seal(fcmKey, fcmKeyCell(entityId, identifier)),
  };
  return Object.fromEntries(Object.entries(stored).map(([setting, value]) => [columnOf(setting), value]));
}

const openKey =
  (secrets: Secrets, entityId: number) =>
  (app: WholeApp): WholeApp => ({
    ...app,
    fcmKey: app.fcmKey === null ? null : secrets.open(app.fcmKey, fcmKeyCell(entityId, app.identifier)),
  });

function fcmKeyCell(entityId: number, identifier: string) {
  return { table: 'apps', column: 'fcm_key', entityId, row: identifier };
}

export type App = Row<'apps', 'id' | 'identifier' | 'name' | 'packageName' | 'appType'>;

export type WholeApp = App &
  AppSettings & {
    /** True if it was copied from a connected store account. */
    storeFetched: boolean;
    revision: number;
    parentIdentifier: string | null;
    childIdentifiers: string[];
    sorIdentifier: string;
    groups: { identifier: string; name: string; createdAtSeconds: number }[];
  };

const WHOLE = `SELECT a.*, p.identifier AS parent_identifier, s.identifier AS sor_identifier,
  ARRAY(SELECT c.identifier FROM apps c WHERE c.entity_id = a.entity_id AND c.parent_id = a.id ORDER BY c.id) AS child_identifiers,
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
): Promise<Row<'apps', 'id' | 'parentId'> | null> {
  return readRow<Row<'apps', 'id' | 'parentId'>>(
    await tx.query('SELECT id, parent_id FROM apps WHERE entity_id = $1 AND identifier = $2 FOR NO KEY UPDATE', [
      entityId,
      identifier,
    ]),
  );
}

export async function isParent(db: Queryable, entityId: number, id: number): Promise<boolean> {
  const { rowCount } = await db.query('SELECT FROM apps WHERE entity_id = $1 AND parent_id = $2 LIMIT 1', [
    entityId,
    id,
  ]);
  return rowCount! > 0;
}

export async function listAppIds(db: Queryable, entityId: number, identifiers: string[]): Promise<Map<string, number>> {
  const { rows } = await db.query<Row<'apps', 'id' | 'identifier'>>(
    'SELECT id, identifier FROM apps WHERE entity_id = $1 AND identifier = ANY ($2)',
    [entityId, identifiers],
  );
  return new Map(rows.map(({ id, identifier }) => [identifier, id]));
}

export async function listAppsById(db: Queryable, entityId: number, ids: number[]): Promise<Map<number, App>> {
  const apps = readRows<App>(
    await db.query(
      'SELECT id, identifier, name, package_name, app_type FROM apps WHERE entity_id = $1 AND id = ANY ($2)',
      [entityId, ids],
    ),
  );
  return new Map(apps.map((app) => [app.id, app]));
}

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
    yield readRows<WholeApp, WholeApp>(
      await db.query(`${WHOLE} WHERE a.entity_id = $1 AND a.id = ANY ($2) ORDER BY a.id`, [entityId, ids]),
      openKey(secrets, entityId),
    );
  }
}

export async function findWholeApp(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  identifier: string,
): Promise<WholeApp | null> {
  return readRow<WholeApp, WholeApp>(
    await db.query(`${WHOLE} WHERE a.entity_id = $1 AND a.identifier = $2`, [entityId, identifier]),
    openKey(secrets, entityId),
  );
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

/** Inserts an app with its SDK System of Records. Fails if the package name is taken. */
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

/** Updates a locked app's settings, as a new revision, and the name of its SDK System of Records. */
export async function updateApp(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  before: WholeApp,
  settings: AppSettings,
): Promise<void> {
  const columns = toColumns(secrets, entityId, before.identifier, settings);
  const assignments = Object.keys(columns).map((column, index) => `${column} = $${index + 3}`);
  await tx.query(
    `UPDATE apps SET ${assignments.join(', ')}, revision = revision + 1, updated_at = now()
     WHERE entity_id = $1 AND id = $2`,
    [entityId, before.id, ...Object.values(columns)],
  );
  if (settings.name === before.name) return;
  const sor = await lockSor(tx, entityId, before.sorIdentifier);
  if (sor) await renameSor(tx, entityId, sor.id, settings.name);
}
