/** Users, and their memberships of entities with rights. */
import type { Right } from '../../domain/accounts/rights.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';

const USER = 'id, uid, email, first_name, last_name, password_hash, superadmin, prefered_entity_id';

export type User = Row<
  'users',
  'id' | 'uid' | 'email' | 'firstName' | 'lastName' | 'passwordHash' | 'superadmin' | 'preferedEntityId'
>;

export type Membership = Row<'memberships', 'userId' | 'entityId' | 'admin', { rights: Right[] }>;

export type NewUser = {
  email: string;
  passwordHash: string;
  firstName?: string;
  lastName?: string;
  superadmin?: boolean;
  preferedEntityId: number;
};

export async function insertUser(tx: Queryable, user: NewUser): Promise<User> {
  const inserted = await tx.query(
    `INSERT INTO users (uid, email, first_name, last_name, password_hash, superadmin, prefered_entity_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ${USER}`,
    [
      newIdentifier('usr'),
      user.email,
      user.firstName ?? '',
      user.lastName ?? '',
      user.passwordHash,
      user.superadmin ?? false,
      user.preferedEntityId,
    ],
  );
  return readRow<User>(inserted)!;
}

export async function insertMembership(tx: Queryable, { userId, entityId, rights, admin }: Membership): Promise<void> {
  await tx.query('INSERT INTO memberships (user_id, entity_id, rights, admin) VALUES ($1, $2, $3, $4)', [
    userId,
    entityId,
    rights,
    admin,
  ]);
}

export async function hasUsers(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>('SELECT EXISTS (SELECT FROM users) AS found');
  return rows[0]!.found;
}

export async function findUser(db: Queryable, userId: number): Promise<User | null> {
  return readRow<User>(await db.query(`SELECT ${USER} FROM users WHERE id = $1`, [userId]));
}

/** `isLocked`: keeps the user from being changed until the transaction ends. */
export async function findUserByEmail(db: Queryable, email: string, { isLocked = false } = {}): Promise<User | null> {
  return readRow<User>(
    await db.query(`SELECT ${USER} FROM users WHERE lower(email) = lower($1) ${isLocked ? 'FOR SHARE' : ''}`, [email]),
  );
}

/** Locks a user and their membership. Null if the password is no longer the one that was checked. */
export async function lockLogin(tx: Queryable, user: User, entityId: number): Promise<Membership | null> {
  const { rows } = await tx.query<Row<'memberships', 'admin', { rights: Right[] }>>(
    `SELECT m.rights, m.admin FROM users u JOIN memberships m ON m.user_id = u.id
     WHERE u.id = $1 AND u.password_hash = $2 AND m.entity_id = $3 FOR SHARE`,
    [user.id, user.passwordHash, entityId],
  );
  return rows[0] ? { userId: user.id, entityId, ...rows[0] } : null;
}

export type UserChanges = {
  email?: string | undefined;
  firstName?: string | undefined;
  lastName?: string | undefined;
  passwordHash?: string | undefined;
  superadmin?: boolean | undefined;
};

export async function updateUser(tx: Queryable, userId: number, changes: UserChanges): Promise<void> {
  await tx.query(
    `UPDATE users SET email = coalesce($2, email), first_name = coalesce($3, first_name),
       last_name = coalesce($4, last_name), password_hash = coalesce($5, password_hash), superadmin = coalesce($6, superadmin)
     WHERE id = $1`,
    [
      userId,
      changes.email ?? null,
      changes.firstName ?? null,
      changes.lastName ?? null,
      changes.passwordHash ?? null,
      changes.superadmin ?? null,
    ],
  );
}

export async function listEntityIdsOf(db: Queryable, userId: number): Promise<number[]> {
  const memberships = readRows<Row<'memberships', 'entityId'>>(
    await db.query('SELECT entity_id FROM memberships WHERE user_id = $1 ORDER BY entity_id', [userId]),
  );
  return memberships.map(({ entityId }) => entityId);
}

/** Returns the number of superadmins, and locks them, so that it stays the same until the transaction ends. */
export async function lockSuperadmins(tx: Queryable): Promise<number> {
  const { rows } = await tx.query('SELECT FROM users WHERE superadmin ORDER BY id FOR UPDATE');
  return rows.length;
}

export async function findEmail(db: Queryable, id: number): Promise<string> {
  const { rows } = await db.query<Row<'users', 'email'>>('SELECT email FROM users WHERE id = $1', [id]);
  return rows[0]!.email;
}

const MAX_TOLD = 50;

export async function listSuperadminAddresses(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<Row<'users', 'email'>>(
    `SELECT email FROM users WHERE superadmin ORDER BY id LIMIT ${MAX_TOLD}`,
  );
  return rows.map(({ email }) => email);
}
