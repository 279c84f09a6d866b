/** Invitations and password resets across entities: for mailed links and for the sweep. */
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import type { Invitation } from './invitations.ts';

export async function findInvitationByToken(db: Queryable, tokenHash: Buffer): Promise<Invitation | null> {
  // Uses the index invitations_by_token.
  return readRow<Invitation>(
    await db.query(
      `SELECT i.* FROM invitations i JOIN entities e ON e.id = i.entity_id AND e.active
     WHERE i.token_hash = $1 AND i.expires_at > now()`,
      [tokenHash],
    ),
  );
}

/** Mails that are due: refused ones six times in half an hour; one under way for minutes was interrupted. */
const IS_DUE = `expires_at > now() AND (mail_state IS NULL
  OR (mail_state = 'not_sent' AND mail_tries < 6 AND tried_at < now() - 2 ^ (mail_tries - 1) * interval '1 minute')
  OR (mail_state = 'sending' AND tried_at < now() - interval '5 minutes'))`;

/** Lists resets and invitations whose mail is due. Deletes resets of addresses that have no account. */
export async function listDueAccountLinks(db: Queryable): Promise<{ resets: DueReset[]; invitations: Invitation[] }> {
  await deleteResetsWithoutAccount(db);
  return { resets: await listDueResets(db), invitations: await listDueInvitations(db) };
}

async function listDueInvitations(db: Queryable): Promise<Invitation[]> {
  return readRows<Invitation>(
    await db.query(`SELECT * FROM invitations WHERE ${IS_DUE} ORDER BY created_at LIMIT 100`),
  );
}

async function deleteResetsWithoutAccount(db: Queryable): Promise<void> {
  await db.query(
    `DELETE FROM password_resets r WHERE user_id IS NULL AND NOT EXISTS (SELECT FROM users WHERE lower(email) = lower(r.email))`,
  );
}

/** `userId` is null until the address is looked up. */
export type DueReset = { id: number; identifier: string; email: string; userId: number | null; address: string | null };

async function listDueResets(db: Queryable): Promise<DueReset[]> {
  return readRows<Row<'password_resets', 'id' | 'identifier' | 'email' | 'userId' | 'address'>>(
    await db.query(
      `SELECT id, identifier, email, user_id, address FROM password_resets WHERE ${IS_DUE} ORDER BY created_at LIMIT 100`,
    ),
  );
}

export async function deleteExpiredAccountLinks(db: Queryable): Promise<void> {
  await db.query('DELETE FROM invitations WHERE expires_at < now()');
  await db.query('DELETE FROM password_resets WHERE expires_at < now()');
}
