/** Sends an object's one mail: records each attempt before it is made, and retries refused ones. */
import type { Mail } from '../../connectors/smtp/mailer.ts';
import { write } from '../../store/core/database.ts';
import { beginMail, type Mailed, type MailState, updateMail } from '../../store/core/mails.ts';
import type { Dependencies } from '../dependencies.ts';
import { backOff } from '../../domain/time/durations.ts';
import { inSlot } from './in-slot.ts';
import type { RetryAfter } from './retry-after.ts';

/** Maximum number of tries of a mail that the server does not accept; the last is about half an hour later. */
const TRIES = 6;
const FIRST_WAIT_MS = 60_000;
/** Maximum wait that a receiver may ask for. */
const MAX_WAIT_MS = 30 * FIRST_WAIT_MS;
const FILED = 'there is no mail server (SMTP_URL): it lies in outbox/ of the file store';

export type MailDependencies = Pick<Dependencies, 'db' | 'mailer' | 'publicUrl' | 'boundary' | 'takeMailSlot'>;

/**
 * Sends an object's one mail, as the only way out for mails, so an entity's are limited here. Records the attempt
 * before it is made and its outcome after: a mail that may have arrived is not sent again. `name`: that of the flow's
 * boundaries. The message id comes from the identifier, so a receiver can recognize a repeated mail.
 */
export async function mailOnce(
  deps: MailDependencies,
  { identifier, ...mailed }: Mailed & { identifier: string },
  unnamed: Omit<Mail, 'messageId'>,
  name: string,
): Promise<RetryAfter | null> {
  const mail = { ...unnamed, messageId: `<${identifier}@${new URL(deps.publicUrl).hostname}>` };
  return sendOnce(deps, mailed, { recipients: mail.to.length, name: `${name}: mail` }, () => send(deps, mail));
}

/** How long a sweep begins mails of one kind. */
const MAILS_OF_SWEEP_MS = 5_000;

/** Sends mails in turn, none begun after `withinMs`: a slow mail server must not delay the sweep. */
export async function mailInTurn<Due>(
  due: readonly Due[],
  mail: (one: Due) => Promise<void>,
  withinMs = MAILS_OF_SWEEP_MS,
): Promise<void> {
  const until = performance.now() + withinMs;
  for (const one of due) {
    await mail(one);
    if (performance.now() > until) return;
  }
}

/** Outcome of an attempt; `retryAfterMs`: how long the receiver wants to wait. */
export type Sent = { outcome: MailState; reason: string | null; isRetryable: boolean; retryAfterMs?: number };

/**
 * Records an attempt before it is made, and its outcome after, so that an attempt with an unknown outcome is not
 * repeated. Returns when to retry; null if it is settled.
 */
export async function sendOnce(
  deps: Pick<Dependencies, 'db' | 'boundary' | 'takeMailSlot'>,
  mailed: Mailed,
  about: { recipients: number; name: string },
  attemptToSend: () => Promise<Sent>,
): Promise<RetryAfter | null> {
  return inSlot(deps.takeMailSlot, ownerOf(mailed), () => sendInPlace(deps, mailed, about, attemptToSend));
}

/** Ids instead of an entity's. */
const RESETS = -1;
/** Owner of mails about internal errors. */
export const TO_OPERATOR = -2;

/** Returns the entity whose slot a mail takes. Password resets belong to no entity, and share one slot. */
export function ownerOf(mailed: Mailed): number {
  return 'entityId' in mailed ? mailed.entityId : RESETS;
}

async function sendInPlace(
  { db, boundary }: Pick<Dependencies, 'db' | 'boundary'>,
  mailed: Mailed,
  { recipients, name }: { recipients: number; name: string },
  attemptToSend: () => Promise<Sent>,
): Promise<RetryAfter | null> {
  const attempt = await write(db, (tx) => beginMail(tx, mailed, recipients));
  if (!attempt) return null;
  if ('dueInMs' in attempt) return { againInMs: attempt.dueInMs };
  boundary(`${name} noted`);
  const sent = await attemptToSend();
  boundary(`${name} sent`);
  const againInMs = sent.isRetryable && attempt.tries < TRIES ? waitAfter(attempt.tries, sent.retryAfterMs) : null;
  await updateMail(db, mailed, sent.outcome, { reason: sent.reason, againInMs });
  return againInMs === null ? null : { againInMs };
}

function waitAfter(tries: number, askedMs = 0): number {
  return Math.max(backOff(tries, FIRST_WAIT_MS), Math.min(askedMs, MAX_WAIT_MS));
}

async function send({ mailer }: MailDependencies, mail: Mail): Promise<Sent> {
  const result = await mailer.send(mail);
  if (result.outcome === 'filed') return { outcome: result.outcome, reason: FILED, isRetryable: false };
  if (result.outcome !== 'sent') {
    const { outcome, reason } = result;
    return { outcome, reason, isRetryable: result.outcome === 'not_sent' && result.retryable };
  }
  const reason =
    result.rejected > 0 ? `the mail server refused ${result.rejected} of ${mail.to.length} recipients` : null;
  return { outcome: 'sent', reason, isRetryable: false };
}
