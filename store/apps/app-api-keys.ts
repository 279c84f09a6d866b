/** API keys of apps, by which SDKs send data. */

import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newApiKey, newIdentifier } from '../core/identifiers.ts';
import type { Secrets } from '../core/secrets.ts';

export type AppApiKey = Row<'app_api_keys', 'id' | 'identifier' | 'apiKey' | 'revoked' | 'createdAt' | 'updatedAt'>;

export type KeyTaken = 'of this app' | 'elsewhere';

const COLUMNS = 'id, identifier, api_key, revoked, created_at, updated_at';

export async function listAppApiKeys(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  appId: number,
): Promise<AppApiKey[]> {
  return readRows<AppApiKey, AppApiKey>(
    await db.query(`SELECT ${COLUMNS} FROM app_api_keys WHERE entity_id = $1 AND app_id = $2 ORDER BY id`, [
      entityId,
      appId,
    ]),
    openKey(secrets, entityId),
  );
}

/** `isLocked`: locks the key until the transaction ends. */
export async function findAppApiKey(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  appId: number,
  identifier: string,
  { isLocked = false } = {},
): Promise<AppApiKey | null> {
  return readRow<AppApiKey, AppApiKey>(
    await db.query(
      `SELECT ${COLUMNS} FROM app_api_keys WHERE entity_id = $1 AND app_id = $2 AND identifier = $3
       ${isLocked ? 'FOR UPDATE' : ''}`,
      [entityId, appId, identifier],
    ),
    openKey(secrets, entityId),
  );
}

type NewKey = { appId: number; apiKey?: string | undefined; revoked: boolean };

export async function insertAppApiKey(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  { appId, apiKey = newApiKey(), revoked }: NewKey,
): Promise<{ identifier: string } | { taken: KeyTaken }> {
  const lookup = secrets.lookup(apiKey);
  if (!(await claimLookup(tx, entityId, lookup))) return { taken: 'elsewhere' };
  const identifier = newIdentifier('key');
  const { rowCount } = await tx.query(
    `INSERT INTO app_api_keys (entity_id, app_id, identifier, lookup, api_key, revoked) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (entity_id, app_id, lookup) DO NOTHING`,
    [entityId, appId, identifier, lookup, secrets.seal(apiKey, keyCell(entityId, identifier)), revoked],
  );
  return rowCount === 1 ? { identifier } : { taken: 'of this app' };
}

export async function updateAppApiKey(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  appId: number,
  before: AppApiKey,
  { apiKey, revoked }: { apiKey: string; revoked: boolean },
): Promise<KeyTaken | null> {
  const lookup = secrets.lookup(apiKey);
  if (!(await claimLookup(tx, entityId, lookup))) return 'elsewhere';
  const { rowCount } = await tx.query(
    `UPDATE app_api_keys SET lookup = $3, api_key = $4, revoked = $5, updated_at = now() WHERE entity_id = $1 AND id = $2
       AND NOT EXISTS (SELECT FROM app_api_keys WHERE entity_id = $1 AND app_id = $6 AND lookup = $3 AND id <> $2)`,
    [entityId, before.id, lookup, secrets.seal(apiKey, keyCell(entityId, before.identifier)), revoked, appId],
  );
  return rowCount === 1 ? null : 'of this app';
}

/** Claims a value for the entity for good; false if another entity, or a System of Records, has it. */
async function claimLookup(tx: Queryable, entityId: number, lookup: Buffer): Promise<boolean> {
  await tx.query(
    `INSERT INTO key_lookups (lookup, kind, entity_id, owner_id) VALUES ($1, 'app', $2, 0) ON CONFLICT (lookup) DO NOTHING`,
    [lookup, entityId],
  );
  const { rowCount } = await tx.query(`SELECT FROM key_lookups WHERE lookup = $1 AND kind = 'app' AND entity_id = $2`, [
    lookup,
    entityId,
  ]);
  return rowCount === 1;
}

function keyCell(entityId: number, identifier: string) {
  return { table: 'app_api_keys', column: 'api_key', entityId, row: identifier };
}

const openKey =
  (secrets: Secrets, entityId: number) =>
  (key: AppApiKey): AppApiKey => ({ ...key, apiKey: secrets.open(key.apiKey, keyCell(entityId, key.identifier)) });
