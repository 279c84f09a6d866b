/** Attempts: writes them, lists due ones, records their outcomes. */

import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { type AttemptCode, WAITS_FOR } from '../../domain/sends/attempt.ts';
import type { TargetDevice } from '../../domain/sends/device-decision.ts';
import type { AttemptContent } from '../../domain/sends/plan-attempts.ts';
import { isoOf } from '../../domain/time/iso-time.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { copyLine } from '../core/copy-out.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { type FoundDevice, isThere, TARGET_DEVICE } from './send-targets.ts';
import type { SendRef } from './sends.ts';

type AttemptState = 'waiting' | 'sending' | 'settled';

export type NewAttempt = {
  id: number;
  campaignId: number;
  appId: number;
  sendId: number;
  messageOrdinal: number;
  channel: 'push' | 'inapp' | 'both';
  state: AttemptState;
  isPaced: boolean;
  code: AttemptCode;
  details: string | null;
  dueAt: Date | null;
  expiresAt: Date | null;
  inappUntil: Date | null;
  provider: string | null;
  providerMessageId?: string | null;
  deviceId: string | null;
  userId: string | null;
  userHash: Buffer | null;
  variant: string | null;
  content: string | null;
};

const IDS_OF_A_NUMBER = 100;

/** Returns ids of new attempts, rising, and the time of the transaction as Postgres writes it. */
export async function drawAttemptIds(tx: Tx, count: number): Promise<{ ids: number[]; now: string }> {
  const { rows } = await tx.query<{ first: number; now: string }>(
    `SELECT nextval('attempt_ids') AS first, now()::text AS now FROM generate_series(1, $1)`,
    [Math.max(1, Math.ceil(count / IDS_OF_A_NUMBER))],
  );
  const ids = rows.flatMap(({ first }) => Array.from({ length: IDS_OF_A_NUMBER }, (_, nth) => first + nth));
  return { ids: ids.slice(0, count), now: rows[0]!.now };
}

const COLUMNS = `entity_id, campaign_id, id, app_id, send_id, message_ordinal, channel, state, code, details, settled_at, due_at,
  is_paced, expires_at, inapp_until, provider, provider_message_id, device_id, user_id, user_hash, variant, content`;

const WRITTEN_CHARS = 1024 ** 2;

/** Inserts attempts. A settled one gets the time of the transaction, `now`: exports of later windows find it. */
export async function insertAttempts(
  tx: Tx,
  entityId: number,
  attempts: readonly NewAttempt[],
  now: string,
): Promise<void> {
  if (attempts.length === 0) return;
  await pipeline(linesOf(entityId, attempts, now), tx.query(copyFrom(`COPY attempts (${COLUMNS}) FROM STDIN`)));
}

function* linesOf(entityId: number, attempts: readonly NewAttempt[], now: string): Generator<string> {
  let lines = '';
  for (const attempt of attempts) {
    lines += attemptLine(entityId, attempt, now);
    if (lines.length < WRITTEN_CHARS) continue;
    yield lines;
    lines = '';
  }
  if (lines !== '') yield lines;
}

function attemptLine(entityId: number, attempt: NewAttempt, now: string): string {
  return copyLine([
    entityId,
    attempt.campaignId,
    attempt.id,
    attempt.appId,
    attempt.sendId,
    attempt.messageOrdinal,
    attempt.channel,
    attempt.state,
    attempt.code,
    attempt.details,
    attempt.state === 'settled' ? now : null,
    isoOf(attempt.dueAt),
    attempt.isPaced,
    isoOf(attempt.expiresAt),
    isoOf(attempt.inappUntil),
    attempt.provider,
    attempt.providerMessageId ?? null,
    attempt.deviceId,
    attempt.userId,
    attempt.userHash === null ? null : `\\x${attempt.userHash.toString('hex')}`,
    attempt.variant,
    attempt.content,
  ]);
}

export type DueAttempt = {
  id: number;
  campaignId: number;
  appId: number;
  messageOrdinal: number;
  userId: string | null;
  tries: number;
  isPaced: boolean;
  expiresAt: Date;
  content: AttemptContent;
  device: TargetDevice | null;
};

/** Maximum size of content that is read at once; a single attempt may exceed it. */
const TAKEN_BYTES = 4 * 1024 ** 2;

/** Lists due attempts, oldest first, at most `limit` and about TAKEN_BYTES of content. Uses the index attempts_open. */
export async function listDueAttempts(
  tx: Queryable,
  entityId: number,
  sendId: number,
  limit: number,
): Promise<DueAttempt[]> {
  const rows = readRows<Omit<DueAttempt, 'device'> & FoundDevice>(
    await tx.query(
      `SELECT a.id, a.campaign_id, a.app_id, a.message_ordinal, a.user_id, a.tries, a.is_paced, a.expires_at, a.content, ${TARGET_DEVICE}
     FROM (
       SELECT *, sum(bytes) OVER (ORDER BY due_at, id) - bytes AS bytes_before
       FROM (
         SELECT *, coalesce(octet_length(content::text), 0) AS bytes FROM attempts
         WHERE entity_id = $1 AND send_id = $2 AND state = 'waiting' AND due_at <= now() ORDER BY due_at LIMIT $3) AS page) AS a
     LEFT JOIN devices d ON d.entity_id = $1 AND d.app_id = a.app_id AND d.device_id = a.device_id
     WHERE a.bytes_before < ${TAKEN_BYTES} ORDER BY a.due_at, a.id`,
      [entityId, sendId, limit],
    ),
  );
  return rows.map((row) => ({ ...row, device: isThere(row) ? row : null }));
}

