/** The records of requests and their people, and the columns that they come from. */
import type { Row } from '../core/camel-row.ts';
import type { KeptValue } from '../../domain/gdpr/gdpr-receipt.ts';

export type GdprRequestType = 'access' | 'delete';
/** `restore`: a restored backup brought a person back, who is erased again. */
export type GdprSource = 'api' | 'sdk' | 'restore';
export type GdprRequestState = 'waiting' | 'accepted' | 'running' | 'treated' | 'declined';

/** A condition: neither treated nor declined, as in the index gdpr_requests_under_way. */
export const UNDER_WAY = `state IN ('waiting', 'accepted', 'running')`;
/** How long a request is kept once it is treated or declined. */
export const KEPT_FOR = `interval '7 days'`;

/** Stage of a request that waited for a hold, from the release until its workflow looks again. */
export const HOLD_RELEASED = 'hold released';

/** `held`: on hold; `building`: an archive is being written. */
export type GdprPersonState = 'pending' | 'held' | 'building' | 'treated';

export type GdprRequest = Row<
  'gdpr_requests',
  | 'entityId'
  | 'id'
  | 'identifier'
  | 'source'
  | 'appId'
  | 'isUnvouched'
  | 'skipEmail'
  | 'emails'
  | 'state'
  | 'generation'
  | 'receivedAt'
  | 'startedAt'
  | 'treatedAt'
  | 'expiresAt'
  | 'updatedAt'
  | 'round'
  | 'stage'
  | 'lookedAt'
  | 'fault'
  | 'faultSince'
  | 'givenUpAt',
  {
    /** Number of rows or files erased in this round, by location. */
    erased: Record<string, number>;
    /** Number of rows or files left, by location, in the last scan. */
    survivors: Record<string, number>;
    keptValues: KeptValue[];
    /** Faults of single locations, by name, which hold up no other location. `since` is an ISO 8601 time. */
    locationFaults: Record<string, { since: string; reason: string }>;
  }
> & { type: GdprRequestType; requester: { kind: 'user' | 'service_token' | 'device' | 'system'; id: number | null } };

export type GdprPerson = Row<
  'gdpr_request_people',
  'ordinal' | 'userId' | 'deviceId' | 'subject' | 'state' | 'treatedAt' | 'round' | 'message'
> & { archive: { key: string; bytes: number; sha256: Buffer } | null };

export type RequestColumns = Omit<GdprRequest, 'type' | 'requester'> &
  Row<'gdpr_requests', 'requestType' | 'requesterKind' | 'requesterId'>;

export function toGdprRequest({
  requestType: type,
  requesterKind: kind,
  requesterId: id,
  ...request
}: RequestColumns): GdprRequest {
  return { ...request, type, requester: { kind, id } };
}

export type PersonColumns = Omit<GdprPerson, 'archive'> &
  Row<'gdpr_request_people', 'archiveKey' | 'archiveBytes' | 'archiveSha256'>;

export function toGdprPerson({
  archiveKey: key,
  archiveBytes: bytes,
  archiveSha256: sha256,
  ...person
}: PersonColumns): GdprPerson {
  // While an archive is being written it has a key, but cannot be downloaded.
  return { ...person, archive: bytes === null ? null : { key: key!, bytes, sha256: sha256! } };
}
