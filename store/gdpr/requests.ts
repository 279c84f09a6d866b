/** Privacy requests and their people: inserted, found, listed, decided on. */
import { readRow, readRows } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import { countRows, type Page, type PageRange } from '../core/page.ts';
import {
  type GdprPerson,
  type GdprRequest,
  type GdprRequestState,
  type GdprRequestType,
  type GdprSource,
  KEPT_FOR,
  type PersonColumns,
  type RequestColumns,
  toGdprPerson,
  toGdprRequest,
} from './request-record.ts';

export type NewGdprRequest = {
  type: GdprRequestType;
  source: GdprSource;
  appId: number | null;
  requester: GdprRequest['requester'];
  skipEmail: boolean;
  /** The recipients of mails, as far as they are known yet: users of Millrace. */
  emails: readonly string[];
  state: Extract<GdprRequestState, 'waiting' | 'accepted'>;
  /** In the order of the request, each once. */
  people: readonly Pick<GdprPerson, 'userId' | 'deviceId'>[];
};

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

/** A condition: an expired request counts as gone before the sweep deletes it. */
const SHOWN = '(r.expires_at IS NULL OR r.expires_at > now())';

/** Returns null for none or an expired one. */
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

export async function findGdprRequestById(db: Queryable, entityId: number, id: number): Promise<GdprRequest | null> {
  return readRow(
    await db.query('SELECT * FROM gdpr_requests WHERE entity_id = $1 AND id = $2', [entityId, id]),
    toGdprRequest,
  );
}

export async function listGdprPeople(db: Queryable, entityId: number, requestId: number): Promise<GdprPerson[]> {
  return readRows(
    await db.query('SELECT * FROM gdpr_request_people WHERE entity_id = $1 AND request_id = $2 ORDER BY ordinal', [
      entityId,
      requestId,
    ]),
    toGdprPerson,
  );
}

export type GdprFilter = {
  type: GdprRequestType | null;
  state: GdprRequestState | null;
  source: GdprSource | null;
  identifier: string | null;
};

const IN_ANY_STATE = `r.entity_id = $1 AND ($2::text IS NULL OR r.request_type = $2)
  AND ($3::text IS NULL OR r.source = $3) AND ($4::text IS NULL OR r.identifier = $4) AND ${SHOWN}`;
const FILTERED = `${IN_ANY_STATE} AND ($5::text IS NULL OR r.state = $5)`;

export async function listGdprRequests(
  db: Queryable,
  entityId: number,
  { type, state, source, identifier }: GdprFilter,
  { offset, limit }: PageRange,
): Promise<Page<GdprRequest>> {
  const filtered = `FROM gdpr_requests r WHERE ${FILTERED}`;
  const values = [entityId, type, source, identifier, state];
  const items = readRows(
    await db.query(`SELECT * ${filtered} ORDER BY id DESC OFFSET $6 LIMIT $7`, [...values, offset, limit]),
    toGdprRequest,
  );
  return { items, total: await countRows(db, filtered, values) };
}

export type StateCounts = Record<GdprRequestState, number>;

/** Counts the requests of each state, without the filter's own state. */
export async function countGdprRequestsByState(
  db: Queryable,
  entityId: number,
  { type, source, identifier }: GdprFilter,
): Promise<StateCounts> {
  const { rows } = await db.query<{ state: GdprRequestState; requests: number }>(
    `SELECT state, count(*) AS requests FROM gdpr_requests r WHERE ${IN_ANY_STATE} GROUP BY state`,
    [entityId, type, source, identifier],
  );
  const counted = Object.fromEntries(rows.map(({ state, requests }) => [state, requests]));
  return { waiting: 0, accepted: 0, running: 0, treated: 0, declined: 0, ...counted };
}

export type PeopleCounts = { people: number; treated: number; held: number };

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

/** Decides on a waiting request, or restarts one that was given up. Returns null if there is no such request. */
export async function updateDecision(
  tx: Tx,
  entityId: number,
  identifier: string,
  { state, decidedBy }: { state: 'accepted' | 'declined'; decidedBy: number },
): Promise<GdprRequest | null> {
  // If two users decide at once, the second finds that the request no longer waits.
  return readRow(
    await tx.query(
      `UPDATE gdpr_requests SET state = $3, decided_by = $4, decided_at = now(), updated_at = now(), given_up_at = NULL,
       fault = NULL, fault_since = NULL,
       expires_at = CASE WHEN $3 = 'declined' THEN now() + ${KEPT_FOR} END
     WHERE entity_id = $1 AND identifier = $2 AND (state = 'waiting' OR (given_up_at IS NOT NULL AND $3 = 'accepted'))
     RETURNING *`,
      [entityId, identifier, state, decidedBy],
    ),
    toGdprRequest,
  );
}

export type PolledPerson = {
  request: Pick<GdprRequest, 'identifier' | 'type' | 'source' | 'emails' | 'receivedAt'>;
  /** The identifier of the app of a request from a device, while the app exists. */
  app: string | null;
  person: GdprPerson;
  forwardedAt: Date | null;
};

export type LatestFilter = { users: string[] | null; types: readonly GdprRequestType[]; since: Date; limit: number };

/** Lists people of requests that changed since a time, latest change first; only some users, if given. */
export async function listLatestRequests(
  db: Queryable,
  entityId: number,
  { users, types, since, limit }: LatestFilter,
): Promise<PolledPerson[]> {
  // Uses the index gdpr_people_by_user, or gdpr_requests_by_update and the people of each request.
  const from = users
    ? 'gdpr_request_people p JOIN gdpr_requests r ON r.entity_id = p.entity_id AND r.id = p.request_id'
    : `gdpr_requests r CROSS JOIN LATERAL (
         SELECT * FROM gdpr_request_people o WHERE o.entity_id = r.entity_id AND o.request_id = r.id ORDER BY o.ordinal) p`;
  return readRows(
    await db.query(
      `SELECT r.*, p.ordinal, p.user_id, p.device_id, p.state AS person_state, p.treated_at AS person_treated_at,
       p.archive_key, p.archive_bytes, p.archive_sha256, p.message,
       (SELECT a.identifier FROM apps a WHERE a.entity_id = r.entity_id AND a.id = r.app_id) AS app,
       (SELECT m.sent_at FROM gdpr_mails m WHERE m.entity_id = r.entity_id AND m.request_id = r.id AND m.kind = 'treated') AS sent_at
     FROM ${from}
     WHERE r.entity_id = $1 AND r.request_type = ANY ($2) AND r.updated_at >= $3 AND (r.expires_at IS NULL OR r.expires_at > now())
       ${users ? 'AND p.entity_id = $1 AND p.user_id = ANY ($5)' : ''}
     ORDER BY r.updated_at DESC, r.id DESC, p.ordinal LIMIT $4`,
      [entityId, types, since, limit, ...(users ? [users] : [])],
    ),
    toPolled,
  );
}

type PolledColumns = RequestColumns &
  Omit<PersonColumns, 'state' | 'treatedAt' | 'subject' | 'round'> & {
    personState: PersonColumns['state'];
    personTreatedAt: Date | null;
    app: string | null;
    sentAt: Date | null;
  };

function toPolled({
  personState: state,
  personTreatedAt: treatedAt,
  app,
  sentAt: forwardedAt,
  ...columns
}: PolledColumns): PolledPerson {
  return {
    request: toGdprRequest(columns),
    app,
    forwardedAt,
    person: toGdprPerson({ ...columns, state, treatedAt, subject: null, round: null }),
  };
}
