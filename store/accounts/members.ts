/** Members of an entity: users with their rights there. */
import type { Right } from '../../domain/accounts/rights.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { countRows, type Page, type PageRange } from '../core/page.ts';

/** A user as one entity sees it, without their other entities. */
export type Member = Row<'users', 'id' | 'uid' | 'email' | 'firstName' | 'lastName' | 'superadmin'> &
  Row<'memberships', 'admin', { rights: Right[] }>;

const MEMBERS = `SELECT u.id, u.uid, u.email, u.first_name, u.last_name, u.superadmin, m.rights, m.admin
  FROM memberships m JOIN users u ON u.id = m.user_id`;

export async function listMembers(
  db: Queryable,
  entityId: number,
  { offset, limit }: PageRange,
): Promise<Page<Member>> {
  const items = readRows<Member>(
    await db.query(`${MEMBERS} WHERE m.entity_id = $1 ORDER BY u.id OFFSET $2 LIMIT $3`, [entityId, offset, limit]),
  );
  return { items, total: await countRows(db, 'FROM memberships WHERE entity_id = $1', [entityId]) };
}

export async function findMember(db: Queryable, entityId: number, user: string): Promise<Member | null> {
  return readRow<Member>(
    await db.query(`${MEMBERS} WHERE m.entity_id = $1 AND (u.uid = $2 OR u.id::text = $2)`, [entityId, user]),
  );
}

export async function hasMemberOfEmail(db: Queryable, entityId: number, email: string): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.entity_id = $1 AND lower(u.email) = lower($2)`,
    [entityId, email],
  );
  return rows.length > 0;
}

/** Locks the entity's memberships and rights until the transaction ends. */
export async function lockMembers(tx: Queryable, entityId: number): Promise<void> {
  await tx.query('SELECT FROM entities WHERE id = $1 FOR NO KEY UPDATE', [entityId]);
}

export function countAdmins(tx: Queryable, entityId: number): Promise<number> {
  return countRows(tx, 'FROM memberships WHERE entity_id = $1 AND admin', [entityId]);
}

/** Returns whether the user belongs to no other entity, and locks the user so that it stays so. */
export async function isOnlyMemberOf(tx: Queryable, entityId: number, userId: number): Promise<boolean> {
  await lockUser(tx, userId);
  const { rows } = await tx.query('SELECT FROM memberships WHERE user_id = $2 AND entity_id <> $1 LIMIT 1', [
    entityId,
    userId,
  ]);
  return rows.length === 0;
}

export async function updateMembership(
  tx: Queryable,
  entityId: number,
  userId: number,
  { rights, admin }: { rights: readonly Right[]; admin: boolean },
): Promise<void> {
  await tx.query('UPDATE memberships SET rights = $3, admin = $4 WHERE entity_id = $1 AND user_id = $2', [
    entityId,
    userId,
    rights,
    admin,
  ]);
}

/** Removes the user from the entity and ends the sessions there. Deletes a user without another entity. */
export async function deleteMember(
  tx: Queryable,
  entityId: number,
  userId: number,
): Promise<{ isUserDeleted: boolean }> {
  // Locked first, so that the user cannot be added to an entity meanwhile.
  await lockUser(tx, userId);
  await tx.query('DELETE FROM memberships WHERE entity_id = $1 AND user_id = $2', [entityId, userId]);
  // Otherwise they would work again once the user is added again.
  await tx.query(
    'UPDATE service_tokens SET revoked_at = now() WHERE entity_id = $1 AND created_by = $2 AND revoked_at IS NULL',
    [entityId, userId],
  );
  const { rowCount } = await tx.query(
    'DELETE FROM users WHERE id = $1 AND NOT EXISTS (SELECT FROM memberships WHERE user_id = $1)',
    [userId],
  );
  return { isUserDeleted: rowCount === 1 };
}

export async function lockUser(tx: Queryable, userId: number): Promise<void> {
  await tx.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [userId]);
}