/** Marks waiting attempts as sending; returns ids that may leave: not marked by others, not canceled or erased. */
export async function markSending(
  tx: Queryable,
  entityId: number,
  attempts: readonly { id: number; campaignId: number }[],
): Promise<ReadonlySet<number>> {
  if (attempts.length === 0) return new Set();
  const { rows } = await tx.query<Row<'campaigns', 'id'>>(
    `UPDATE attempts a SET state = 'sending', tries = a.tries + 1, due_at = NULL, details = NULL
     FROM unnest($2::integer[], $3::bigint[]) AS m (campaign_id, id)
     JOIN campaigns c ON c.entity_id = $1 AND c.id = m.campaign_id AND c.status = 'ongoing'
     WHERE a.entity_id = $1 AND a.campaign_id = m.campaign_id AND a.id = m.id AND a.state = 'waiting'
     RETURNING a.id`,
    [entityId, attempts.map(({ campaignId }) => campaignId), attempts.map(({ id }) => id)],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Moves waiting attempts to a later time: the end of quiet hours, or with `isPaced` their moment at the send rate. */
export async function putOffAttempts(
  tx: Queryable,
  entityId: number,
  putOff: readonly { id: number; campaignId: number; dueAt: Date; isPaced: boolean; details: string }[],
): Promise<void> {
  if (putOff.length === 0) return;
  await tx.query(
    `UPDATE attempts a SET is_paced = p.is_paced, due_at = p.due_at, details = p.details
     FROM unnest($2::integer[], $3::bigint[], $4::timestamptz[], $5::boolean[], $6::text[])
       AS p (campaign_id, id, due_at, is_paced, details)
     WHERE a.entity_id = $1 AND a.campaign_id = p.campaign_id AND a.id = p.id AND a.state = 'waiting'`,
    [
      entityId,
      putOff.map(({ campaignId }) => campaignId),
      putOff.map(({ id }) => id),
      putOff.map(({ dueAt }) => dueAt),
      putOff.map(({ isPaced }) => isPaced),
      putOff.map(({ details }) => details),
    ],
  );
}

/** Moves at most `limit` attempts of an app to an earlier end of quiet hours; returns how many. Uses attempts_open. */
export async function updateQuietUntil(
  tx: Queryable,
  entityId: number,
  sendId: number,
  { appId, quietUntil }: { appId: number; quietUntil: Date },
  limit: number,
): Promise<number> {
  const { rowCount } = await tx.query(
    `UPDATE attempts SET due_at = $4 WHERE entity_id = $1 AND (campaign_id, id) IN (
       SELECT campaign_id, id FROM attempts
       WHERE entity_id = $1 AND send_id = $2 AND app_id = $3 AND state = 'waiting' AND details = $6
         AND due_at > $4 LIMIT $5)`,
    [entityId, sendId, appId, quietUntil, limit, WAITS_FOR.quiet],
  );
  return rowCount!;
}

/** Lists running sends with attempts of an app that wait for the end of quiet hours. Uses attempts_open. */
export async function listQuietSends(
  db: Queryable,
  entityId: number,
  appId: number,
  limit: number,
): Promise<SendRef[]> {
  const { rows } = await db.query<{ id: number; identifier: string; is_campaign: boolean }>(
    `SELECT s.id, s.identifier, s.campaign_id IS NOT NULL AS is_campaign FROM sends s
     WHERE s.entity_id = $1 AND s.state = 'running' AND EXISTS (
       SELECT FROM attempts a WHERE a.entity_id = $1 AND a.send_id = s.id AND a.app_id = $2 AND a.state = 'waiting' AND a.details = $3)
     ORDER BY s.id LIMIT $4`,
    [entityId, appId, WAITS_FOR.quiet, limit],
  );
  return rows.map(({ id: jobId, identifier, is_campaign: isCampaign }) => ({
    entityId,
    jobId,
    identifier,
    kind: isCampaign ? 'campaign' : 'send',
  }));
}

/** Attempts marked as sending between two chunks are of a worker thought lost. */
export async function hasSending(db: Queryable, entityId: number, sendId: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `SELECT FROM attempts WHERE entity_id = $1 AND send_id = $2 AND state = 'sending' LIMIT 1`,
    [entityId, sendId],
  );
  return rowCount! > 0;
}

export async function findNextDue(db: Queryable, entityId: number, sendId: number): Promise<Date | null> {
  const { rows } = await db.query<{ due_at: Date | null }>(
    `SELECT min(due_at) AS due_at FROM attempts WHERE entity_id = $1 AND send_id = $2 AND state = 'waiting'`,
    [entityId, sendId],
  );
  return rows[0]!.due_at;
}

/** SQL for what stays of a sensitive attempt's settled content: an in-app message that no device has shown. */
const STILL_NEEDED = `CASE WHEN a.inapp_until IS NOT NULL AND a.shown_at IS NULL THEN json_build_object('inapp', a.content -> 'inapp') END`;

export type NewOutcome = {
  id: number;
  campaignId: number;
  code: AttemptCode;
  details: string | null;
  providerMessageId: string | null;
  dueAt: Date | null;
};

/**
 * Records outcomes of attempts that were sending, or that waited and are not sent. One settled as UNKNOWN meanwhile
 * gets its real outcome and settles now, so that readers of UNKNOWN read it again. Deletes a sensitive campaign's
 * content once no device needs it. Restores nothing of an erased person.
 */
export async function recordOutcomes(
  tx: Queryable,
  entityId: number,
  outcomes: readonly NewOutcome[],
  was: 'sending' | 'waiting' = 'sending',
): Promise<void> {
  if (outcomes.length === 0) return;
  await tx.query(
    `UPDATE attempts a SET
       state = CASE WHEN o.due_at IS NULL THEN 'settled' ELSE 'waiting' END, code = o.code, due_at = o.due_at,
       is_paced = a.is_paced AND o.due_at IS NULL, changed_at = now(),
       details = CASE WHEN a.device_id IS NOT NULL THEN o.details END,
       provider_message_id = CASE WHEN a.device_id IS NOT NULL THEN o.provider_message_id END,
       settled_at = CASE WHEN o.due_at IS NULL THEN now() END,
       content = CASE WHEN o.due_at IS NULL AND c.is_sensitive THEN ${STILL_NEEDED} ELSE a.content END
     FROM unnest($2::integer[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::timestamptz[])
       AS o (campaign_id, id, code, details, provider_message_id, due_at)
     JOIN campaigns c ON c.entity_id = $1 AND c.id = o.campaign_id
     WHERE a.entity_id = $1 AND a.campaign_id = o.campaign_id AND a.id = o.id
       AND (a.state = $8 OR (a.code = 'UNKNOWN' AND o.due_at IS NULL))`,
    [
      entityId,
      outcomes.map(({ campaignId }) => campaignId),
      outcomes.map(({ id }) => id),
      outcomes.map(({ code }) => code),
      outcomes.map(({ details }) => details),
      outcomes.map(({ providerMessageId }) => providerMessageId),
      outcomes.map(({ dueAt }) => dueAt),
      was,
    ],
  );
}

const SETTLED = `state = 'settled', settled_at = now(), changed_at = now(), due_at = NULL`;

/** Settles attempts whose worker ended while it sent them as UNKNOWN: they may have left, and are not sent again. */
export async function settleInterrupted(tx: Queryable, entityId: number, sendId: number): Promise<void> {
  await tx.query(
    `UPDATE attempts a SET ${SETTLED}, code = 'UNKNOWN', details = 'the worker that sent it ended before the provider answered',
       content = CASE WHEN c.is_sensitive THEN ${STILL_NEEDED} ELSE a.content END
     FROM campaigns c
     WHERE a.entity_id = $1 AND a.send_id = $2 AND a.state = 'sending' AND c.entity_id = $1 AND c.id = a.campaign_id`,
    [entityId, sendId],
  );
}

/** Cancels what a send's ended campaigns have not shown or sent. Uses attempts_open and attempts_by_inapp_end. */
export async function cancelWaiting(
  tx: Queryable,
  entityId: number,
  sendId: number,
  campaignIds: readonly number[],
): Promise<void> {
  const content = 'content = CASE WHEN c.is_sensitive THEN NULL ELSE a.content END';
  const ofCampaigns = `a.entity_id = $1 AND a.send_id = $2 AND a.campaign_id = ANY ($3::integer[])
       AND c.entity_id = $1 AND c.id = a.campaign_id`;
  await tx.query(
    `UPDATE attempts a SET ${SETTLED}, code = 'CANCELED', details = NULL, ${content},
       inapp_until = CASE WHEN a.shown_at IS NOT NULL THEN a.inapp_until END
     FROM campaigns c WHERE ${ofCampaigns} AND a.state = 'waiting'`,
    [entityId, sendId, campaignIds],
  );
  await tx.query(
    `UPDATE attempts a SET inapp_until = NULL, changed_at = now(), ${content},
       code = CASE WHEN a.code = 'INAPP_AVAILABLE' THEN 'CANCELED' ELSE a.code END,
       settled_at = CASE WHEN a.code = 'INAPP_AVAILABLE' THEN now() ELSE a.settled_at END
     FROM campaigns c
     WHERE ${ofCampaigns} AND c.includes_inapp AND a.state = 'settled' AND a.inapp_until IS NOT NULL AND a.content IS NOT NULL
       AND a.shown_at IS NULL`,
    [entityId, sendId, campaignIds],
  );
}
