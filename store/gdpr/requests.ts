import { readRow, readRows } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import {
  type GdprPerson,
  type GdprRequest,
  type GdprRequestState,
  type GdprRequestType,
  type GdprSource,
  toGdprPerson,
  toGdprRequest,
} from './request-record.ts';

export type NewGdprRequest = {
  type: GdprRequestType;
  source: GdprSource;
  /** Of one from a device. */
  appId: number | null;
  requester: GdprRequest['requester'];
  skipEmail: boolean;
  /** Who is to be told, as far as it is known when it is asked: people who work with Millrace. */
  emails: readonly string[];
  state: Extract<GdprRequestState, 'waiting' | 'accepted'>;
  /** In the order in which they were asked for, each of them once. */
  people: readonly Pick<GdprPerson, 'userId' | 'deviceId'>[];
};

/** The request and its people, however many, in one statement. */
export async function insertGdprRequest(
  tx: Queryable,
  entityId: number,
  request: NewGdprRequest,
): Promise<GdprRequest> {
  const { people, requester } = request;
  const made = readRow(
    await tx.query(
      `WITH made AS (
       INSERT INTO gdpr_requests
         (entity_id, identifier, request_type, source, app_id, requester_kind, requester_id, skip_email, emails, state,
          is_unvouched)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $13) RETURNING *),
     their_people AS (
       INSERT INTO gdpr_request_people (entity_id, request_id, ordinal, user_id, device_id)
       SELECT $1, made.id, asked.ordinal, asked.user_id, asked.device_id
       FROM made, unnest($11::text[], $12::text[]) WITH ORDINALITY AS asked (user_id, device_id, ordinal))
     SELECT * FROM made`,
      [
        entityId,
        newIdentifier('gdp'),
        request.type,
        request.source,
        request.appId,
        requester.kind,
        requester.id,
        request.skipEmail,
        request.emails,
        request.state,
        people.map(({ userId }) => userId),
        people.map(({ deviceId }) => deviceId),
        request.source === 'sdk' && people.every(({ userId }) => userId === null),
      ],
    ),
    toGdprRequest,
  );
  return made!;
}

/** One whose week is over counts as gone, though it may not be discarded yet. */
const SHOWN = '(r.expires_at IS NULL OR r.expires_at > now())';

/** Null when there is none, or its week is over. */
export async function findGdprRequest(
  db: Queryable,
  entityId: number,
  identifier: string,
): Promise<GdprRequest | null> {
  return readRow(
    await db.query(`SELECT * FROM gdpr_requests r WHERE entity_id = $1 AND identifier = $2 AND ${SHOWN}`, [
      entityId,
      identifier,
    ]),
    toGdprRequest,
  );
}

/** As it lies there, expired or not. */
export async function findGdprRequestById(db: Queryable, entityId: number, id: number): Promise<GdprRequest | null> {
  return readRow(
    await db.query('SELECT * FROM gdpr_requests WHERE entity_id = $1 AND id = $2', [entityId, id]),
    toGdprRequest,
  );
}

/** In the order in which they were asked for. */
export async function listGdprPeople(db: Queryable, entityId: number, requestId: number): Promise<GdprPerson[]> {
  return readRows(
    await db.query('SELECT * FROM gdpr_request_people WHERE entity_id = $1 AND request_id = $2 ORDER BY ordinal', [
      entityId,
      requestId,
    ]),
    toGdprPerson,
  );
}

export type GdprFilter = { type: GdprRequestType | null; state: GdprRequestState | null; source: GdprSource | null };

const FILTERED = `r.entity_id = $1 AND ($2::text IS NULL OR r.request_type = $2) AND ($3::text IS NULL OR r.state = $3)
  AND ($4::text IS NULL OR r.source = $4) AND ${SHOWN}`;

/** Newest first. */
export async function listGdprRequests(
  db: Queryable,
  entityId: number,
  { type, state, source }: GdprFilter,
  { offset, limit }: { offset: number; limit: number },
): Promise<GdprRequest[]> {
  return readRows(
    await db.query(`SELECT * FROM gdpr_requests r WHERE ${FILTERED} ORDER BY id DESC OFFSET $5 LIMIT $6`, [
      entityId,
      type,
      state,
      source,
      offset,
      limit,
    ]),
    toGdprRequest,
  );
}

export async function countGdprRequests(
  db: Queryable,
  entityId: number,
  { type, state, source }: GdprFilter,
): Promise<number> {
  const { rows } = await db.query<{ count: number }>(`SELECT count(*) FROM gdpr_requests r WHERE ${FILTERED}`, [
    entityId,
    type,
    state,
    source,
  ]);
  return rows[0]!.count;
}

export type PeopleCounts = { people: number; treated: number; held: number };

/** How many people some requests have, by the request's id; one that has none left is not in it. */
export async function countPeopleOfRequests(
  db: Queryable,
  entityId: number,
  requestIds: number[],
): Promise<Map<number, PeopleCounts>> {
  const { rows } = await db.query<PeopleCounts & { request_id: number }>(
    `SELECT request_id, count(*) AS people, count(*) FILTER (WHERE state = 'treated') AS treated,
       count(*) FILTER (WHERE state = 'held') AS held
     FROM gdpr_request_people WHERE entity_id = $1 AND request_id = ANY ($2) GROUP BY request_id`,
    [entityId, requestIds],
  );
  return new Map(rows.map(({ request_id: id, ...counts }) => [id, counts]));
}
