import type { Queryable, Tx } from './database.ts';

/** `sending`: under way, or broken off there; `unknown`: it broke off, and the mail may have arrived. */
export type MailState = 'sending' | 'sent' | 'not_sent' | 'unknown';

/** What has a mail of its own: columns mail_state, mail_tries and mail_reason tell of it. */
export type Mailed = { table: 'imports' | 'sync_runs' | 'export_runs' | 'gdpr_mails'; entityId: number; id: number };

/**
 * Takes the right to send the mail, and notes it down before anything is sent. Null when there is nothing to send any more:
 * it went, can't go, or an attempt broke off. Of that one nobody knows whether the mail arrived.
 */
export async function beginMail(tx: Tx, { table, entityId, id }: Mailed): Promise<{ tries: number } | null> {
  const { rows } = await tx.query<{ mail_state: MailState | null; mail_tries: number }>(
    `SELECT mail_state, mail_tries FROM ${table} WHERE entity_id = $1 AND id = $2 FOR UPDATE`, [entityId, id]);
  const state = rows[0]?.mail_state ?? null;
  if (!rows[0] || state === 'sent' || state === 'unknown') return null;
  if (state === 'sending') {
    await updateMail(tx, { table, entityId, id }, 'unknown', 'the process ended while the mail was on its way');
    return null;
  }
  const when = table === 'gdpr_mails' ? ', tried_at = now()' : '';
  await tx.query(
    `UPDATE ${table} SET mail_state = 'sending', mail_tries = mail_tries + 1, mail_reason = NULL${when} WHERE entity_id = $1 AND id = $2`,
    [entityId, id]);
  return { tries: rows[0].mail_tries + 1 };
}

/** What came of the attempt. */
export async function updateMail(db: Queryable, { table, entityId, id }: Mailed, state: MailState, reason: string | null): Promise<void> {
  const when = table === 'gdpr_mails' ? `, tried_at = now(), sent_at = CASE WHEN $3 = 'sent' THEN now() END` : '';
  await db.query(
    `UPDATE ${table} SET mail_state = $3, mail_reason = $4${when} WHERE entity_id = $1 AND id = $2`, [entityId, id, state, reason]);
}
