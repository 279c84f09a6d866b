/** Password resets. They belong to an account, which is the same in all entities. */
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';

type Asked = { email: string; userId?: number; address?: string };

/** Inserts a reset. The next sweep finds its account, if any, and sends the mail. */
export async function insertPasswordReset(tx: Queryable, { email, userId, address }: Asked): Promise<void> {
  await tx.query('INSERT INTO password_resets (identifier, email, user_id, address) VALUES ($1, $2, $3, $4)', [
    newIdentifier('rst'),
    email,
    userId ?? null,
    address ?? null,
  ]);
}

/** Binds the reset to the account that has the address now; its link resets no other. */
export async function bindPasswordReset(tx: Queryable, id: number, userId: number): Promise<void> {
  await tx.query('UPDATE password_resets SET user_id = $2 WHERE id = $1', [id, userId]);
}

export async function deletePasswordReset(tx: Queryable, id: number): Promise<void> {
  await tx.query('DELETE FROM password_resets WHERE id = $1', [id]);
}

export async function findResetUser(db: Queryable, tokenHash: Buffer): Promise<number | null> {
  // Uses the index password_resets_by_token.
  const rows = readRows<Row<'password_resets', 'userId'>>(
    await db.query('SELECT user_id FROM password_resets WHERE token_hash = $1 AND expires_at > now()', [tokenHash]),
  );
  return rows[0]?.userId ?? null;
}

export async function takePasswordReset(tx: Queryable, userId: number, tokenHash: Buffer): Promise<boolean> {
  const { rowCount } = await tx.query(
    'DELETE FROM password_resets WHERE token_hash = $1 AND user_id = $2 AND expires_at > now()',
    [tokenHash, userId],
  );
  return rowCount === 1;
}

export async function deletePasswordResetsOf(tx: Queryable, userId: number): Promise<void> {
  await tx.query('DELETE FROM password_resets WHERE user_id = $1', [userId]);
}
