/** Keys by which an app's server signs user tokens. */

import { MAX_TOKEN_KEYS } from '../../domain/apps/app.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newIdentifier, newToken } from '../core/identifiers.ts';
import type { Secrets } from '../core/secrets.ts';

/** A key of user tokens, whose `kid` is `identifier`. `secret`: the base64url text is HS256's key, not decoded. */
export type AppTokenKey = Row<'app_token_keys', 'identifier' | 'secret' | 'createdAt'>;

export async function listAppTokenKeys(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  appId: number,
): Promise<AppTokenKey[]> {
  return readRows<AppTokenKey, AppTokenKey>(
    await db.query(
      'SELECT identifier, secret, created_at FROM app_token_keys WHERE entity_id = $1 AND app_id = $2 ORDER BY id',
      [entityId, appId],
    ),
    (key) => ({ ...key, secret: secrets.open(key.secret, secretCell(entityId, key.identifier)) }),
  );
}

/** Inserts a random key for an app, which the caller has locked; null if it has the maximum number. */
export async function insertAppTokenKey(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  appId: number,
): Promise<AppTokenKey | null> {
  const identifier = newIdentifier('utk');
  const secret = newToken();
  const rows = readRows<Row<'app_token_keys', 'createdAt'>>(
    await tx.query(
      `INSERT INTO app_token_keys (entity_id, app_id, identifier, secret) SELECT $1, $2, $3, $4
     WHERE (SELECT count(*) FROM app_token_keys WHERE entity_id = $1 AND app_id = $2) < ${MAX_TOKEN_KEYS} RETURNING created_at`,
      [entityId, appId, identifier, secrets.seal(secret, secretCell(entityId, identifier))],
    ),
  );
  return rows[0] ? { identifier, secret, createdAt: rows[0].createdAt } : null;
}

export async function deleteAppTokenKey(
  tx: Queryable,
  entityId: number,
  appId: number,
  identifier: string,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    'DELETE FROM app_token_keys WHERE entity_id = $1 AND app_id = $2 AND identifier = $3',
    [entityId, appId, identifier],
  );
  return rowCount === 1;
}

function secretCell(entityId: number, identifier: string) {
  return { table: 'app_token_keys', column: 'secret', entityId, row: identifier };
}
