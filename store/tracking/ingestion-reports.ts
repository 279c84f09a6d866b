import type { ListCursor } from '../../domain/core/list-cursor.ts';
import type { RefusalCode } from '../../domain/tracking/tracked-call.ts';
import { readRows } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

/** A refused call as it is kept for 30 days; `raw` null of an erased person. */
export type StoredRefusal = {
  id: number;
  receivedAt: Date;
  micros: number;
  /** Whether the app is that of the call; false where its key is shared and it told of none. */
  isOfApp: boolean;
  index: number;
  messageId: string | null;
  code: RefusalCode;
  message: string;
  raw: string | null;
};

/** Calls that told of no app concern those apps that have a key with others. */
export const OF_NO_APP = `app_id IS NULL AND EXISTS (
  SELECT FROM app_api_keys k JOIN app_api_keys o ON o.entity_id = k.entity_id AND o.lookup = k.lookup
  WHERE k.entity_id = $1 AND k.app_id = $2 AND o.app_id <> $2)`;

export type RefusalFilter = { code?: RefusalCode | undefined; messageId?: string | undefined };

type RefusalRow = {
  id: number;
  received_at: Date;
  micros: number;
  app_id: number | null;
  index: number;
  message_id: string | null;
  code: RefusalCode;
  message: string;
  raw: string | null;
};

/** Newest first: those of an app, and where it shares a key those that told of no app. */
export async function listRefusedCalls(
  db: Queryable,
  entityId: number,
  appId: number,
  { code, messageId }: RefusalFilter,
  after: ListCursor | null,
  limit: number,
): Promise<StoredRefusal[]> {
  const { rows } = await db.query<RefusalRow>(
    `SELECT id, received_at, (extract(epoch FROM received_at) * 1000000)::bigint AS micros, app_id, index, message_id, code, message, raw
     FROM refused_calls
     WHERE entity_id = $1 AND (app_id = $2 OR ${OF_NO_APP}) AND ($3::text IS NULL OR code = $3) AND ($4::text IS NULL OR message_id = $4)
       AND ($5::bigint IS NULL OR (received_at, id) < (timestamptz 'epoch' + $5 * interval '1 microsecond', $6))
     ORDER BY received_at DESC, id DESC LIMIT $7`,
    [entityId, appId, code ?? null, messageId ?? null, after?.micros ?? null, after?.id ?? null, limit],
  );
  return rows.map((row) => ({
    id: row.id,
    receivedAt: row.received_at,
    micros: row.micros,
    isOfApp: row.app_id !== null,
    index: row.index,
    messageId: row.message_id,
    code: row.code,
    message: row.message,
    raw: row.raw,
  }));
}

/**
 * What came on a UTC day: received = accepted + duplicates + refused, and of calls that told of no app of their shared
 * key.
 */
export type IngestedDay = {
  date: string;
  accepted: number;
  duplicates: number;
  refused: number;
  refusedOfNoApp: number;
};

/** Of today and the days before it, so many together, the last one first; days on which nothing came are there too. */
export async function listIngestedDays(
  db: Queryable,
  entityId: number,
  appId: number,
  days: number,
): Promise<IngestedDay[]> {
  // By the primary key: a range of days of one entity.
  const { rows } = await db.query<Omit<IngestedDay, 'refusedOfNoApp'> & { of_no_app: number }>(
    `SELECT d::date AS date, coalesce(sum(b.accepted) FILTER (WHERE b.app_id = $2), 0)::bigint AS accepted,
       coalesce(sum(b.duplicates) FILTER (WHERE b.app_id = $2), 0)::bigint AS duplicates,
       coalesce(sum(b.refused) FILTER (WHERE b.app_id = $2), 0)::bigint AS refused,
       coalesce(sum(b.refused) FILTER (WHERE b.app_id IS NULL), 0)::bigint AS of_no_app
     FROM generate_series(date_trunc('day', now(), 'UTC') - ($3 - 1) * interval '1 day', now(), interval '1 day') AS d
     LEFT JOIN ingested_batches b ON b.entity_id = $1 AND b.received_at >= d AND b.received_at < d + interval '1 day'
       AND (b.app_id = $2 OR b.${OF_NO_APP})
     GROUP BY d ORDER BY d DESC`,
    [entityId, appId, days],
  );
  return rows.map(({ of_no_app: refusedOfNoApp, ...day }) => ({ ...day, refusedOfNoApp }));
}

/** Errors of one kind. */
export type StoredCrash = {
  identifier: string;
  title: string;
  firstSeenAt: Date;
  lastSeenAt: Date;
  occurrences: number;
};

/** The one last seen first. */
export async function listCrashes(
  db: Queryable,
  entityId: number,
  appId: number,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ total: number; crashes: StoredCrash[] }> {
  const {
    rows: [counted],
  } = await db.query<{ total: number }>('SELECT count(*) AS total FROM crashes WHERE entity_id = $1 AND app_id = $2', [
    entityId,
    appId,
  ]);
  const crashes = readRows<StoredCrash>(
    await db.query(
      `SELECT identifier, title, first_seen_at, last_seen_at, occurrences FROM crashes WHERE entity_id = $1 AND app_id = $2
     ORDER BY last_seen_at DESC, id DESC OFFSET $3 LIMIT $4`,
      [entityId, appId, offset, limit],
    ),
  );
  return { total: counted!.total, crashes };
}
