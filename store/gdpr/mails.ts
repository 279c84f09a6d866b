import type { GdprMailKind } from '../../domain/gdpr/gdpr-mail.ts';
import type { Queryable } from '../core/database.ts';
import type { GdprRequest } from './request-record.ts';

/** The one mail of a kind that a request has; its row is made at the first call. */
export async function upsertGdprMail(
  tx: Queryable,
  { entityId, id, identifier }: Pick<GdprRequest, 'entityId' | 'id' | 'identifier'>,
  kind: GdprMailKind,
): Promise<{ id: number; identifier: string }> {
  await tx.query(
    `INSERT INTO gdpr_mails (entity_id, request_id, kind, identifier) VALUES ($1, $2, $3, $4)
     ON CONFLICT (entity_id, request_id, kind) DO NOTHING`,
    [entityId, id, kind, `${identifier}.${kind}`],
  );
  const { rows } = await tx.query<{ id: number; identifier: string }>(
    'SELECT id, identifier FROM gdpr_mails WHERE entity_id = $1 AND request_id = $2 AND kind = $3',
    [entityId, id, kind],
  );
  return rows[0]!;
}

/** There is nobody to send it to, now: whoever looks for mails to send does not meet it again and again. */
export async function updateNoRecipients(tx: Queryable, entityId: number, mailId: number): Promise<void> {
  await tx.query(
    `UPDATE gdpr_mails SET mail_state = 'not_sent', mail_tries = mail_tries + 1, tried_at = now(), mail_reason = 'there is nobody to tell'
     WHERE entity_id = $1 AND id = $2 AND coalesce(mail_state, 'not_sent') = 'not_sent'`,
    [entityId, mailId],
  );
}

/** A member `m` of the entity, the user `u`, who may see requests of people: a mail leads to their data. */
const MAY_BE_TOLD = `(u.superadmin OR 'gdpr_data_manage' = ANY (m.rights))`;
/** Of a mail to all members who may see requests. */
const MAX_RECIPIENTS = 100;

/**
 * The members of some addresses, compared without regard to case, who may see requests; without any addresses, the
 * first who may.
 */
export async function listMembersToNotify(
  db: Queryable,
  entityId: number,
  emails?: readonly string[],
): Promise<string[]> {
  const { rows } = await db.query<{ email: string }>(
    `SELECT u.email FROM users u JOIN memberships m ON m.user_id = u.id AND m.entity_id = $1
     WHERE ${MAY_BE_TOLD} AND ($2::text[] IS NULL OR lower(u.email) IN (SELECT lower(given) FROM unnest($2::text[]) AS given))
     ORDER BY u.id LIMIT $3`,
    [entityId, emails ?? null, emails ? null : MAX_RECIPIENTS],
  );
  return rows.map(({ email }) => email);
}

/** The addresses that the app of a request from a device names now, of members who may see it. */
export async function listAppRecipients(
  db: Queryable,
  { entityId, appId }: Pick<GdprRequest, 'entityId' | 'appId'>,
): Promise<string[]> {
  const {
    rows: [app],
  } = await db.query<{ gdpr_emails: string[] }>('SELECT gdpr_emails FROM apps WHERE entity_id = $1 AND id = $2', [
    entityId,
    appId,
  ]);
  return app ? listMembersToNotify(db, entityId, app.gdpr_emails) : [];
}

/** Notes down the recipients of a mail of the request, unless it went already. */
export async function updateRecipients(
  tx: Queryable,
  { entityId, id }: GdprRequest,
  mailId: number,
  emails: readonly string[],
): Promise<void> {
  await tx.query(
    `UPDATE gdpr_requests SET emails = $4 WHERE entity_id = $1 AND id = $2 AND emails <> $4
       AND EXISTS (SELECT FROM gdpr_mails WHERE entity_id = $1 AND id = $3 AND coalesce(mail_state, 'not_sent') = 'not_sent')`,
    [entityId, id, mailId, emails],
  );
}

/**
 * The address of the user who asked, or who made the service token that did. Null where there is none, or they may no
 * longer see such requests: what is told leads to the data.
 */
export async function findRequesterEmail(
  db: Queryable,
  { entityId, requester }: Pick<GdprRequest, 'entityId' | 'requester'>,
): Promise<string | null> {
  const user =
    requester.kind === 'user'
      ? '$2'
      : requester.kind === 'service_token'
        ? '(SELECT created_by FROM service_tokens WHERE entity_id = $1 AND id = $2)'
        : null;
  if (user === null) return null;
  const { rows } = await db.query<{ email: string }>(
    `SELECT u.email FROM users u JOIN memberships m ON m.user_id = u.id AND m.entity_id = $1
     WHERE u.id = ${user} AND ${MAY_BE_TOLD}`,
    [entityId, requester.id],
  );
  return rows[0]?.email ?? null;
}
