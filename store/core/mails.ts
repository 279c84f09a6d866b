/** Mails of objects: their attempts, outcomes, and the daily limit of recipients. */
import type { Queryable, Tx } from './database.ts';

/** `sending`: running or interrupted; `filed`: written to a file; `unknown`: interrupted, perhaps sent. */
export type MailState = 'sending' | 'sent' | 'filed' | 'not_sent' | 'unknown';

export type Mailed =
  | { table: MailedRun | 'imports' | 'gdpr_mails' | 'file_jobs'; entityId: number; id: number }
  | MailedLink;

/** Runs, with a mail and alerts: mail_due_at is the next try of each; null if it is settled, or was not tried. */
type MailedRun = 'sync_runs' | 'export_runs' | 'run_alerts';

export type LinkRow = { table: 'invitations'; entityId: number; id: number } | { table: 'password_resets'; id: number };

/** The row keeps only the hash of the token, which is drawn for each attempt and valid for a day. */
type MailedLink = LinkRow & { tokenHash: Buffer };

/** Recipients of an entity's mails within a day (UTC): a mail to three addresses counts as three (docs/imports.md). */
export const MAX_MAIL_RECIPIENTS_A_DAY = 1_000;

export type Attempt = { tries: number } | { dueInMs: number };

/**
 * Records an attempt before it is made. Returns null if there is nothing to send: the mail is sent, can't be sent,
 * exceeds the entity's mails of the day, or an interrupted attempt may have sent it.
 */
export async function beginMail(tx: Tx, mailed: Mailed, recipients: number): Promise<Attempt | null> {
  const row = rowOf(mailed);
  const dueInMs = isRun(mailed) ? 'ceil(extract(epoch FROM mail_due_at - now()) * 1000)::integer' : '0';
  const { rows } = await tx.query<{ mail_state: MailState | null; mail_tries: number; due_in_ms: number | null }>(
    `SELECT mail_state, mail_tries, ${dueInMs} AS due_in_ms FROM ${mailed.table} WHERE ${row.where} FOR UPDATE`,
    row.values,
  );
  const state = rows[0]?.mail_state ?? null;
  if (!rows[0] || state === 'sent' || state === 'filed' || state === 'unknown') return null;
  if (state === 'sending') {
    await updateRow(tx, mailed, row, 'unknown', `the process ended while the ${nameOf(mailed)} was on its way`);
    return null;
  }
  if (state === 'not_sent' && rows[0].due_in_ms === null) return null;
  if (state === 'not_sent' && rows[0].due_in_ms! > 0) return { dueInMs: rows[0].due_in_ms! };
  // Links have their own limits; an alert has no recipients.
  const mayGo = 'tokenHash' in mailed || recipients === 0 || (await countRecipients(tx, mailed.entityId, recipients));
  const link = 'tokenHash' in mailed ? [mailed.tokenHash] : [];
  const at = row.values.length;
  const changes = [
    `mail_state = $${at + 1}, mail_tries = mail_tries + 1, mail_reason = $${at + 2}`,
    ...(hasTimes(mailed) ? ['tried_at = now()'] : []),
    ...(isRun(mailed) ? ['mail_due_at = NULL'] : []),
    ...link.map(() => `token_hash = $${at + 3}, expires_at = now() + interval '1 day'`),
  ];
  await tx.query(`UPDATE ${mailed.table} SET ${changes.join(', ')} WHERE ${row.where}`, [
    ...row.values,
    mayGo ? 'sending' : 'not_sent',
    mayGo ? null : TOO_MANY,
    ...link,
  ]);
  return mayGo ? { tries: rows[0].mail_tries + 1 } : null;
}

const TOO_MANY = `the entity's mails of this day (UTC) have reached ${MAX_MAIL_RECIPIENTS_A_DAY.toLocaleString('en')} recipients`;

/** Counts recipients; returns whether the entity may have them today. The row's lock orders concurrent callers. */
async function countRecipients(tx: Tx, entityId: number, recipients: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    `INSERT INTO notify_mails AS m (entity_id, day, recipients) VALUES ($1, (now() AT TIME ZONE 'UTC')::date, $2)
     ON CONFLICT (entity_id) DO UPDATE
       SET day = excluded.day, recipients = excluded.recipients + CASE WHEN m.day = excluded.day THEN m.recipients ELSE 0 END
       WHERE m.day <> excluded.day OR m.recipients + excluded.recipients <= $3`,
    [entityId, recipients, MAX_MAIL_RECIPIENTS_A_DAY],
  );
  return rowCount === 1;
}

/** Records the outcome of an attempt and a run's next try; ignores a deleted or newer link. */
export async function updateMail(
  db: Queryable,
  mailed: Mailed,
  state: MailState,
  { reason, againInMs }: { reason: string | null; againInMs: number | null },
): Promise<void> {
  const { where, values } = rowOf(mailed);
  const row =
    'tokenHash' in mailed
      ? { where: `${where} AND token_hash = $${values.length + 1}`, values: [...values, mailed.tokenHash] }
      : { where, values };
  await updateRow(db, mailed, row, state, reason, againInMs);
}

type Row = { where: string; values: (number | Buffer)[] };

async function updateRow(
  db: Queryable,
  mailed: Mailed,
  { where, values }: Row,
  state: MailState,
  reason: string | null,
  againInMs: number | null = null,
): Promise<void> {
  const at = values.length;
  const times = hasTimes(mailed)
    ? `, tried_at = now(), sent_at = CASE WHEN $${at + 1} IN ('sent', 'filed') THEN now() END`
    : '';
  const due = isRun(mailed) ? `, mail_due_at = now() + $${at + 3} * interval '1 millisecond'` : '';
  await db.query(
    `UPDATE ${mailed.table} SET mail_state = $${at + 1}, mail_reason = $${at + 2}${times}${due} WHERE ${where}`,
    [...values, state, reason, ...(isRun(mailed) ? [againInMs] : [])],
  );
}

function isRun({ table }: Mailed): boolean {
  return table === 'sync_runs' || table === 'export_runs' || table === 'run_alerts';
}

function nameOf({ table }: Mailed): string {
  return table === 'run_alerts' ? 'alert' : 'mail';
}

/** A password reset belongs to an account, not to an entity. */
function rowOf(mailed: Mailed): Row {
  return 'entityId' in mailed
    ? { where: 'entity_id = $1 AND id = $2', values: [mailed.entityId, mailed.id] }
    : { where: 'id = $1', values: [mailed.id] };
}

function hasTimes({ table }: Mailed): boolean {
  return table === 'gdpr_mails' || table === 'invitations' || table === 'password_resets';
}
