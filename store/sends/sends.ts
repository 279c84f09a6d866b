/** Sends: requests for messages and runs of campaigns, with the messages that have no attempts yet. */

import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import type { Message } from '../../domain/sends/plan-attempts.ts';
import type { JobKey, JobRef } from '../../domain/jobs/job.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import { copyLine } from '../core/copy-out.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import { lockJob } from '../jobs/jobs.ts';

export type Send = Row<
  'sends',
  | 'entityId'
  | 'id'
  | 'identifier'
  | 'state'
  | 'generation'
  | 'receivedAt'
  | 'endedAt'
  | 'sendAt'
  | 'messageCount'
  | 'cancelRequestedAt'
  | 'campaignId'
  | 'audienceAt'
  | 'audienceRound'
  | 'lookedAt'
  | 'looks'
  | 'nextLookAt'
>;

export type NewMessage = Omit<Message, 'ordinal'>;

type NewSend = {
  sendAt: Date | null;
  campaignIds: readonly number[];
  messages: readonly NewMessage[];
  createdBy: number | null;
  /** The sender's own key for the request, and a hash of its body. */
  request: { key: Buffer; bodyHash: Buffer } | null;
};

const KEYS_KEPT_SINCE = `now() - interval '30 days'`;

export async function insertSend(tx: Tx, entityId: number, send: NewSend): Promise<{ id: number; identifier: string }> {
  const identifier = newIdentifier('snd');
  const { sendAt, campaignIds, messages, createdBy, request } = send;
  if (request) {
    await tx.query(
      `UPDATE sends SET request_key = NULL, body_hash = NULL
       WHERE entity_id = $1 AND request_key = $2 AND received_at <= ${KEYS_KEPT_SINCE}`,
      [entityId, request.key],
    );
  }
  const { rows } = await tx.query<Row<'sends', 'id'>>(
    `INSERT INTO sends (entity_id, identifier, send_at, request_key, body_hash, message_count, created_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`,
    [entityId, identifier, sendAt, request?.key, request?.bodyHash, messages.length, createdBy],
  );
  const { id } = rows[0]!;
  await tx.query(
    `INSERT INTO send_campaigns (entity_id, send_id, ordinal, campaign_id)
     SELECT $1, $2, ordinal - 1, campaign_id FROM unnest($3::integer[]) WITH ORDINALITY AS given (campaign_id, ordinal)`,
    [entityId, id, campaignIds],
  );
  await pipeline(
    messageLines(entityId, id, messages),
    tx.query(copyFrom('COPY send_messages (entity_id, send_id, ordinal, user_id, user_hash, vars) FROM STDIN')),
  );
  return { id, identifier };
}

const MESSAGES_OF_A_PIECE = 1_000;

/** Yields pieces, so that the text of all messages is never in memory. */
function* messageLines(entityId: number, sendId: number, messages: readonly NewMessage[]): Generator<string> {
  for (let from = 0; from < messages.length; from += MESSAGES_OF_A_PIECE) {
    yield messages
      .slice(from, from + MESSAGES_OF_A_PIECE)
      .map(({ userId, userHash, vars }, index) =>
        copyLine([
          entityId,
          sendId,
          from + index,
          userId,
          userHash === null ? null : `\\x${userHash.toString('hex')}`,
          vars === null ? null : JSON.stringify(vars),
        ]),
      )
      .join('');
  }
}

export async function findSendByKey(
  db: Queryable,
  entityId: number,
  key: Buffer,
): Promise<{ id: number; identifier: string; bodyHash: Buffer } | null> {
  return readRow(
    await db.query(
      `SELECT id, identifier, body_hash FROM sends WHERE entity_id = $1 AND request_key = $2 AND received_at > ${KEYS_KEPT_SINCE}`,
      [entityId, key],
    ),
  );
}

export async function findSend(db: Queryable, entityId: number, identifier: string): Promise<Send | null> {
  return readRow<Send>(
    await db.query('SELECT * FROM sends WHERE entity_id = $1 AND identifier = $2 AND campaign_id IS NULL', [
      entityId,
      identifier,
    ]),
  );
}

export type SendRef = JobRef & { kind: 'send' | 'campaign' };

/** Lists open sends with messages of a campaign. Uses the index send_campaigns_by_campaign. */
export async function listOpenSends(
  db: Queryable,
  entityId: number,
  campaignId: number,
  limit: number,
): Promise<SendRef[]> {
  const rows = readRows<Row<'sends', 'id' | 'identifier'> & { isCampaign: boolean }>(
    await db.query(
      `SELECT s.id, s.identifier, s.campaign_id IS NOT NULL AS is_campaign
     FROM send_campaigns c JOIN sends s ON s.entity_id = c.entity_id AND s.id = c.send_id
     WHERE c.entity_id = $1 AND c.campaign_id = $2 AND s.state IN ('accepted', 'running') ORDER BY s.id LIMIT $3`,
      [entityId, campaignId, limit],
    ),
  );
  return rows.map(({ id: jobId, identifier, isCampaign }) => ({
    entityId,
    jobId,
    identifier,
    kind: isCampaign ? 'campaign' : 'send',
  }));
}

