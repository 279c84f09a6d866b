/**
 * The JSON feed's inbox. Requests merge in the order of their ids, which come from one sequence: one sent after an
 * earlier one was answered has the higher id, and its reader sees the earlier. Concurrent requests have no order: late
 * ones are found by their state.
 */

import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';

/** First key of the advisory lock that gives an entity's inbox one drainer; the second is the entity's id. */
const FEED_LOCK = 1_750_002;

const MAX_REQUESTS = 2_000;

/** `suspiciousIds`: accepted values whose customer id is probably a mistake. */
export type FeedCounts = { valuesOk: number; valuesIgnored: number; valuesFailed: number; suspiciousIds: number };

export type FeedRequest = Row<
  'feed_requests',
  'id' | 'identifier' | 'sorId' | 'version' | 'receivedAt' | 'valuesIn',
  {
    doneAt: Date | null;
  }
> &
  FeedCounts;

/** Traits of an app's calls. `saidAt`: the time of each value's call, in ms since 1970. */
export type TraitsOfCalls = { appId: number; saidAt: readonly number[] };

/** A request to merge; `body` is its values, a JSON array. */
export type WaitingFeedRequest = Row<'feed_requests', 'id' | 'sorId' | 'version' | 'receivedAt', { body: string }> & {
  traits: TraitsOfCalls | null;
};

export type NewFeedRequest = Omit<WaitingFeedRequest, 'id' | 'receivedAt' | 'traits'> & {
  valuesIn: number;
  traits?: TraitsOfCalls;
};

/** Accepts a request, which is safe once the transaction commits. Returns its identifier. */
export async function insertFeedRequest(tx: Queryable, entityId: number, request: NewFeedRequest): Promise<string> {
  return (await insertFeedRequests(tx, entityId, [request]))[0]!;
}

export async function insertFeedRequests(
  tx: Queryable,
  entityId: number,
  requests: NewFeedRequest[],
): Promise<string[]> {
  const identifiers = requests.map(() => newIdentifier('req'));
  await tx.query(
    `INSERT INTO feed_requests (entity_id, identifier, sor_id, version, values_in, body, body_bytes, app_id, said_at)
     SELECT $1, identifier, sor_id, version, values_in, body, octet_length(body), app_id, said_at::json
     FROM unnest($2::text[], $3::integer[], $4::smallint[], $5::integer[], $6::text[], $7::integer[], $8::text[])
       AS given (identifier, sor_id, version, values_in, body, app_id, said_at)`,
    [
      entityId,
      identifiers,
      requests.map(({ sorId }) => sorId),
      requests.map(({ version }) => version),
      requests.map(({ valuesIn }) => valuesIn),
      requests.map(({ body }) => body),
      requests.map(({ traits }) => traits?.appId ?? null),
      requests.map(({ traits }) => (traits ? JSON.stringify(traits.saidAt) : null)),
    ],
  );
  return identifiers;
}

const FEED_REQUESTS = `SELECT id, identifier, sor_id, version, received_at, done_at, values_in,
    coalesce(values_ok, 0) AS values_ok, coalesce(values_ignored, 0) AS values_ignored,
    coalesce(values_failed, 0) AS values_failed, coalesce(suspicious_ids, 0) AS suspicious_ids
  FROM feed_requests WHERE entity_id = $1`;

export async function findFeedRequest(
  db: Queryable,
  entityId: number,
  identifier: string,
): Promise<FeedRequest | null> {
  return readRow(await db.query(`${FEED_REQUESTS} AND identifier = $2`, [entityId, identifier]));
}

export type FeedRequestFilter = { sorId?: number | undefined; hasErrors?: boolean };

/** Lists feed requests, newest first, before the one with this id, by the primary key or feed_requests_with_errors. */
export async function listFeedRequests(
  db: Queryable,
  entityId: number,
  { sorId, hasErrors = false }: FeedRequestFilter,
  before: number | null,
  limit: number,
): Promise<FeedRequest[]> {
  return readRows(
    await db.query(
      `${FEED_REQUESTS} AND ($2::integer IS NULL OR sor_id = $2) AND ($3::bigint IS NULL OR id < $3)
       AND (NOT $4 OR values_ignored + values_failed > 0) ORDER BY id DESC LIMIT $5`,
      [entityId, sorId ?? null, before, hasErrors, limit],
    ),
  );
}

