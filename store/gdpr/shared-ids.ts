/** Ids that people of a request share with others: which are left alone, and which get tombstones. */
import type { CustomerType } from '../../domain/attributes/customer-id.ts';
import type { LeftReason } from '../../domain/gdpr/gdpr-codes.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { OF_ANY_APP } from './rows-of-people.ts';
import type { Person } from './tombstones.ts';

/** A condition: the alias counts. Staff confirmed it, or the only device with the earlier id said so. */
export const COUNTS = (alias: string) =>
  `(${alias}.decision = 'confirmed' OR ${alias}.decision IS NULL AND ${alias}.witnessed)`;

/** A condition: a custom or global System of Records knows the earlier id of the alias `u`. */
export const IS_CUSTOMER = `EXISTS (
  SELECT FROM systems_of_records s CROSS JOIN LATERAL (
    SELECT FROM attribute_values v
    WHERE v.entity_id = $1 AND v.sor_id = s.id AND v.customer_id = u.previous_id AND v.customer_type = 0 LIMIT 1) AS known
  WHERE s.entity_id = $1 AND s.type <> 'app' AND s.deleted_at IS NULL)`;

/** Returns which devices another person uses, except people of the request who are erased or held together. */
export async function listShared<T extends FoundId>(
  tx: Queryable,
  entityId: number,
  requestId: number,
  given: readonly T[],
): Promise<Set<T>> {
  const devices = await withoutWhole(tx, entityId, requestId, given);
  if (devices.length === 0) return new Set();
  const uses = readRows<Row<'device_users', 'deviceId' | 'userId'>>(
    await tx.query(
      `SELECT DISTINCT device_id, user_id FROM device_users WHERE entity_id = $1 AND ${OF_ANY_APP} AND device_id = ANY ($2)`,
      [entityId, devices.map(({ value }) => value)],
    ),
  );
  const { rows: users } = await tx.query<FoundId>(
    `SELECT value, ordinal FROM gdpr_identifiers WHERE entity_id = $1 AND request_id = $2 AND kind = 'user_id' AND value = ANY ($3)`,
    [entityId, requestId, uses.map(({ userId }) => userId)],
  );
  const people = readRows<Row<'gdpr_request_people', 'ordinal'> & { isHeld: boolean }>(
    await tx.query(
      `SELECT ordinal, state = 'held' AS is_held FROM gdpr_request_people
     WHERE entity_id = $1 AND request_id = $2 AND ordinal = ANY ($3)`,
      [entityId, requestId, [...users, ...devices].map(({ ordinal }) => ordinal)],
    ),
  );
  const isHeld = new Map(people.map((person) => [person.ordinal, person.isHeld]));
  const heldOf = new Map(users.map(({ value, ordinal }) => [value, isHeld.get(ordinal)]));
  const usersOf = Map.groupBy(uses, ({ deviceId }) => deviceId);
  return new Set(
    devices.filter(({ value, ordinal }) =>
      (usersOf.get(value) ?? []).some(({ userId }) => heldOf.get(userId) !== isHeld.get(ordinal)),
    ),
  );
}

/** Returns the devices that did not ask for themselves: those are covered whichever users they had. */
async function withoutWhole<T extends FoundId>(
  tx: Queryable,
  entityId: number,
  requestId: number,
  devices: readonly T[],
): Promise<readonly T[]> {
  if (devices.length === 0) return devices;
  const { rows } = await tx.query<Row<'gdpr_identifiers', 'value'>>(
    `SELECT value FROM gdpr_identifiers WHERE entity_id = $1 AND request_id = $2 AND kind = 'whole_device' AND value = ANY ($3)`,
    [entityId, requestId, devices.map(({ value }) => value)],
  );
  const whole = new Set(rows.map(({ value }) => value));
  return whole.size === 0 ? devices : devices.filter(({ value }) => !whole.has(value));
}

/** Lists the ids that get tombstones: those of people who are not on hold, without devices that others use by now. */
export async function listIdsToRaise(db: Queryable, entityId: number, requestId: number): Promise<Person[]> {
  const { rows: people } = await db.query<Row<'gdpr_request_people', 'ordinal'>>(
    `SELECT ordinal FROM gdpr_request_people WHERE entity_id = $1 AND request_id = $2 AND state = 'pending'`,
    [entityId, requestId],
  );
  const going = new Set(people.map(({ ordinal }) => ordinal));
  const { rows: all } = await db.query<FoundId & { kind: CustomerType }>(
    `SELECT kind, value, ordinal FROM gdpr_identifiers
     WHERE entity_id = $1 AND request_id = $2 AND kind IN ('user_id', 'device_id')`,
    [entityId, requestId],
  );
  const rows = all.filter(({ ordinal }) => going.has(ordinal));
  const shared = await listShared(
    db,
    entityId,
    requestId,
    rows.filter(({ kind }) => kind === 'device_id'),
  );
  return rows
    .filter((found) => !shared.has(found))
    .map(({ kind, value }) => ({ customerType: kind, customerId: value }));
}

export type FoundId = Row<'gdpr_identifiers', 'ordinal'> & { value: string };

export type LinkedId = FoundId & { via: string };

type Some = { entityId: number; requestId: number; ordinals: number[] };

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

export type LeftHash = { ordinal: number; kind: CustomerType; subject: string; reason: LeftReason };

/** Lists ids left alone by their hashes, and forgets the ids that led to them: their people are erased. */
export async function takeLeftHashes(tx: Tx, secrets: Secrets, some: Some): Promise<LeftHash[]> {
  const { entityId, requestId, ordinals } = some;
  const { rows } = await tx.query<Row<'gdpr_left_identifiers', 'ordinal' | 'kind' | 'value' | 'reason'>>(
    `SELECT ordinal, kind, value, reason FROM gdpr_left_identifiers
     WHERE entity_id = $1 AND request_id = $2 AND ordinal = ANY ($3) ORDER BY ordinal, kind, value`,
    [entityId, requestId, ordinals],
  );
  await forgetVia(tx, some);
  return rows.map(({ ordinal, kind, value, reason }) => ({
    ordinal,
    kind,
    subject: secrets.customerHash(entityId, kind, value).toString('hex'),
    reason,
  }));
}

async function forgetVia(tx: Tx, { entityId, requestId, ordinals }: Some): Promise<void> {
  await tx.query(
    'UPDATE gdpr_left_identifiers SET via = NULL WHERE entity_id = $1 AND request_id = $2 AND ordinal = ANY ($3)',
    [entityId, requestId, ordinals],
  );
}
