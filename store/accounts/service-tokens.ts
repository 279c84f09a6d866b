/** Service tokens, which act for their creator. */
import type { Right } from '../../domain/accounts/rights.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newIdentifier, newToken } from '../core/identifiers.ts';
import { countRows, type Page, type PageRange } from '../core/page.ts';
import { tokenHash } from '../core/secrets.ts';
import type { TokenOwner } from './tokens.ts';

/** Prefix that distinguishes service tokens from session tokens, for readers and for scanners of leaked secrets. */
const PREFIX = 'mst_';

const NOTED_AFTER = "interval '1 minute'";

export type ServiceToken = Row<
  'service_tokens',
  'id' | 'identifier' | 'name' | 'createdAt' | 'usedAt' | 'expiresAt',
  { rights: Right[] }
> & {
  /** Null once the creator's account is deleted; the token then has no effect. */
  createdBy: { id: number; uid: string } | null;
};

const SERVICE_TOKENS = `SELECT s.id, s.identifier, s.name, s.rights, s.created_at, s.used_at, s.expires_at,
    CASE WHEN u.id IS NOT NULL THEN jsonb_build_object('id', u.id, 'uid', u.uid) END AS created_by
  FROM service_tokens s LEFT JOIN users u ON u.id = s.created_by`;
const LIVING = 's.entity_id = $1 AND s.revoked_at IS NULL AND ($2::integer IS NULL OR s.created_by = $2)';

export type NewServiceToken = { name: string; rights: readonly Right[]; createdBy: number; expiresAt: Date };

/** Makes a token. It is returned only this once, since only its hash is stored. */
export async function insertServiceToken(
  tx: Queryable,
  entityId: number,
  { name, rights, createdBy, expiresAt }: NewServiceToken,
): Promise<{ serviceToken: ServiceToken; token: string }> {
  const token = `${PREFIX}${newToken()}`;
  const identifier = newIdentifier('stk');
  await tx.query(
    `INSERT INTO service_tokens (entity_id, identifier, name, token_hash, rights, created_by, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [entityId, identifier, name, tokenHash(token), rights, createdBy, expiresAt],
  );
  return { serviceToken: (await findServiceToken(tx, entityId, identifier, null))!, token };
}

/** Lists tokens that are not revoked, also expired ones; `createdBy` null lists those of all creators. */
export async function listServiceTokens(
  db: Queryable,
  entityId: number,
  createdBy: number | null,
  { offset, limit }: PageRange,
): Promise<Page<ServiceToken>> {
  const items = readRows<ServiceToken>(
    await db.query(`${SERVICE_TOKENS} WHERE ${LIVING} ORDER BY s.id OFFSET $3 LIMIT $4`, [
      entityId,
      createdBy,
      offset,
      limit,
    ]),
  );
  return { items, total: await countRows(db, `FROM service_tokens s WHERE ${LIVING}`, [entityId, createdBy]) };
}

async function findServiceToken(
  db: Queryable,
  entityId: number,
  identifier: string,
  createdBy: number | null,
): Promise<ServiceToken | null> {
  return readRow<ServiceToken>(
    await db.query(`${SERVICE_TOKENS} WHERE ${LIVING} AND s.identifier = $3`, [entityId, createdBy, identifier]),
  );
}

export async function revokeServiceToken(
  tx: Queryable,
  entityId: number,
  identifier: string,
  createdBy: number | null,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE service_tokens s SET revoked_at = now() WHERE ${LIVING} AND s.identifier = $3`,
    [entityId, createdBy, identifier],
  );
  return rowCount === 1;
}

export function isServiceToken(token: string): boolean {
  return token.startsWith(PREFIX);
}

/** Returns the creator's membership as it is now, with the token's rights; null for any token that does not hold. */
export async function findServiceTokenOwner(
  db: Queryable,
  token: string,
): Promise<{ id: number; tokenRights: Right[]; creator: TokenOwner } | null> {
  const rows = readRows<
    Row<'service_tokens', 'id' | 'entityId'> &
      Row<'memberships', 'userId' | 'admin', { rights: Right[] }> &
      Row<'users', 'superadmin'> & { tokenRights: Right[]; stale: boolean }
  >(
    await db.query(
      `SELECT s.id, s.entity_id, m.user_id, s.rights AS token_rights, m.rights, m.admin, u.superadmin,
       s.used_at IS NULL OR s.used_at < now() - ${NOTED_AFTER} AS stale
     FROM service_tokens s
     JOIN memberships m ON m.user_id = s.created_by AND m.entity_id = s.entity_id
     JOIN users u ON u.id = m.user_id
     JOIN entities e ON e.id = s.entity_id AND e.active
     WHERE s.token_hash = $1 AND s.revoked_at IS NULL AND s.expires_at > now()`,
      [tokenHash(token)],
    ),
  );
  const row = rows[0];
  if (!row) return null;
  if (row.stale) {
    await db.query('UPDATE service_tokens SET used_at = now() WHERE entity_id = $1 AND id = $2', [
      row.entityId,
      row.id,
    ]);
  }
  const { userId, entityId, rights, admin, superadmin } = row;
  return { id: row.id, tokenRights: row.tokenRights, creator: { userId, entityId, rights, admin, superadmin } };
}
