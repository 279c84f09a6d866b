import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';

/** An account is the same in all entities: a reset belongs to the account, and to no entity. */

/** For an account that is known, or for an address that may have one. */
type Asked = { email: string; userId?: number; address?: string };

/** The mail goes with the next sweep, which also finds out whether there is an account. */
export async function insertPasswordReset(tx: Queryable, { email, userId, address }: Asked): Promise<void> {
  await tx.query('INSERT INTO password_resets (identifier, email, user_id, address) VALUES ($1, $2, $3, $4)', [
    newIdentifier('rst'),
    email,
    userId ?? null,
    address ?? null,
  ]);
}

/** Binds the request to the account that has the address now: no other is reset by its link. */
export async function bindPasswordReset(tx: Queryable, id: number, userId: number): Promise<void> {
  await tx.query('UPDATE password_resets SET user_id = $2 WHERE id = $1', [id, userId]);
}

export async function deletePasswordReset(tx: Queryable, id: number): Promise<void> {
  await tx.query('DELETE FROM password_resets WHERE id = $1', [id]);
}

/** The account that an open link resets. */
export async function findResetUser(db: Queryable, tokenHash: Buffer): Promise<number | null> {
  // By password_resets_by_token.
  const rows = readRows<Row<'password_resets', 'userId'>>(
    await db.query('SELECT user_id FROM password_resets WHERE token_hash = $1 AND expires_at > now()', [tokenHash]),
  );
  return rows[0]?.userId ?? null;
}

/** Takes an open link, which then opens nothing; false where it has gone meanwhile. */
export async function takePasswordReset(tx: Queryable, userId: number, tokenHash: Buffer): Promise<boolean> {
  const { rowCount } = await tx.query(
    'DELETE FROM password_resets WHERE token_hash = $1 AND user_id = $2 AND expires_at > now()',
    [tokenHash, userId],
  );
  return rowCount === 1;
}

/** Ends all open links of an account, as a new password or a new address does. */
export async function deletePasswordResetsOf(tx: Queryable, userId: number): Promise<void> {
  await tx.query('DELETE FROM password_resets WHERE user_id = $1', [userId]);
}
