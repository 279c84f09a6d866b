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

export type GdprRequest = {
  entityId: number;
  id: number;
  identifier: string;
  type: GdprRequestType;
  source: GdprSource;
  appId: number | null;
  /** From a device, without a user token: its app's key is enough to make such requests up. */
  isUnvouched: boolean;
  requester: { kind: 'user' | 'service_token' | 'device' | 'system'; id: number | null };
  skipEmail: boolean;
  /** The recipients of the last mail about it: people who work with Millrace. */
  emails: string[];
  state: GdprRequestState;
  generation: number;
  receivedAt: Date;
  startedAt: Date | null;
  treatedAt: Date | null;
  /** When it is discarded; null until it is treated or declined. */
  expiresAt: Date | null;
  updatedAt: Date;
  round: number;
  stage: string | null;
  /** In this round: how many rows or files, by location. */
  erased: Record<string, number>;
  /** By location, as the last look found them. */
  survivors: Record<string, number>;
  lookedAt: Date | null;
  /** What stayed in filters, of all rounds that have ended. */
  keptValues: KeptValue[];
  /** What keeps the request as a whole; null if nothing does. */
  fault: string | null;
  faultSince: Date | null;
  /** Since when the request waits for staff to start it again; null for any other. */
  givenUpAt: Date | null;
  /** What keeps single locations, by their names; the others go on. `since` is an ISO 8601 time. */
  locationFaults: Record<string, { since: string; reason: string }>;
};

export type GdprPerson = {
  /** From 1. */
  ordinal: number;
  /** Null: of a device nobody used by name. */
  userId: string | null;
  /** From which it was asked. */
  deviceId: string | null;
  /** The keyed hash, once it was collected. */
  subject: Buffer | null;
  state: GdprPersonState;
  treatedAt: Date | null;
  round: number | null;
  archive: { key: string; bytes: number; sha256: Buffer } | null;
  message: string | null;
};

/** Columns of gdpr_requests. */
export type RequestColumns = Omit<GdprRequest, 'type' | 'requester'> & {
  requestType: GdprRequestType;
  requesterKind: GdprRequest['requester']['kind'];
  requesterId: number | null;
};

export function toGdprRequest({
  requestType: type,
  requesterKind: kind,
  requesterId: id,
  ...request
}: RequestColumns): GdprRequest {
  return { ...request, type, requester: { kind, id } };
}

/** Columns of gdpr_request_people. */
export type PersonColumns = Omit<GdprPerson, 'archive'> & {
  archiveKey: string | null;
  archiveBytes: number | null;
  archiveSha256: Buffer | null;
};

export function toGdprPerson({
  archiveKey: key,
  archiveBytes: bytes,
  archiveSha256: sha256,
  ...person
}: PersonColumns): GdprPerson {
  // While one is being written there is a key, and nothing to be had under it.
  return { ...person, archive: bytes === null ? null : { key: key!, bytes, sha256: sha256! } };
}
