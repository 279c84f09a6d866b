/** Mails about requests, and digests of an app's requests from devices: their rows and recipients. */
import type { GdprMailKind } from '../../domain/gdpr/gdpr-mail.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { type Digest, WITH_MAILS } from './across-entities.ts';
import { lockDeviceRequests } from './device-requests.ts';
import { type GdprRequest, type RequestColumns, toGdprRequest } from './request-record.ts';

/**
 * Returns the mail of a kind of a request (`mailAboutRequest`), and inserts its row at the first call. Stores the
 * recipients in the request, unless the mail was sent.
 */
export async function upsertGdprMail(
  tx: Queryable,
  request: Pick<GdprRequest, 'entityId' | 'id' | 'identifier'>,
  kind: GdprMailKind,
  emails: readonly string[],
): Promise<{ id: number; identifier: string }> {
  const { entityId, id, identifier } = request;
  await tx.query(
    `INSERT INTO gdpr_mails (entity_id, request_id, kind, identifier) VALUES ($1, $2, $3, $4)
     ON CONFLICT (entity_id, request_id, kind) DO NOTHING`,
    [entityId, id, kind, `${identifier}.${kind}`],
  );
  const { rows } = await tx.query<Row<'gdpr_mails', 'id' | 'identifier'>>(
    'SELECT id, identifier FROM gdpr_mails WHERE entity_id = $1 AND request_id = $2 AND kind = $3',
    [entityId, id, kind],
  );
  const mail = rows[0]!;
  await updateRecipients(tx, request, mail.id, emails);
  if (emails.length === 0) await updateNoRecipients(tx, entityId, mail.id);
  return mail;
}

/** Records that a mail has no recipients now, so that the next search for due mails passes it over. */
async function updateNoRecipients(tx: Queryable, entityId: number, mailId: number): Promise<void> {
  await tx.query(
    `UPDATE gdpr_mails SET mail_state = 'not_sent', mail_tries = mail_tries + 1, tried_at = now(), mail_reason = 'no recipient may see such requests'
     WHERE entity_id = $1 AND id = $2 AND coalesce(mail_state, 'not_sent') = 'not_sent'`,
    [entityId, mailId],
  );
}

/** A condition: the user `u`, member `m` of the entity, may see privacy requests. A mail leads to people's data. */
const MAY_BE_TOLD = `(u.superadmin OR 'gdpr_data_manage' = ANY (m.rights))`;
const MAX_RECIPIENTS = 100;

/** Lists the members who may see requests: those with some addresses, compared without case, or the first. */
export async function listMembersToNotify(
  db: Queryable,
  entityId: number,
  emails?: readonly string[],
): Promise<string[]> {
  const { rows } = await db.query<Row<'users', 'email'>>(
    `SELECT u.email FROM users u JOIN memberships m ON m.user_id = u.id AND m.entity_id = $1
     WHERE ${MAY_BE_TOLD} AND ($2::text[] IS NULL OR lower(u.email) IN (SELECT lower(given) FROM unnest($2::text[]) AS given))
     ORDER BY u.id LIMIT $3`,
    [entityId, emails ?? null, emails ? null : MAX_RECIPIENTS],
  );
  return rows.map(({ email }) => email);
}

/** Lists the addresses that the app of a request names now, if their members may see it. */
export async function listAppRecipients(
  db: Queryable,
  { entityId, appId }: Pick<GdprRequest, 'entityId' | 'appId'>,
): Promise<string[]> {
  const app = readRow<Row<'apps', 'gdprEmails'>>(
    await db.query('SELECT gdpr_emails FROM apps WHERE entity_id = $1 AND id = $2', [entityId, appId]),
  );
  return app ? listMembersToNotify(db, entityId, app.gdprEmails) : [];
}

async function updateRecipients(
  tx: Queryable,
  { entityId, id }: Pick<GdprRequest, 'entityId' | 'id'>,
  mailId: number,
  emails: readonly string[],
): Promise<void> {
  await tx.query(
    `UPDATE gdpr_requests SET emails = $4 WHERE entity_id = $1 AND id = $2 AND emails <> $4
       AND EXISTS (SELECT FROM gdpr_mails WHERE entity_id = $1 AND id = $3 AND coalesce(mail_state, 'not_sent') = 'not_sent')`,
    [entityId, id, mailId, emails],
  );
}

/** Returns the address of the requester, or the service token's creator; null if they may not see requests. */
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
  const { rows } = await db.query<Row<'users', 'email'>>(
    `SELECT u.email FROM users u JOIN memberships m ON m.user_id = u.id AND m.entity_id = $1
     WHERE u.id = ${user} AND ${MAY_BE_TOLD}`,
    [entityId, requester.id],
  );
  return rows[0]?.email ?? null;
}

