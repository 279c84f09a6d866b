/** Session tokens: makes them, finds their users, and ends them. */
import type { Right } from '../../domain/accounts/rights.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newToken } from '../core/identifiers.ts';
import { tokenHash } from '../core/secrets.ts';

/** The user and the one entity that a token acts for. */
export type TokenOwner = { userId: number; entityId: number; rights: Right[]; admin: boolean; superadmin: boolean };

/** A use within this time of the last one is not written, so a busy token costs no writes. */
const RENEWED_AFTER = "interval '1 hour'";

/** Makes a session token that expires `ttlDays` after its last use; only its hash is stored. */
export async function insertToken(db: Queryable, userId: number, entityId: number, ttlDays: number): Promise<string> {
  const token = newToken();
  await db.query(
    `INSERT INTO tokens (token_hash, user_id, entity_id, expires_at) VALUES ($1, $2, $3, now() + make_interval(days => $4))`,
    [tokenHash(token), userId, entityId, ttlDays],
  );
  return token;
}

/** Returns the owner of a valid token and renews it; null for any other. */
export async function findTokenOwner(db: Queryable, token: string, ttlDays: number): Promise<TokenOwner | null> {
  const hash = tokenHash(token);
  const rows = readRows<
    Row<'tokens', 'userId' | 'entityId'> &
      Row<'memberships', 'admin', { rights: Right[] }> &
      Row<'users', 'superadmin'> & { stale: boolean }
  >(
    await db.query({
      // Planned once a session: planning takes Postgres longer than running, and each request runs it.
      name: 'find-token-owner',
      text: `SELECT t.user_id, t.entity_id, m.rights, m.admin, u.superadmin, t.used_at < now() - ${RENEWED_AFTER} AS stale
     FROM tokens t
     JOIN memberships m ON m.user_id = t.user_id AND m.entity_id = t.entity_id
     JOIN users u ON u.id = t.user_id
     JOIN entities e ON e.id = t.entity_id AND e.active
     WHERE t.token_hash = $1 AND t.expires_at > now()`,
      values: [hash],
    }),
  );
  if (!rows[0]) return null;
  const { stale, ...owner } = rows[0];
  if (stale) {
    await db.query(
      'UPDATE tokens SET used_at = now(), expires_at = now() + make_interval(days => $2) WHERE token_hash = $1',
      [hash, ttlDays],
    );
  }
  return owner;
}

/** Ends all sessions of a user in every entity, except that of the given token. */
export async function deleteTokensOf(tx: Queryable, userId: number, kept?: string): Promise<void> {
  await tx.query('DELETE FROM tokens WHERE user_id = $1 AND token_hash IS DISTINCT FROM $2', [
    userId,
    kept === undefined ? null : tokenHash(kept),
  ]);
}

export async function deleteToken(db: Queryable, token: string): Promise<void> {
  await db.query('DELETE FROM tokens WHERE token_hash = $1', [tokenHash(token)]);
}
