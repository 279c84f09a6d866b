/** Privacy requests of all entities: expired or released ones, due mails, archives by their link, figures. */
import type { GdprMailKind } from '../../domain/gdpr/gdpr-mail.ts';
import type { JobRef } from '../../domain/jobs/job.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import {
  HOLD_RELEASED,
  type GdprPerson,
  type GdprRequest,
  type GdprRequestType,
  type PersonColumns,
  toGdprPerson,
  UNDER_WAY,
} from './request-record.ts';

/** From this age on, a request counts as near its deadline of 30 days. */
const NEAR_DEADLINE = `interval '25 days'`;

export async function listExpiredRequests(db: Queryable): Promise<JobRef[]> {
  // Uses the index gdpr_requests_by_expiry.
  return readRows<JobRef>(
    await db.query(
      `SELECT entity_id, id AS job_id, identifier FROM gdpr_requests WHERE expires_at < now() ORDER BY expires_at LIMIT 100`,
    ),
  );
}

/** Lists deletions that waited for a hold which was released. Their workflows may have missed the signal. */
export async function listReleased(db: Queryable): Promise<string[]> {
  // Uses the index gdpr_requests_under_way.
  const { rows } = await db.query<Row<'gdpr_requests', 'identifier'>>(
    `SELECT identifier FROM gdpr_requests WHERE ${UNDER_WAY} AND state = 'running' AND stage = $1 ORDER BY id LIMIT 1000`,
    [HOLD_RELEASED],
  );
  return rows.map(({ identifier }) => identifier);
}

export type DueMail = { entityId: number; jobId: number; kind: GdprMailKind };

/** A mail that no server took is retried after 2, 4, 8, … minutes, then every 6 hours. */
const IS_DUE_AGAIN = `m.mail_state = 'not_sent' AND m.tried_at < now() - least(2 ^ least(m.mail_tries, 9), 360) * interval '1 minute'`;
/** The sweep mails about a treated request only after this time: its workflow normally does so. */
const LOST_AFTER = `interval '1 hour'`;

/**
 * Requests with a kind of mail that they are due; a treated one only if its workflow does not mail. Uses the indexes
 * gdpr_requests_under_way and gdpr_requests_by_expiry.
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

/** Lists due mails, without those of unvouched requests, which digests cover. The entities take turns. */
export async function listDueMails(db: Queryable): Promise<DueMail[]> {
  return readRows<DueMail>(
    await db.query(
      `SELECT r.entity_id, r.id AS job_id, r.kind FROM ${WITH_MAILS} r
     LEFT JOIN gdpr_mails m ON m.entity_id = r.entity_id AND m.request_id = r.id AND m.kind = r.kind
     WHERE NOT r.is_unvouched AND ((m.mail_state IS NULL AND r.kind <> 'held') OR (${IS_DUE_AGAIN}))
     ORDER BY row_number() OVER (PARTITION BY r.entity_id ORDER BY r.id), r.entity_id LIMIT 1000`,
    ),
  );
}

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

/** Counts requests under way, by type and state: all, near their deadline, and from devices. */
export async function countRequestsUnderWay(db: Queryable): Promise<GdprFigures> {
  // Uses the index gdpr_requests_under_way.
  return readRows<GdprFigures[number]>(
    await db.query(
      `SELECT request_type AS type, state, count(*) AS requests, count(*) FILTER (WHERE received_at < now() - ${NEAR_DEADLINE}) AS near_deadline,
       count(*) FILTER (WHERE source = 'sdk') AS from_devices
     FROM gdpr_requests WHERE ${UNDER_WAY} GROUP BY request_type, state`,
    ),
  );
}

/** SQL for archives by their request's identifier, which links and file keys have, and which no other entity shares. */
const OF_REQUEST = `FROM gdpr_requests r JOIN gdpr_request_people p ON p.entity_id = r.entity_id AND p.request_id = r.id
  WHERE r.identifier = $1`;

export type FoundArchive = { entityId: number; request: Pick<GdprRequest, 'identifier'>; person: GdprPerson };

/** Returns the person of an archive that may be downloaded; null if the request has expired or is unknown. */
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

/** Returns whether a row names a file of the area `access/`. */
export async function isArchiveNamed(db: Queryable, key: string): Promise<boolean> {
  const { rowCount } = await db.query(`SELECT ${OF_REQUEST} AND p.archive_key = $2`, [key.split('/')[1], key]);
  return rowCount === 1;
}
