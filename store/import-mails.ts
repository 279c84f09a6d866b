import type { Queryable, Tx } from './database.ts';
import type { MailState } from './import-record.ts';

/**
 * Takes the right to send the import's mail, and notes it down before anything is sent. Null when there is nothing to
 * send any more: it went, can't go, or an attempt broke off. Of that one nobody knows whether the mail arrived.
 */
export async function beginImportMail(tx: Tx, entityId: number, importId: number): Promise<{ tries: number } | null> {
  const { rows } = await tx.query<{ mail_state: MailState | null; mail_tries: number }>(
    'SELECT mail_state, mail_tries FROM imports WHERE entity_id = $1 AND id = $2 FOR UPDATE', [entityId, importId]);
  const state = rows[0]?.mail_state ?? null;
  if (!rows[0] || state === 'sent' || state === 'unknown') return null;
  if (state === 'sending') {
    await updateImportMail(tx, entityId, importId, 'unknown', 'the process ended while the mail was on its way');
    return null;
  }
  await tx.query(
    `UPDATE imports SET mail_state = 'sending', mail_tries = mail_tries + 1, mail_reason = NULL WHERE entity_id = $1 AND id = $2`,
    [entityId, importId]);
  return { tries: rows[0].mail_tries + 1 };
}

/** What came of the attempt. */
export async function updateImportMail(
  db: Queryable, entityId: number, importId: number, state: MailState, reason: string | null,
): Promise<void> {
  await db.query('UPDATE imports SET mail_state = $3, mail_reason = $4 WHERE entity_id = $1 AND id = $2',
    [entityId, importId, state, reason]);
}

/** Who is told of imports into a SoR, deleted or not: its `notify_emails`, by default its creator. And its name. */
export async function findMailFacts(
  db: Queryable, entityId: number, sorId: number,
): Promise<{ sorName: string; to: string[] }> {
  const { rows } = await db.query<{ name: string; notify_emails: string[]; creator: string | null }>(
    `SELECT s.name, s.notify_emails, u.email AS creator FROM systems_of_records s LEFT JOIN users u ON u.id = s.created_by
     WHERE s.entity_id = $1 AND s.id = $2`, [entityId, sorId]);
  const { name = '', notify_emails: to = [], creator = null } = rows[0] ?? {};
  return { sorName: name, to: to.length > 0 || creator === null ? to : [creator] };
}
