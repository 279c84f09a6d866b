import { readRows } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import {
  type GdprPerson,
  type GdprRequest,
  type GdprRequestType,
  type PersonColumns,
  type RequestColumns,
  toGdprPerson,
  toGdprRequest,
} from './request-record.ts';

/** A person of a request, as those who poll for news see it. */
export type PolledPerson = {
  request: Pick<GdprRequest, 'identifier' | 'type' | 'source' | 'emails' | 'receivedAt'>;
  /** Of one from a device: the identifier of its app, while there is one. */
  app: string | null;
  person: GdprPerson;
  /** When the mail that it is done was sent. */
  forwardedAt: Date | null;
};

export type LatestFilter = { users: string[] | null; types: readonly GdprRequestType[]; since: Date; limit: number };

/** People of requests that changed since then, those that changed last first; of users alone where they are named. */
export async function listLatestRequests(
  db: Queryable,
  entityId: number,
  { users, types, since, limit }: LatestFilter,
): Promise<PolledPerson[]> {
  // By gdpr_people_by_user, else by gdpr_requests_by_update and the people of one request after the other.
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
