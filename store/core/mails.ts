import type { Queryable, Tx } from './database.ts';

/**
 * `sending`: under way, or broken off there; `filed`: there is no mail server, and it lies in a file; `unknown`: it
 * broke off, and the mail may have arrived.
 */
export type MailState = 'sending' | 'sent' | 'filed' | 'not_sent' | 'unknown';

/**
 * What has a mail of its own, or an alert by another way: columns mail_state, mail_tries and mail_reason tell of it.
 */
export type Mailed =
  | { table: MailedRun | 'imports' | 'gdpr_mails' | 'file_jobs'; entityId: number; id: number }
  | MailedLink;

/**
 * A run has a mail and alerts, so column mail_due_at has when each is tried again; null: it is settled, or was not
 * tried.
 */
type MailedRun = 'sync_runs' | 'export_runs' | 'run_alerts';

/** What is mailed as a link. */
export type LinkRow = { table: 'invitations'; entityId: number; id: number } | { table: 'password_resets'; id: number };

/** The link works for a day from then on: of its token, drawn for this attempt, the row keeps the hash. */
type MailedLink = LinkRow & { tokenHash: Buffer };

/** Recipients of an entity's mails within a day (UTC): a mail to three addresses counts as three (docs/imports.md). */
export const MAX_MAIL_RECIPIENTS_A_DAY = 1_000;

/** The attempt that may be made, or how long to wait for it. */
export type Attempt = { tries: number } | { dueInMs: number };

/**
 * Takes the right to send the mail to so many recipients, and notes it down before anything is sent. Null when there is
 * nothing to send: it went, can't go, the entity has had its mails of the day, or an attempt broke off, whose
 * mail may have arrived.
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
  // Links have limits of their own; an alert has no recipients, and goes where its owner has a connection to.
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

/** Whether the entity's mails may go to so many more today. The row's lock orders those who ask at once. */
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

/**
 * What came of the attempt, and of a run's when it is tried again. Of a link nothing is noted where the row has gone,
 * or waits for a newer one.
 */
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

/** A reset belongs to an account, and to no entity. */
function rowOf(mailed: Mailed): Row {
  return 'entityId' in mailed
    ? { where: 'entity_id = $1 AND id = $2', values: [mailed.entityId, mailed.id] }
    : { where: 'id = $1', values: [mailed.id] };
}

/** Whether the table also tells when the mail was tried, and sent. */
function hasTimes({ table }: Mailed): boolean {
  return table === 'gdpr_mails' || table === 'invitations' || table === 'password_resets';
}
