import type { GdprMailKind } from '../../domain/gdpr/gdpr-mail.ts';
import type { JobRef } from '../../domain/jobs/job.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { HOLD_RELEASED } from './holds.ts';
import {
  type GdprPerson,
  type GdprRequest,
  type GdprRequestType,
  type PersonColumns,
  toGdprPerson,
  UNDER_WAY,
} from './request-record.ts';

/** As across-entities.ts, of requests of people for their data or its deletion. */

/** From then on a request is told of as one of which few of the 30 days are left. */
const NEAR_DEADLINE = `interval '25 days'`;

type RefRow = Row<'gdpr_requests', 'entityId' | 'id' | 'identifier'>;

const toRef = (row: RefRow): JobRef => ({ entityId: row.entityId, jobId: row.id, identifier: row.identifier });

/** Those whose time is over. */
export async function listExpiredRequests(db: Queryable): Promise<JobRef[]> {
  // By gdpr_requests_by_expiry.
  const rows = readRows<RefRow>(
    await db.query(
      'SELECT entity_id, id, identifier FROM gdpr_requests WHERE expires_at < now() ORDER BY expires_at LIMIT 100',
    ),
  );
  return rows.map(toRef);
}

/** Identifiers of deletions whose people were on hold, and whose workflows may not know of the release. */
export async function listReleased(db: Queryable): Promise<string[]> {
  // By gdpr_requests_under_way.
  const { rows } = await db.query<Row<'gdpr_requests', 'identifier'>>(
    `SELECT identifier FROM gdpr_requests WHERE ${UNDER_WAY} AND state = 'running' AND stage = $1 ORDER BY id LIMIT 1000`,
    [HOLD_RELEASED],
  );
  return rows.map(({ identifier }) => identifier);
}

export type DueMail = { entityId: number; jobId: number; kind: GdprMailKind };

/**
 * A mail that no server took is tried again as long as there is somebody to tell: after 2, 4, 8, … minutes, then each 6
 * hours. What workflows send they try again by themselves for half an hour, and sooner than this.
 */
const IS_DUE_AGAIN = `m.mail_state = 'not_sent' AND m.tried_at < now() - least(2 ^ least(m.mail_tries, 9), 360) * interval '1 minute'`;
/** A workflow that ends a request mails by itself: only if it was lost so long the sweep does. */
const LOST_AFTER = `interval '1 hour'`;

/**
 * Requests with a kind of mail that they are due. A treated request's own workflow mails first, unless the request is
 * unvouched. Uses the indexes gdpr_requests_under_way and gdpr_requests_by_expiry.
 */
export const WITH_MAILS = `(
  SELECT entity_id, id, app_id, identifier, is_unvouched, 'waiting' AS kind FROM gdpr_requests
    WHERE ${UNDER_WAY} AND state = 'waiting' AND NOT skip_email
  UNION ALL SELECT entity_id, id, app_id, identifier, is_unvouched, 'held' FROM gdpr_requests
    WHERE ${UNDER_WAY} AND stage = 'on hold' AND NOT skip_email
  UNION ALL SELECT entity_id, id, app_id, identifier, is_unvouched, 'near_deadline' FROM gdpr_requests
    WHERE ${UNDER_WAY} AND received_at < now() - ${NEAR_DEADLINE} AND NOT skip_email
  UNION ALL SELECT entity_id, id, app_id, identifier, is_unvouched, 'treated' FROM gdpr_requests
    WHERE expires_at > now() AND state = 'treated' AND (is_unvouched OR treated_at < now() - ${LOST_AFTER}) AND NOT skip_email)`;

/**
 * Mails that nobody has sent: of requests that wait for approval, whose people are on hold, of which few days are left,
 * and that are treated. Those of unvouched requests go with a digest. Each entity's next mail comes before the second
 * one of another.
 */
export async function listDueMails(db: Queryable): Promise<DueMail[]> {
  const rows = readRows<Row<'gdpr_mails', 'entityId'> & Row<'gdpr_requests', 'id'> & { kind: DueMail['kind'] }>(
    await db.query(
      `SELECT r.entity_id, r.id, r.kind FROM ${WITH_MAILS} r
     LEFT JOIN gdpr_mails m ON m.entity_id = r.entity_id AND m.request_id = r.id AND m.kind = r.kind
     WHERE NOT r.is_unvouched AND ((m.mail_state IS NULL AND r.kind <> 'held') OR (${IS_DUE_AGAIN}))
     ORDER BY row_number() OVER (PARTITION BY r.entity_id ORDER BY r.id), r.entity_id LIMIT 1000`,
    ),
  );
  return rows.map(({ entityId, id: jobId, kind }) => ({ entityId, jobId, kind }));
}