/** Lists open runs of failed campaigns; their remaining messages are not sent. Uses the entity's campaigns. */
export async function listRunsOfFailed(db: Queryable, entityId: number): Promise<SendRef[]> {
  const { rows } = await db.query<Row<'sends', 'id' | 'identifier'>>(
    `SELECT s.id, s.identifier FROM campaigns c JOIN sends s ON s.entity_id = c.entity_id AND s.campaign_id = c.id
     WHERE c.entity_id = $1 AND c.status = 'failed' AND s.state IN ('accepted', 'running') AND s.cancel_requested_at IS NOT NULL
     ORDER BY s.id`,
    [entityId],
  );
  return rows.map(({ id: jobId, identifier }) => ({ entityId, jobId, identifier, kind: 'campaign' }));
}

/** Locks a send until the transaction ends; null if another generation has it, or it has ended. */
export function lockSend(tx: Tx, claim: JobKey, { isShared = false } = {}): Promise<Send | null> {
  return lockJob<Send>(tx, 'send', claim, { isShared });
}

export async function listCampaignsOfSend(db: Queryable, entityId: number, sendId: number): Promise<number[]> {
  const rows = readRows<Row<'send_campaigns', 'campaignId'>>(
    await db.query('SELECT campaign_id FROM send_campaigns WHERE entity_id = $1 AND send_id = $2 ORDER BY ordinal', [
      entityId,
      sendId,
    ]),
  );
  return rows.map(({ campaignId: id }) => id);
}

/** Takes the next messages after an ordinal, and skips locked rows. Uses the primary key. */
export async function takeMessages(
  tx: Queryable,
  { entityId, id }: Send,
  after: number,
  limit: number,
): Promise<Message[]> {
  return readRows<Row<'send_messages', 'ordinal' | 'userId' | 'userHash', { vars: Message['vars'] }>>(
    await tx.query({
      name: 'take-messages',
      text: `WITH taken AS (
             DELETE FROM send_messages WHERE ctid = ANY (ARRAY(
               SELECT ctid FROM send_messages WHERE entity_id = $1 AND send_id = $2 AND ordinal > $3
               ORDER BY ordinal LIMIT $4 FOR UPDATE SKIP LOCKED))
             RETURNING ordinal, user_id, user_hash, vars)
           SELECT * FROM taken ORDER BY ordinal`,
      values: [entityId, id, after, limit],
    }),
  );
}

/** Lists requests with messages of a campaign made before one, newest first. Uses send_campaigns_by_campaign. */
export async function listSendsOfCampaign(
  db: Queryable,
  entityId: number,
  campaignId: number,
  before: number | null,
  limit: number,
): Promise<Send[]> {
  return readRows<Send>(
    await db.query(
      `SELECT s.* FROM send_campaigns c JOIN sends s ON s.entity_id = $1 AND s.id = c.send_id
       WHERE c.entity_id = $1 AND c.campaign_id = $2 AND ($3::bigint IS NULL OR c.send_id < $3)
       ORDER BY c.send_id DESC LIMIT $4`,
      [entityId, campaignId, before, limit],
    ),
  );
}

type CampaignOfSend = Row<'campaigns', 'identifier' | 'name'> & { sendId: number; appIdentifier: string };

/** Lists the campaigns of requests, in the order in which these name them; of a test the campaign that it tests. */
export async function listCampaignsOfSends(
  db: Queryable,
  entityId: number,
  sendIds: readonly number[],
): Promise<CampaignOfSend[]> {
  return readRows<CampaignOfSend>(
    await db.query(
      `SELECT s.send_id, coalesce(c.test_of, c.identifier) AS identifier, c.name, a.identifier AS app_identifier
       FROM send_campaigns s JOIN campaigns c ON c.entity_id = $1 AND c.id = s.campaign_id
       JOIN apps a ON a.entity_id = $1 AND a.id = c.app_id
       WHERE s.entity_id = $1 AND s.send_id = ANY ($2::integer[]) ORDER BY s.send_id, s.ordinal`,
      [entityId, sendIds],
    ),
  );
}

/** Counts the messages of sends that have no attempts yet. Uses the primary key. */
export async function countMessagesLeftOf(
  db: Queryable,
  entityId: number,
  sendIds: readonly number[],
): Promise<Map<number, number>> {
  const { rows } = await db.query<{ id: number; count: number }>(
    `SELECT send_id AS id, count(*) AS count FROM send_messages
     WHERE entity_id = $1 AND send_id = ANY ($2::integer[]) GROUP BY send_id`,
    [entityId, sendIds],
  );
  return new Map(rows.map(({ id, count }) => [id, count]));
}

export async function countMessagesLeft(
  db: Queryable,
  { entityId, id }: Pick<Send, 'entityId' | 'id'>,
): Promise<number> {
  return (await countMessagesLeftOf(db, entityId, [id])).get(id) ?? 0;
}

export async function deleteMessagesLeft(tx: Queryable, entityId: number, id: number, limit: number): Promise<number> {
  const { rowCount } = await tx.query(
    `DELETE FROM send_messages WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM send_messages WHERE entity_id = $1 AND send_id = $2 LIMIT $3))`,
    [entityId, id, limit],
  );
  return rowCount!;
}

export async function updateCancelRequested(tx: Queryable, entityId: number, id: number): Promise<void> {
  await tx.query(
    'UPDATE sends SET cancel_requested_at = coalesce(cancel_requested_at, now()) WHERE entity_id = $1 AND id = $2',
    [entityId, id],
  );
}
