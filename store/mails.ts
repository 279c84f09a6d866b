import type { Queryable, Tx } from './database.ts';

/** `sending`: under way, or broken off there; `unknown`: it broke off, and the mail may have arrived. */
export type MailState = 'sending' | 'sent' | 'not_sent' | 'unknown';

/** What has a mail of its own: columns mail_state, mail_tries and mail_reason tell of it. */
export type Mailed = { table: 'imports' | 'sync_runs' | 'export_runs' | 'gdpr_mails'; entityId: number; id: number };

/** Recipients of an entity's mails within a day (UTC): a mail to three addresses counts as three (docs/imports.md). */
export const MAX_MAIL_RECIPIENTS_A_DAY = 1_000;

/**
 * Takes the right to send the mail to so many recipients, and notes it down before anything is sent. Null when there is nothing to
 * send: it went, can't go, the entity has had its mails of the day, or an attempt broke off. Of that one nobody knows whether the
 * mail arrived.
 */
export async function beginMail(tx: Tx, { table, entityId, id }: Mailed, recipients: number): Promise<{ tries: number } | null> {
  const { rows } = await tx.query<{ mail_state: MailState | null; mail_tries: number }>(
    `SELECT mail_state, mail_tries FROM ${table} WHERE entity_id = $1 AND id = $2 FOR UPDATE`, [entityId, id]);
  const state = rows[0]?.mail_state ?? null;
  if (!rows[0] || state === 'sent' || state === 'unknown') return null;
  if (state === 'sending') {
    await updateMail(tx, { table, entityId, id }, 'unknown', 'the process ended while the mail was on its way');
    return null;
  }
  const mayGo = await countRecipients(tx, entityId, recipients);
  const when = table === 'gdpr_mails' ? ', tried_at = now()' : '';
  await tx.query(
    `UPDATE ${table} SET mail_state = $3, mail_tries = mail_tries + 1, mail_reason = $4${when} WHERE entity_id = $1 AND id = $2`,
    [entityId, id, mayGo ? 'sending' : 'not_sent', mayGo ? null : TOO_MANY]);
  return mayGo ? { tries: rows[0].mail_tries + 1 } : null;
}

const TOO_MANY = `the entity's mails of this day (UTC) have reached ${MAX_MAIL_RECIPIENTS_A_DAY.toLocaleString('en')} recipients`;

/** Whether the entity's mails may go to so many more today. The row's lock orders those who ask at once. */
async function countRecipients(tx: Tx, entityId: number, recipients: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    `INSERT INTO notify_mails AS m (entity_id, day, recipients) VALUES ($1, (now() AT TIME ZONE 'UTC')::date, $2)
     ON CONFLICT (entity_id) DO UPDATE
       SET day = excluded.day, recipients = excluded.recipients + CASE WHEN m.day = excluded.day THEN m.recipients ELSE 0 END
       WHERE m.day <> excluded.day OR m.recipients + excluded.recipients <= $3`,
    [entityId, recipients, MAX_MAIL_RECIPIENTS_A_DAY]);
  return rowCount === 1;
}

/** What came of the attempt. */
export async function updateMail(db: Queryable, { table, entityId, id }: Mailed, state: MailState, reason: string | null): Promise<void> {
  const when = table === 'gdpr_mails' ? `, tried_at = now(), sent_at = CASE WHEN $3 = 'sent' THEN now() END` : '';
  await db.query(
    `UPDATE ${table} SET mail_state = $3, mail_reason = $4${when} WHERE entity_id = $1 AND id = $2`, [entityId, id, state, reason]);
}
