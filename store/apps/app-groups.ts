/** Groups of apps. */

import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { idPieces } from '../core/id-pieces.ts';
import { newIdentifier } from '../core/identifiers.ts';

export type AppGroup = Row<'app_groups', 'id' | 'identifier' | 'name' | 'createdAt'> & {
  apps: string[];
};

const GROUPS = `SELECT g.id, g.identifier, g.name, g.created_at, ARRAY(
    SELECT a.identifier FROM app_group_members m JOIN apps a ON a.entity_id = m.entity_id AND a.id = m.app_id
    WHERE m.entity_id = g.entity_id AND m.group_id = g.id ORDER BY a.id) AS apps
  FROM app_groups g`;

const GROUP_BYTES = `octet_length(r::text)
  + 50 * (SELECT count(*) FROM app_group_members m WHERE m.entity_id = r.entity_id AND m.group_id = r.id)`;

export async function* streamAppGroups(db: Queryable, entityId: number): AsyncGenerator<AppGroup[]> {
  const { rows } = await db.query<Row<'app_groups', 'id'>>(
    'SELECT id FROM app_groups WHERE entity_id = $1 ORDER BY id',
    [entityId],
  );
  for await (const ids of idPieces(
    db,
    entityId,
    'app_groups',
    rows.map(({ id }) => id),
    GROUP_BYTES,
  )) {
    yield readRows<AppGroup>(
      await db.query(`${GROUPS} WHERE g.entity_id = $1 AND g.id = ANY ($2) ORDER BY g.id`, [entityId, ids]),
    );
  }
}

/** `isLocked`: locks the group until the transaction ends, before its apps are read. */
export async function findAppGroup(
  db: Queryable,
  entityId: number,
  identifier: string,
  { isLocked = false } = {},
): Promise<AppGroup | null> {
  if (isLocked)
    await db.query('SELECT FROM app_groups WHERE entity_id = $1 AND identifier = $2 FOR UPDATE', [
      entityId,
      identifier,
    ]);
  return readRow<AppGroup>(
    await db.query(`${GROUPS} WHERE g.entity_id = $1 AND g.identifier = $2`, [entityId, identifier]),
  );
}

/** Returns the ids of groups by identifiers, and locks them until the transaction ends. */
export async function listAppGroupIds(
  tx: Queryable,
  entityId: number,
  identifiers: string[],
): Promise<Map<string, number>> {
  const { rows } = await tx.query<Row<'app_groups', 'id' | 'identifier'>>(
    'SELECT id, identifier FROM app_groups WHERE entity_id = $1 AND identifier = ANY ($2) ORDER BY id FOR KEY SHARE',
    [entityId, identifiers],
  );
  return new Map(rows.map(({ id, identifier }) => [identifier, id]));
}

/** Returns null if the name is taken. */
export async function insertAppGroup(
  tx: Queryable,
  entityId: number,
  name: string,
): Promise<{ id: number; identifier: string } | null> {
  const identifier = newIdentifier('grp');
  const { rows } = await tx.query<Row<'app_groups', 'id'>>(
    `INSERT INTO app_groups (entity_id, identifier, name) VALUES ($1, $2, $3)
     ON CONFLICT (entity_id, name) DO NOTHING RETURNING id`,
    [entityId, identifier, name],
  );
  return rows[0] ? { id: rows[0].id, identifier } : null;
}

/** Renames a group; false if the entity has another one of that name. */
export async function renameAppGroup(tx: Queryable, entityId: number, id: number, name: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE app_groups SET name = $3 WHERE entity_id = $1 AND id = $2
       AND NOT EXISTS (SELECT FROM app_groups o WHERE o.entity_id = $1 AND o.name = $3 AND o.id <> $2)`,
    [entityId, id, name],
  );
  return rowCount === 1;
}

export async function deleteAppGroup(tx: Queryable, entityId: number, id: number): Promise<void> {
  await updateAppsOfGroup(tx, entityId, id, []);
  await tx.query('DELETE FROM app_groups WHERE entity_id = $1 AND id = $2', [entityId, id]);
}

/** Sets the apps of a group. Each app that enters or leaves it has a new revision. */
export async function updateAppsOfGroup(
  tx: Queryable,
  entityId: number,
  groupId: number,
  appIds: number[],
): Promise<void> {
  await tx.query(
    `WITH gone AS (
       DELETE FROM app_group_members WHERE entity_id = $1 AND group_id = $2 AND app_id <> ALL ($3) RETURNING app_id
     ), added AS (
       INSERT INTO app_group_members (entity_id, group_id, app_id) SELECT $1, $2, app_id FROM unnest($3::integer[]) AS app_id
       ON CONFLICT DO NOTHING RETURNING app_id
     )
     UPDATE apps SET revision = revision + 1
     WHERE entity_id = $1 AND id IN (SELECT app_id FROM gone UNION ALL SELECT app_id FROM added)`,
    [entityId, groupId, appIds],
  );
}

/** Sets the groups of an app. */
export async function updateGroupsOfApp(
  tx: Queryable,
  entityId: number,
  appId: number,
  groupIds: number[],
): Promise<void> {
  await tx.query('DELETE FROM app_group_members WHERE entity_id = $1 AND app_id = $2 AND group_id <> ALL ($3)', [
    entityId,
    appId,
    groupIds,
  ]);
  await tx.query(
    `INSERT INTO app_group_members (entity_id, app_id, group_id) SELECT $1, $2, group_id FROM unnest($3::integer[]) AS group_id
     ON CONFLICT DO NOTHING`,
    [entityId, appId, groupIds],
  );
}
