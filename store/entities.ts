import type { Queryable } from './database.ts';
import { newApiKey, newIdentifier } from './identifiers.ts';
import type { Secrets } from './secrets.ts';
import { insertGlobalSor } from './systems-of-records.ts';

export type Entity = {
  id: number;
  identifier: string;
  name: string;
  description: string;
  active: boolean;
  defaultTz: string;
  dataRetentionInMonths: number;
  qaApiKey: string;
  prodApiKey: string;
};

type EntityRow = {
  id: number; identifier: string; name: string; description: string; active: boolean; default_tz: string;
  data_retention_in_months: number; qa_api_key: string; prod_api_key: string;
};

/** A new entity with its two API keys and the global SoR that each entity always has. */
export async function insertEntity(tx: Queryable, secrets: Secrets, name: string): Promise<Entity> {
  const identifier = newIdentifier('ent');
  const { rows } = await tx.query<{ id: number }>(
    `INSERT INTO entities (identifier, name, qa_api_key, prod_api_key) VALUES ($1, $2, '', '') RETURNING id`,
    [identifier, name]);
  const id = rows[0]!.id;
  await tx.query('UPDATE entities SET qa_api_key = $2, prod_api_key = $3 WHERE id = $1',
    [id, secrets.seal(newApiKey(), keyPlace(id, 'qa_api_key')), secrets.seal(newApiKey(), keyPlace(id, 'prod_api_key'))]);
  await insertGlobalSor(tx, id);
  return (await findEntity(tx, secrets, id))!;
}

async function findEntity(db: Queryable, secrets: Secrets, id: number): Promise<Entity | null> {
  const { rows } = await db.query<EntityRow>('SELECT * FROM entities WHERE id = $1', [id]);
  return rows[0] ? toEntity(secrets, rows[0]) : null;
}

/** The entities that a user belongs to, oldest first. */
export async function listEntitiesOf(db: Queryable, secrets: Secrets, userId: number): Promise<Entity[]> {
  const { rows } = await db.query<EntityRow>(
    'SELECT e.* FROM entities e JOIN memberships m ON m.entity_id = e.id WHERE m.user_id = $1 ORDER BY e.id', [userId]);
  return rows.map((row) => toEntity(secrets, row));
}

function toEntity(secrets: Secrets, row: EntityRow): Entity {
  return {
    id: row.id,
    identifier: row.identifier,
    name: row.name,
    description: row.description,
    active: row.active,
    defaultTz: row.default_tz,
    dataRetentionInMonths: row.data_retention_in_months,
    qaApiKey: secrets.open(row.qa_api_key, keyPlace(row.id, 'qa_api_key')),
    prodApiKey: secrets.open(row.prod_api_key, keyPlace(row.id, 'prod_api_key')),
  };
}

function keyPlace(entityId: number, column: 'qa_api_key' | 'prod_api_key') {
  return { table: 'entities', column, entityId, row: String(entityId) };
}
