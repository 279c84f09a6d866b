/** Entities (clients): insert, change, lock, list. */
import type { ControlGroup } from '../../domain/campaigns/control-group.ts';
import { insertGlobalSor } from '../attributes/systems-of-records.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newApiKey, newIdentifier } from '../core/identifiers.ts';
import { countRows, type Page, type PageRange } from '../core/page.ts';
import type { Secrets } from '../core/secrets.ts';

export type Entity = Row<
  'entities',
  | 'id'
  | 'identifier'
  | 'name'
  | 'description'
  | 'active'
  | 'defaultTz'
  | 'dataRetentionInMonths'
  | 'controlGroupPercent'
  | 'qaApiKey'
  | 'prodApiKey'
>;

export type EntityChanges = {
  name?: string | undefined;
  description?: string | undefined;
  defaultTz?: string | undefined;
  dataRetentionInMonths?: number | undefined;
  controlGroupPercent?: number | undefined;
  active?: boolean | undefined;
};

export async function insertEntity(
  tx: Queryable,
  secrets: Secrets,
  name: string,
  changes: Omit<EntityChanges, 'name'> = {},
): Promise<Entity> {
  const identifier = newIdentifier('ent');
  const { rows } = await tx.query<Row<'entities', 'id'>>(
    `INSERT INTO entities (identifier, name, qa_api_key, prod_api_key) VALUES ($1, $2, '', '') RETURNING id`,
    [identifier, name],
  );
  const id = rows[0]!.id;
  await tx.query('UPDATE entities SET qa_api_key = $2, prod_api_key = $3 WHERE id = $1', [
    id,
    secrets.seal(newApiKey(), keyCell(id, 'qa_api_key')),
    secrets.seal(newApiKey(), keyCell(id, 'prod_api_key')),
  ]);
  await insertGlobalSor(tx, id);
  return updateEntity(tx, secrets, id, changes);
}

export async function updateEntity(
  tx: Queryable,
  secrets: Secrets,
  id: number,
  changes: EntityChanges,
): Promise<Entity> {
  const rows = readRows<Entity>(
    await tx.query(
      `UPDATE entities SET name = coalesce($2, name), description = coalesce($3, description),
       default_tz = coalesce($4, default_tz), data_retention_in_months = coalesce($5, data_retention_in_months),
       active = coalesce($6, active), control_group_percent = coalesce($7, control_group_percent)
     WHERE id = $1 RETURNING *`,
      [
        id,
        changes.name ?? null,
        changes.description ?? null,
        changes.defaultTz ?? null,
        changes.dataRetentionInMonths ?? null,
        changes.active ?? null,
        changes.controlGroupPercent ?? null,
      ],
    ),
  );
  return toEntity(secrets, rows[0]!);
}

/** `isLocked`: until the transaction ends the entity does not change, and no row that refers to it is added. */
export async function findEntity(
  db: Queryable,
  secrets: Secrets,
  entity: string,
  { isLocked = false } = {},
): Promise<Entity | null> {
  const rows = readRows<Entity>(
    await db.query(`SELECT * FROM entities WHERE identifier = $1 OR id::text = $1 ${isLocked ? 'FOR UPDATE' : ''}`, [
      entity,
    ]),
  );
  return rows[0] ? toEntity(secrets, rows[0]) : null;
}

export async function listEntities(
  db: Queryable,
  secrets: Secrets,
  { offset, limit }: PageRange,
): Promise<Page<Entity>> {
  const rows = readRows<Entity>(
    await db.query('SELECT * FROM entities ORDER BY id OFFSET $1 LIMIT $2', [offset, limit]),
  );
  return { items: rows.map((row) => toEntity(secrets, row)), total: await countRows(db, 'FROM entities', []) };
}

export async function findEntityZone(db: Queryable, entityId: number): Promise<string> {
  const rows = readRows<Row<'entities', 'defaultTz'>>(
    await db.query('SELECT default_tz FROM entities WHERE id = $1', [entityId]),
  );
  return rows[0]!.defaultTz;
}

export async function findControlGroup(db: Queryable, entityId: number): Promise<ControlGroup> {
  const { rows } = await db.query<ControlGroup>(
    'SELECT control_group_percent AS percent, identifier AS salt FROM entities WHERE id = $1',
    [entityId],
  );
  return rows[0]!;
}

export async function listEntitiesOf(db: Queryable, secrets: Secrets, userId: number): Promise<Entity[]> {
  const rows = readRows<Entity>(
    await db.query(
      'SELECT e.* FROM entities e JOIN memberships m ON m.entity_id = e.id WHERE m.user_id = $1 ORDER BY e.id',
      [userId],
    ),
  );
  return rows.map((row) => toEntity(secrets, row));
}

export async function listEntityNamesOf(
  db: Queryable,
  userId: number,
): Promise<Pick<Entity, 'id' | 'identifier' | 'name' | 'active'>[]> {
  const { rows } = await db.query<Pick<Entity, 'id' | 'identifier' | 'name' | 'active'>>(
    `SELECT e.id, e.identifier, e.name, e.active FROM entities e JOIN memberships m ON m.entity_id = e.id
     WHERE m.user_id = $1 ORDER BY e.id`,
    [userId],
  );
  return rows;
}

function toEntity(secrets: Secrets, { qaApiKey, prodApiKey, ...entity }: Entity): Entity {
  return {
    ...entity,
    qaApiKey: secrets.open(qaApiKey, keyCell(entity.id, 'qa_api_key')),
    prodApiKey: secrets.open(prodApiKey, keyCell(entity.id, 'prod_api_key')),
  };
}

function keyCell(entityId: number, column: 'qa_api_key' | 'prod_api_key') {
  return { table: 'entities', column, entityId, row: String(entityId) };
}

/** Keeps an active entity from being deleted until the transaction ends. Null if there is none. */
export async function holdEntity(tx: Queryable, entityId: number): Promise<{ hasErased: boolean } | null> {
  const {
    rows: [held],
  } = await tx.query<{ has_erased: boolean }>({
    name: 'hold-entity',
    text: `SELECT EXISTS (SELECT FROM tombstones t WHERE t.entity_id = e.id) AS has_erased
           FROM entities e WHERE e.id = $1 AND e.active FOR KEY SHARE`,
    values: [entityId],
  });
  return held ? { hasErased: held.has_erased } : null;
}

/** Returns the external id that a role in a customer's AWS account may require; it is not secret. */
export async function findExternalId(db: Queryable, entityId: number): Promise<string> {
  const rows = readRows<Row<'entities', 'externalId'>>(
    await db.query('SELECT external_id FROM entities WHERE id = $1', [entityId]),
  );
  return rows[0]!.externalId;
}

export async function findEntityName(db: Queryable, entityId: number): Promise<string> {
  const { rows } = await db.query<Row<'entities', 'name'>>('SELECT name FROM entities WHERE id = $1', [entityId]);
  return rows[0]!.name;
}

export async function findEntityIdentifier(db: Queryable, entityId: number): Promise<string> {
  const { rows } = await db.query<Row<'entities', 'identifier'>>('SELECT identifier FROM entities WHERE id = $1', [
    entityId,
  ]);
  return rows[0]!.identifier;
}
