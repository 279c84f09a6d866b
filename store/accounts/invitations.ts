/** Open invitations into an entity. */
import type { Right } from '../../domain/accounts/rights.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import type { MailState } from '../core/mails.ts';
import { countRows, type Page, type PageRange } from '../core/page.ts';

/** An open invitation: it has no effect until the owner of the address accepts it. */
export type Invitation = Row<
  'invitations',
  | 'entityId'
  | 'id'
  | 'identifier'
  | 'email'
  | 'firstName'
  | 'lastName'
  | 'admin'
  | 'superadmin'
  | 'invitedBy'
  | 'createdAt'
  | 'expiresAt'
  | 'mailReason',
  { rights: Right[]; mailState: MailState | null }
>;

export type NewInvitation = Pick<Invitation, 'email' | 'rights' | 'admin' | 'superadmin' | 'invitedBy'> & {
  firstName?: string | undefined;
  lastName?: string | undefined;
};

/** Inserts an invitation, whose mail the next sweep sends. Returns null if the address is already invited. */
export async function insertInvitation(
  tx: Queryable,
  entityId: number,
  invitation: NewInvitation,
): Promise<Invitation | null> {
  const { email, firstName = '', lastName = '', rights, admin, superadmin, invitedBy } = invitation;
  await tx.query('DELETE FROM invitations WHERE entity_id = $1 AND lower(email) = lower($2) AND expires_at <= now()', [
    entityId,
    email,
  ]);
  return readRow<Invitation>(
    await tx.query(
      `INSERT INTO invitations (entity_id, identifier, email, first_name, last_name, rights, admin, superadmin, invited_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (entity_id, lower(email)) DO NOTHING RETURNING *`,
      [entityId, newIdentifier('inv'), email, firstName, lastName, rights, admin, superadmin, invitedBy],
    ),
  );
}

export async function listInvitations(
  db: Queryable,
  entityId: number,
  { offset, limit }: PageRange,
): Promise<Page<Invitation>> {
  const open = 'FROM invitations WHERE entity_id = $1 AND expires_at > now()';
  const items = readRows<Invitation>(
    await db.query(`SELECT * ${open} ORDER BY id OFFSET $2 LIMIT $3`, [entityId, offset, limit]),
  );
  return { items, total: await countRows(db, open, [entityId]) };
}

/** Renews an open invitation for a day, and has its mail sent again with a new link. Returns null if there is none. */
export async function resendInvitation(
  tx: Queryable,
  entityId: number,
  identifier: string,
): Promise<Invitation | null> {
  return readRow<Invitation>(
    await tx.query(
      `UPDATE invitations SET mail_state = NULL, mail_tries = 0, mail_reason = NULL, token_hash = NULL, expires_at = now() + interval '1 day'
     WHERE entity_id = $1 AND identifier = $2 AND expires_at > now() RETURNING *`,
      [entityId, identifier],
    ),
  );
}

export async function deleteInvitation(
  tx: Queryable,
  entityId: number,
  identifier: string,
): Promise<Invitation | null> {
  return readRow<Invitation>(
    await tx.query(
      'DELETE FROM invitations WHERE entity_id = $1 AND identifier = $2 AND expires_at > now() RETURNING *',
      [entityId, identifier],
    ),
  );
}

/** Takes and deletes the invitation of a link; returns null if it is gone or has a new link. */
export async function takeInvitation(
  tx: Queryable,
  { entityId, id }: Invitation,
  tokenHash: Buffer,
): Promise<Invitation | null> {
  return readRow<Invitation>(
    await tx.query(
      'DELETE FROM invitations WHERE entity_id = $1 AND id = $2 AND token_hash = $3 AND expires_at > now() RETURNING *',
      [entityId, id, tokenHash],
    ),
  );
}