/** Returns the number of waiting requests, and the bytes of their bodies. */
export async function findFeedInbox(db: Queryable, entityId: number): Promise<{ requests: number; bytes: number }> {
  // Reads only the index feed_inbox.
  const { rows } = await db.query<{ requests: number; bytes: number }>(
    `SELECT count(*) AS requests, coalesce(sum(body_bytes), 0)::bigint AS bytes FROM feed_requests
     WHERE entity_id = $1 AND done_at IS NULL`,
    [entityId],
  );
  return rows[0]!;
}

/** Locks the inbox and its requests until the transaction ends. Later statements see what the last holder did. */
export async function lockFeed(tx: Tx, entityId: number): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock($1, $2)', [FEED_LOCK, entityId]);
}

/** Lists the oldest requests of the locked inbox: at least one, and no more than fit the limits of values and bytes. */
export async function listWaitingFeedRequests(
  tx: Tx,
  entityId: number,
  { values, bytes }: { values: number; bytes: number },
): Promise<WaitingFeedRequest[]> {
  return readRows(
    await tx.query(
      `SELECT id, sor_id, version, received_at, body,
       CASE WHEN app_id IS NOT NULL THEN json_build_object('appId', app_id, 'saidAt', said_at) END AS traits FROM feed_requests
     WHERE entity_id = $1 AND id = ANY (ARRAY(
       SELECT id FROM (
         SELECT id, values_in, sum(values_in) OVER oldest_first AS values_so_far,
           body_bytes, sum(body_bytes) OVER oldest_first AS bytes_so_far, row_number() OVER oldest_first AS ordinal
         FROM (
           SELECT id, values_in, body_bytes FROM feed_requests
           WHERE entity_id = $1 AND done_at IS NULL ORDER BY id LIMIT ${MAX_REQUESTS}) AS oldest
         WINDOW oldest_first AS (ORDER BY id)) AS measured
       WHERE ordinal = 1 OR (values_so_far <= $2 AND bytes_so_far <= $3)))
     ORDER BY id`,
      [entityId, values, bytes],
    ),
  );
}

/** Ends requests, in the transaction of the values and errors that they count, and deletes their bodies. */
export async function updateFeedRequestsDone(
  tx: Tx,
  entityId: number,
  done: ({ id: number } & FeedCounts)[],
): Promise<void> {
  await tx.query(
    `UPDATE feed_requests r
     SET done_at = clock_timestamp(), body = NULL, said_at = NULL, values_ok = d.ok, values_ignored = d.ignored,
       values_failed = d.failed, suspicious_ids = d.suspicious
     FROM unnest($2::bigint[], $3::integer[], $4::integer[], $5::integer[], $6::integer[])
       AS d (id, ok, ignored, failed, suspicious)
     WHERE r.entity_id = $1 AND r.id = d.id`,
    [
      entityId,
      done.map(({ id }) => id),
      done.map(({ valuesOk }) => valuesOk),
      done.map(({ valuesIgnored }) => valuesIgnored),
      done.map(({ valuesFailed }) => valuesFailed),
      done.map(({ suspiciousIds }) => suspiciousIds),
    ],
  );
}

export async function updateFeedWait(db: Queryable, entityId: number, isWaiting: boolean): Promise<void> {
  await db.query(
    isWaiting
      ? 'INSERT INTO feed_waits (entity_id) SELECT id FROM entities WHERE id = $1 ON CONFLICT (entity_id) DO NOTHING'
      : 'DELETE FROM feed_waits WHERE entity_id = $1',
    [entityId],
  );
}

export async function hasFeedWait(db: Queryable, entityId: number): Promise<boolean> {
  return (await db.query('SELECT FROM feed_waits WHERE entity_id = $1', [entityId])).rowCount === 1;
}