const IS_UNSENT = `coalesce(m.mail_state, 'not_sent') = 'not_sent'`;
const OF_APP = `gdpr_mails m JOIN gdpr_requests r ON r.entity_id = m.entity_id AND r.id = m.request_id
  WHERE m.entity_id = $1 AND r.app_id IS NOT DISTINCT FROM $2::integer AND r.is_unvouched`;

/** Adds an app's due mails to its next digest, unless the app had one within the last hour. */
export async function upsertDigest(
  tx: Tx,
  { entityId, appId }: { entityId: number; appId: number | null },
): Promise<void> {
  await lockDeviceRequests(tx, entityId);
  const last = readRow<Row<'gdpr_mails', 'id'> & { isUnsent: boolean; isRecent: boolean }>(
    await tx.query(
      `SELECT m.id, ${IS_UNSENT} AS is_unsent, m.tried_at > now() - interval '1 hour' AS is_recent
     FROM ${OF_APP} AND m.digest_id = m.id ORDER BY m.tried_at DESC NULLS FIRST LIMIT 1`,
      [entityId, appId],
    ),
  );
  if (last && !last.isUnsent && last.isRecent) return;
  await tx.query(
    `INSERT INTO gdpr_mails (entity_id, request_id, kind, identifier)
     SELECT entity_id, id, kind, identifier || '.' || kind FROM ${WITH_MAILS} r
     WHERE entity_id = $1 AND app_id IS NOT DISTINCT FROM $2::integer AND is_unvouched ORDER BY id
     ON CONFLICT (entity_id, request_id, kind) DO NOTHING`,
    [entityId, appId],
  );
  await tx.query(
    `WITH open AS (SELECT m.id FROM ${OF_APP} AND m.digest_id IS NULL AND ${IS_UNSENT})
     UPDATE gdpr_mails SET digest_id = coalesce($3, (SELECT min(id) FROM open)) WHERE entity_id = $1 AND id IN (SELECT id FROM open)`,
    [entityId, appId, last?.isUnsent ? last.id : null],
  );
}

export type DigestEntry = { mailId: number; kind: GdprMailKind; request: GdprRequest };

/** Lists a digest's entries, without those that staff have decided on or released. */
export async function listDigestEntries(db: Queryable, { entityId, id }: Digest): Promise<DigestEntry[]> {
  return readRows<RequestColumns & { mailId: number; mailKind: GdprMailKind }, DigestEntry>(
    await db.query(
      `SELECT r.*, m.id AS mail_id, m.kind AS mail_kind
     FROM gdpr_mails m JOIN gdpr_requests r ON r.entity_id = m.entity_id AND r.id = m.request_id
     WHERE m.entity_id = $1 AND m.digest_id = $2
       AND CASE m.kind WHEN 'waiting' THEN r.state = 'waiting' WHEN 'held' THEN r.stage = 'on hold' ELSE true END
     ORDER BY r.id, m.id`,
      [entityId, id],
    ),
    ({ mailId, mailKind: kind, ...columns }) => ({ mailId, kind, request: toGdprRequest(columns) }),
  );
}

/** Stores the recipients of a digest in its requests. */
export async function updateDigestRecipients(
  tx: Queryable,
  { entityId, id }: Digest,
  emails: readonly string[],
): Promise<void> {
  await tx.query(
    `UPDATE gdpr_requests SET emails = $3 WHERE entity_id = $1 AND emails <> $3
       AND id IN (SELECT request_id FROM gdpr_mails WHERE entity_id = $1 AND digest_id = $2)`,
    [entityId, id, emails],
  );
  if (emails.length === 0) await updateNoRecipients(tx, entityId, id);
}

/** Stores a digest's outcome in the mails that it covered. Mails that joined too late wait for the next digest. */
export async function settleDigest(tx: Tx, { entityId, id }: Digest, told: readonly number[]): Promise<void> {
  await tx.query(
    `UPDATE gdpr_mails m SET mail_state = d.mail_state, mail_reason = d.mail_reason, tried_at = d.tried_at, sent_at = d.sent_at
     FROM gdpr_mails d WHERE d.entity_id = $1 AND d.id = $2 AND m.entity_id = $1 AND m.digest_id = $2 AND m.id <> $2 AND m.id = ANY ($3)`,
    [entityId, id, told],
  );
  await tx.query(
    `UPDATE gdpr_mails m SET digest_id = NULL FROM gdpr_mails d
     WHERE d.entity_id = $1 AND d.id = $2 AND d.mail_state NOT IN ('not_sent', 'sending')
       AND m.entity_id = $1 AND m.digest_id = $2 AND m.id <> $2 AND NOT m.id = ANY ($3)`,
    [entityId, id, told],
  );
}
