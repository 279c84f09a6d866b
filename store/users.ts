import type { Queryable } from './database.ts';
import { newIdentifier } from './identifiers.ts';
import type { Right } from '../domain/rights.ts';

export type User = {
  id: number;
  uid: string;
  email: string;
  firstName: string;
  lastName: string;
  passwordHash: string;
  superadmin: boolean;
  preferedEntityId: number | null;
};

export type Membership = { userId: number; entityId: number; rights: Right[]; admin: boolean };

type UserRow = {
  id: number; uid: string; email: string; first_name: string; last_name: string; password_hash: string;
  superadmin: boolean; prefered_entity_id: number | null;
};

export type NewUser = {
  email: string;
  passwordHash: string;
  firstName?: string;
  lastName?: string;
  superadmin?: boolean;
  preferedEntityId: number;
};

export async function insertUser(tx: Queryable, user: NewUser): Promise<User> {
  const { rows } = await tx.query<UserRow>(
    `INSERT INTO users (uid, email, first_name, last_name, password_hash, superadmin, prefered_entity_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING *`,
    [newIdentifier('usr'), user.email, user.firstName ?? '', user.lastName ?? '', user.passwordHash,
      user.superadmin ?? false, user.preferedEntityId]);
  return toUser(rows[0]!);
}

export async function insertMembership(tx: Queryable, { userId, entityId, rights, admin }: Membership): Promise<void> {
  await tx.query('INSERT INTO memberships (user_id, entity_id, rights, admin) VALUES ($1, $2, $3, $4)',
    [userId, entityId, rights, admin]);
}

/** True once anybody may log in: the first start is over. */
export async function hasUsers(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>('SELECT EXISTS (SELECT FROM users) AS found');
  return rows[0]!.found;
}

/** E-mail addresses are compared without regard to case. */
export async function findUserByEmail(db: Queryable, email: string): Promise<User | null> {
  const { rows } = await db.query<UserRow>('SELECT * FROM users WHERE lower(email) = lower($1)', [email]);
  return rows[0] ? toUser(rows[0]) : null;
}

export async function findMembership(db: Queryable, userId: number, entityId: number): Promise<Membership | null> {
  const { rows } = await db.query<{ rights: Right[]; admin: boolean }>(
    'SELECT rights, admin FROM memberships WHERE user_id = $1 AND entity_id = $2', [userId, entityId]);
  return rows[0] ? { userId, entityId, ...rows[0] } : null;
}

function toUser(row: UserRow): User {
  return {
    id: row.id,
    uid: row.uid,
    email: row.email,
    firstName: row.first_name,
    lastName: row.last_name,
    passwordHash: row.password_hash,
    superadmin: row.superadmin,
    preferedEntityId: row.prefered_entity_id,
  };
}
