/** Connections to outside systems; their secrets are sealed. */
import { type CreatorColumns, creatorOf, readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import { countRows, type Page, type PageRange } from '../core/page.ts';
import type { Secrets } from '../core/secrets.ts';

export type SettingValues = { [member: string]: unknown };

export type SplitSettings = { settings: SettingValues; secretSettings: SettingValues };

export type Connection = Row<
  'connections',
  'id' | 'identifier' | 'name' | 'connector' | 'secretNames' | 'sealedSecrets' | 'revision' | 'createdAt' | 'updatedAt',
  { settings: SettingValues }
> & {
  /** Null once the creator's account is gone. */
  createdBy: { id: number; uid: string } | null;
};

const CONNECTIONS = `SELECT c.id, c.identifier, c.name, c.connector, c.settings, c.secret_names, c.sealed_secrets, c.revision,
  u.id AS created_by, u.uid AS creator_uid, c.created_at, c.updated_at
  FROM connections c LEFT JOIN users u ON u.id = c.created_by`;
const LIVING = 'c.entity_id = $1 AND c.deleted_at IS NULL';

export type NewConnection = SplitSettings & { name: string; connector: string; createdBy: number };

/** Returns null if another connection of the entity has the name. */
export async function insertConnection(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  { name, connector, createdBy, ...split }: NewConnection,
): Promise<Connection | null> {
  const identifier = newIdentifier('con');
  const { rowCount } = await tx.query(
    `INSERT INTO connections (entity_id, identifier, name, connector, created_by, settings, secret_names, sealed_secrets)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (entity_id, name) WHERE deleted_at IS NULL DO NOTHING`,
    [entityId, identifier, name, connector, createdBy, ...settingColumns(secrets, entityId, identifier, split)],
  );
  return rowCount === 1 ? findConnection(tx, entityId, identifier) : null;
}

export async function listConnections(
  db: Queryable,
  entityId: number,
  { offset, limit }: PageRange,
): Promise<Page<Connection>> {
  const items = readRows(
    await db.query(`${CONNECTIONS} WHERE ${LIVING} ORDER BY c.id OFFSET $2 LIMIT $3`, [entityId, offset, limit]),
    toConnection,
  );
  return { items, total: await countRows(db, `FROM connections c WHERE ${LIVING}`, [entityId]) };
}

/** Lists also deleted ones. */
export async function listConnectionNames(
  db: Queryable,
  entityId: number,
  ids: number[],
): Promise<Map<number, { identifier: string; name: string }>> {
  const { rows } = await db.query<Row<'connections', 'id' | 'identifier' | 'name'>>(
    'SELECT id, identifier, name FROM connections WHERE entity_id = $1 AND id = ANY ($2)',
    [entityId, ids],
  );
  return new Map(rows.map(({ id, identifier, name }) => [id, { identifier, name }]));
}

/** `key`: the identifier, or the id. */
export async function findConnection(
  db: Queryable,
  entityId: number,
  key: string | number,
): Promise<Connection | null> {
  const isIt = typeof key === 'number' ? 'c.id = $2' : 'c.identifier = $2';
  return readRow(await db.query(`${CONNECTIONS} WHERE ${LIVING} AND ${isIt}`, [entityId, key]), toConnection);
}

export async function lockConnection(tx: Queryable, entityId: number, identifier: string): Promise<Connection | null> {
  return readRow(
    await tx.query(`${CONNECTIONS} WHERE ${LIVING} AND c.identifier = $2 FOR UPDATE OF c`, [entityId, identifier]),
    toConnection,
  );
}

export function openSecretSettings(
  secrets: Secrets,
  entityId: number,
  { identifier, sealedSecrets }: Connection,
): SettingValues {
  if (sealedSecrets === null) return {};
  return JSON.parse(secrets.open(sealedSecrets, secretsCell(entityId, identifier))) as SettingValues;
}

/**
 * Changes name and settings, which count as one revision; `split` null: the settings stay. Returns false if another
 * connection of the entity has the name.
 */
export async function updateConnection(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  before: Connection,
  { name, split }: { name: string; split: SplitSettings | null },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE connections c SET name = $3, settings = $4, secret_names = $5, sealed_secrets = $6, revision = revision + 1,
       updated_at = now()
     WHERE entity_id = $1 AND id = $2
       AND NOT EXISTS (SELECT FROM connections o WHERE o.entity_id = $1 AND o.name = $3 AND o.id <> $2 AND o.deleted_at IS NULL)`,
    [
      entityId,
      before.id,
      name,
      ...(split
        ? settingColumns(secrets, entityId, before.identifier, split)
        : [JSON.stringify(before.settings), before.secretNames, before.sealedSecrets]),
    ],
  );
  return rowCount === 1;
}

/** Frees its name, and deletes its secrets. */
export async function deleteConnection(tx: Queryable, entityId: number, id: number): Promise<void> {
  await tx.query(
    `UPDATE connections SET deleted_at = now(), settings = '{}', secret_names = '{}', sealed_secrets = NULL
     WHERE entity_id = $1 AND id = $2`,
    [entityId, id],
  );
}

function settingColumns(
  secrets: Secrets,
  entityId: number,
  identifier: string,
  { settings, secretSettings }: SplitSettings,
): [string, string[], string | null] {
  const names = Object.keys(secretSettings);
  const sealed =
    names.length === 0 ? null : secrets.seal(JSON.stringify(secretSettings), secretsCell(entityId, identifier));
  return [JSON.stringify(settings), names, sealed];
}

function secretsCell(entityId: number, identifier: string) {
  return { table: 'connections', column: 'sealed_secrets', entityId, row: identifier };
}

function toConnection({
  createdBy,
  creatorUid,
  ...connection
}: Omit<Connection, 'createdBy'> & CreatorColumns): Connection {
  return { ...connection, createdBy: creatorOf({ createdBy, creatorUid }) };
}
