import type { Row } from '../core/camel-row.ts';
import type { KeptValue } from '../../domain/gdpr/gdpr-receipt.ts';

export type GdprRequestType = 'access' | 'delete';
/** `restore`: somebody came back with a restored backup, and is erased again. */
export type GdprSource = 'api' | 'sdk' | 'restore';
export type GdprRequestState = 'waiting' | 'accepted' | 'running' | 'treated' | 'declined';

/** Not yet treated, and neither declined: as the index gdpr_requests_under_way has it. */
export const UNDER_WAY = `state IN ('waiting', 'accepted', 'running')`;
/** So long what was found, and that it was asked for, can be looked up once all is done or declined. */
export const KEPT_FOR = `interval '7 days'`;

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
    /** In this round: how many rows or files, by location. */
    erased: Record<string, number>;
    /** By location, as the last look found them. */
    survivors: Record<string, number>;
    /** What stayed in filters, of all rounds that have ended. */
    keptValues: KeptValue[];
    /** What keeps single locations, by their names; the others go on. `since` is an ISO 8601 time. */
    locationFaults: Record<string, { since: string; reason: string }>;
  }
> & { type: GdprRequestType; requester: { kind: 'user' | 'service_token' | 'device' | 'system'; id: number | null } };

export type GdprPerson = Row<
  'gdpr_request_people',
  'ordinal' | 'userId' | 'deviceId' | 'subject' | 'state' | 'treatedAt' | 'round' | 'message'
> & { archive: { key: string; bytes: number; sha256: Buffer } | null };

/** Columns of gdpr_requests. */
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

/** Columns of gdpr_request_people. */
export type PersonColumns = Omit<GdprPerson, 'archive'> &
  Row<'gdpr_request_people', 'archiveKey' | 'archiveBytes' | 'archiveSha256'>;

export function toGdprPerson({
  archiveKey: key,
  archiveBytes: bytes,
  archiveSha256: sha256,
  ...person
}: PersonColumns): GdprPerson {
  // While one is being written there is a key, and nothing to be had under it.
  return { ...person, archive: bytes === null ? null : { key: key!, bytes, sha256: sha256! } };
}