/** Returns the apps with unvouched requests that no digest tells of yet. */
export async function listAppsToDigest(db: Queryable): Promise<{ entityId: number; appId: number | null }[]> {
  return readRows<Row<'gdpr_mails', 'entityId'> & Row<'gdpr_requests', 'appId'>>(
    await db.query(
      `SELECT DISTINCT r.entity_id, r.app_id FROM ${WITH_MAILS} r
     LEFT JOIN gdpr_mails m ON m.entity_id = r.entity_id AND m.request_id = r.id AND m.kind = r.kind
     WHERE r.is_unvouched AND (m.id IS NULL OR (m.digest_id IS NULL AND coalesce(m.mail_state, 'not_sent') = 'not_sent'))
     LIMIT 1000`,
    ),
  );
}

export type Digest = { entityId: number; id: number; identifier: string };

/** Returns the digests that are not sent yet, or that are due again, the next of each entity first. */
export async function listDueDigests(db: Queryable): Promise<Digest[]> {
  return readRows<Row<'gdpr_mails', 'entityId' | 'id' | 'identifier'>>(
    await db.query(
      `SELECT entity_id, id, identifier FROM gdpr_mails m
     WHERE digest_id = id AND (mail_state IS NULL OR (${IS_DUE_AGAIN}))
     ORDER BY row_number() OVER (PARTITION BY entity_id ORDER BY id), entity_id LIMIT 1000`,
    ),
  );
}

export type GdprFigures = {
  type: GdprRequestType;
  state: string;
  requests: number;
  nearDeadline: number;
  fromDevices: number;
}[];

/** How many requests are under way, of how many few days are left, and how many devices asked for. */
export async function countRequestsUnderWay(db: Queryable): Promise<GdprFigures> {
  // By gdpr_requests_under_way.
  const rows = readRows<
    Row<'gdpr_requests', 'requestType'> & { state: string; requests: number; nearDeadline: number; fromDevices: number }
  >(
    await db.query(
      `SELECT request_type, state, count(*) AS requests, count(*) FILTER (WHERE received_at < now() - ${NEAR_DEADLINE}) AS near_deadline,
       count(*) FILTER (WHERE source = 'sdk') AS from_devices
     FROM gdpr_requests WHERE ${UNDER_WAY} GROUP BY request_type, state`,
    ),
  );
  return rows.map(({ requestType: type, state, requests, nearDeadline, fromDevices }) => ({
    type,
    state,
    requests,
    nearDeadline,
    fromDevices,
  }));
}

/** Archives are found here without an entity: a link has none, nor has a file. Both have the request's identifier. */
const OF_REQUEST = `FROM gdpr_requests r JOIN gdpr_request_people p ON p.entity_id = r.entity_id AND p.request_id = r.id
  WHERE r.identifier = $1`;

export type FoundArchive = { entityId: number; request: Pick<GdprRequest, 'identifier'>; person: GdprPerson };

/**
 * The person of an archive that may be downloaded; null for an unknown request, one whose time is over, and an inactive
 * entity.
 */
export async function findArchive(db: Queryable, identifier: string, ordinal: number): Promise<FoundArchive | null> {
  return readRow(
    await db.query(
      `SELECT p.* ${OF_REQUEST} AND p.ordinal = $2 AND p.archive_bytes IS NOT NULL AND (r.expires_at IS NULL OR r.expires_at > now())
       AND EXISTS (SELECT FROM entities e WHERE e.id = r.entity_id AND e.active)`,
      [identifier, ordinal],
    ),
    ({ entityId, ...person }: PersonColumns & { entityId: number }) => ({
      entityId,
      request: { identifier },
      person: toGdprPerson(person),
    }),
  );
}

/** Whether a file of the area `access/` is one that somebody's row names. */
export async function isArchiveNamed(db: Queryable, key: string): Promise<boolean> {
  const { rowCount } = await db.query(`SELECT ${OF_REQUEST} AND p.archive_key = $2`, [key.split('/')[1], key]);
  return rowCount === 1;
}
