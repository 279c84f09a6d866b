/** Session tokens: makes them, finds their users, and ends them. */
import type { Right } from '../../domain/accounts/rights.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newToken } from '../core/identifiers.ts';
import { tokenHash } from '../core/secrets.ts';

export type TokenOwner = { userId: number; entityId: number; rights: Right[]; admin: boolean; superadmin: boolean };

const SESSION_IDLE = "interval '30 minutes'";
const SESSION_LENGTH = "interval '12 hours'";
/** A use within this time of the last one is not written, so a busy token costs no writes. */
const RENEWED_AFTER = `CASE WHEN t.ends_at IS NULL THEN interval '1 hour' ELSE interval '1 minute' END`;

/**
 * Makes a token, and stores only its hash: one that expires `ttlDays` after its last use, or (null) a session of the
 * console.
 */
export async function insertToken(
  db: Queryable,
  userId: number,
  entityId: number,
  ttlDays: number | null,
): Promise<string> {
  const token = newToken();
  await db.query(
    `INSERT INTO tokens (token_hash, user_id, entity_id, expires_at, ends_at)
     VALUES ($1, $2, $3, now() + coalesce(make_interval(days => $4), ${SESSION_IDLE}),
       CASE WHEN $4::integer IS NULL THEN now() + ${SESSION_LENGTH} END)`,
    [tokenHash(token), userId, entityId, ttlDays],
  );
  return token;
}

export type TokenUse = {
  /** A session of the console instead of a token of a login: neither stands for the other. */
  isSession?: boolean;
  /** A call that no person made, such as a poll, does not renew a token. */
  isBackground?: boolean;
};

/** Returns the owner of a valid token and renews it; null for any other. */
export async function findTokenOwner(
  db: Queryable,
  token: string,
  ttlDays: number,
  { isSession = false, isBackground = false }: TokenUse = {},
): Promise<(TokenOwner & { entityIdentifier: string }) | null> {
  const hash = tokenHash(token);
  const rows = readRows<
    Row<'tokens', 'userId' | 'entityId'> &
      Row<'memberships', 'admin', { rights: Right[] }> &
      Row<'users', 'superadmin'> & { entityIdentifier: string; stale: boolean }
  >(
    await db.query({
      // Planned once a session: planning takes Postgres longer than running, and each request runs it.
      name: 'find-token-owner',
      text: `SELECT t.user_id, t.entity_id, e.identifier AS entity_identifier, m.rights, m.admin, u.superadmin, t.used_at < now() - ${RENEWED_AFTER} AS stale
     FROM tokens t
     JOIN memberships m ON m.user_id = t.user_id AND m.entity_id = t.entity_id
     JOIN users u ON u.id = t.user_id
     JOIN entities e ON e.id = t.entity_id AND e.active
     WHERE t.token_hash = $1 AND least(t.expires_at, t.ends_at) > now() AND (t.ends_at IS NOT NULL) = $2`,
      values: [hash, isSession],
    }),
  );
  if (!rows[0]) return null;
  const { stale, ...owner } = rows[0];
  if (stale && !isBackground) await renewToken(db, hash, ttlDays);
  return owner;
}

async function renewToken(db: Queryable, hash: Buffer, ttlDays: number): Promise<void> {
  await db.query(
    `UPDATE tokens SET used_at = now(), expires_at =
       CASE WHEN ends_at IS NULL THEN now() + make_interval(days => $2) ELSE least(now() + ${SESSION_IDLE}, ends_at) END
     WHERE token_hash = $1`,
    [hash, ttlDays],
  );
}

/** Returns when a token ends unless it is used, and at the latest (null: a token of a login); null if it is gone. */
export async function findTokenEnds(
  db: Queryable,
  token: string,
): Promise<Row<'tokens', 'expiresAt' | 'endsAt'> | null> {
  return readRow(await db.query('SELECT expires_at, ends_at FROM tokens WHERE token_hash = $1', [tokenHash(token)]));
}

/** Makes a token act in another entity, and returns the user's membership there; null if there is none. */
export async function updateTokenEntity(
  tx: Queryable,
  token: string,
  entityId: number,
): Promise<Pick<TokenOwner, 'rights' | 'admin'> | null> {
  const { rows } = await tx.query<Pick<TokenOwner, 'rights' | 'admin'>>(
    `UPDATE tokens t SET entity_id = m.entity_id FROM memberships m
     JOIN entities e ON e.id = m.entity_id AND e.active
     WHERE t.token_hash = $1 AND m.user_id = t.user_id AND m.entity_id = $2 RETURNING m.rights, m.admin`,
    [tokenHash(token), entityId],
  );
  return rows[0] ?? null;
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
