import type { CustomerType } from '../../domain/attributes/customer-id.ts';
import type { LeftReason } from '../../domain/gdpr/gdpr-codes.ts';
import type { Queryable, Tx } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';

/** An id, and the ordinal of its person in the request. */
export type FoundId = { ordinal: number; value: string };

/** The same with the id that leads to it. */
export type LinkedId = FoundId & { via: string };

type Some = { entityId: number; requestId: number; ordinals: number[] };

/** Before gathering again. It stays for people whose erasure has begun. */
export async function deleteLeft(tx: Tx, { entityId, requestId, ordinals }: Some): Promise<void> {
  await tx.query(
    `DELETE FROM gdpr_left_identifiers l USING gdpr_request_people p
     WHERE p.entity_id = $1 AND p.request_id = $2 AND p.ordinal = ANY ($3) AND p.round IS NULL
       AND l.entity_id = $1 AND l.request_id = $2 AND l.ordinal = p.ordinal`,
    [entityId, requestId, ordinals],
  );
}

/** What was left alone on one way, and followed on another. */
export async function deleteFollowed(tx: Tx, { entityId, requestId, ordinals }: Some): Promise<void> {
  await tx.query(
    `DELETE FROM gdpr_left_identifiers l USING gdpr_identifiers i
     WHERE l.entity_id = $1 AND l.request_id = $2 AND l.ordinal = ANY ($3)
       AND i.entity_id = $1 AND i.request_id = $2 AND i.kind = l.kind AND i.value = l.value`,
    [entityId, requestId, ordinals],
  );
}

export async function insertLeftDevices(
  tx: Tx,
  { entityId, requestId }: Pick<Some, 'entityId' | 'requestId'>,
  devices: readonly LinkedId[],
  reason: LeftReason,
): Promise<void> {
  if (devices.length === 0) return;
  await tx.query(
    `INSERT INTO gdpr_left_identifiers (entity_id, request_id, ordinal, kind, value, via, reason)
     SELECT $1, $2, ordinal, 'device_id', value, via, $6 FROM unnest($3::text[], $4::integer[], $5::text[]) AS g (value, ordinal, via)
     ORDER BY ordinal, value COLLATE "C" ON CONFLICT DO NOTHING`,
    [
      entityId,
      requestId,
      devices.map(({ value }) => value),
      devices.map(({ ordinal }) => ordinal),
      devices.map(({ via }) => via),
      reason,
    ],
  );
}

/** What was left alone of some people, as a receipt tells it: keyed hashes. */
export type LeftHash = { ordinal: number; kind: CustomerType; subject: string; reason: LeftReason };

export async function listLeftHashes(
  db: Queryable,
  secrets: Secrets,
  { entityId, requestId, ordinals }: Some,
): Promise<LeftHash[]> {
  const { rows } = await db.query<{ ordinal: number; kind: CustomerType; value: string; reason: LeftReason }>(
    `SELECT ordinal, kind, value, reason FROM gdpr_left_identifiers
     WHERE entity_id = $1 AND request_id = $2 AND ordinal = ANY ($3) ORDER BY ordinal, kind, value`,
    [entityId, requestId, ordinals],
  );
  return rows.map(({ ordinal, kind, value, reason }) => ({
    ordinal,
    kind,
    subject: secrets.customerHash(entityId, kind, value).toString('hex'),
    reason,
  }));
}

/** The ids that led there are forgotten with the people whose they are. */
export async function forgetVia(tx: Tx, { entityId, requestId, ordinals }: Some): Promise<void> {
  await tx.query(
    'UPDATE gdpr_left_identifiers SET via = NULL WHERE entity_id = $1 AND request_id = $2 AND ordinal = ANY ($3)',
    [entityId, requestId, ordinals],
  );
}
