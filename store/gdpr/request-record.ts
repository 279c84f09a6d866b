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
  fault: string | null;
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

type RequestRow = {
  entity_id: number; id: number; identifier: string; request_type: GdprRequestType; source: GdprSource; app_id: number | null;
  requester_kind: GdprRequest['requester']['kind']; requester_id: number | null; skip_email: boolean; emails: string[];
  state: GdprRequestState; generation: number; received_at: Date; started_at: Date | null; treated_at: Date | null;
  expires_at: Date | null; updated_at: Date; round: number; stage: string | null; erased: Record<string, number>;
  survivors: Record<string, number>; looked_at: Date | null; fault: string | null;
};
export type GdprRequestRow = RequestRow;

export function toGdprRequest(row: RequestRow): GdprRequest {
  return {
    entityId: row.entity_id, id: row.id, identifier: row.identifier, type: row.request_type, source: row.source, appId: row.app_id,
    requester: { kind: row.requester_kind, id: row.requester_id }, skipEmail: row.skip_email, emails: row.emails, state: row.state,
    generation: row.generation, receivedAt: row.received_at, startedAt: row.started_at, treatedAt: row.treated_at,
    expiresAt: row.expires_at, updatedAt: row.updated_at, round: row.round, stage: row.stage, erased: row.erased,
    survivors: row.survivors, lookedAt: row.looked_at, fault: row.fault,
  };
}

export type GdprPersonRow = {
  ordinal: number; user_id: string | null; device_id: string | null; subject: Buffer | null; state: GdprPersonState;
  treated_at: Date | null; round: number | null; archive_key: string | null; archive_bytes: number | null;
  archive_sha256: Buffer | null; message: string | null;
};

export function toGdprPerson(row: GdprPersonRow): GdprPerson {
  return {
    ordinal: row.ordinal, userId: row.user_id, deviceId: row.device_id, subject: row.subject, state: row.state,
    treatedAt: row.treated_at, round: row.round, message: row.message,
    // While one is being written there is a key, and nothing to be had under it.
    archive: row.archive_bytes === null ? null : { key: row.archive_key!, bytes: row.archive_bytes, sha256: row.archive_sha256! },
  };
}

