/** Tombstones: keyed hashes of erased people. Returns who of some people is erased. */
import type { CustomerType } from '../../domain/attributes/customer-id.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { inSlices } from '../core/yield-to-event-loop.ts';

export type Person = { customerType: CustomerType; customerId: string };

/** Returns whether the entity ever erased a person: all others skip the look-up of tombstones. */
export async function hasErased(tx: Queryable, entityId: number): Promise<boolean> {
  const { rows } = await tx.query('SELECT FROM tombstones WHERE entity_id = $1 LIMIT 1', [entityId]);
  return rows.length > 0;
}

/** Returns the erased of these people, as `personKey` → keyed hash. Calls `people` only if there may be some. */
export async function findErased(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  people: () => Iterable<Person>,
): Promise<Map<string, Buffer>> {
  return (await hasErased(tx, entityId)) ? listErased(tx, secrets, entityId, people()) : new Map<string, Buffer>();
}

/** Returns a device and its users as people; null is none. */
export function peopleOfDevice(deviceId: string | null, userIds: readonly (string | null)[]): Person[] {
  const users = [...new Set(userIds)].filter((id) => id !== null);
  return [
    ...users.map((customerId): Person => ({ customerType: 'user_id', customerId })),
    ...(deviceId === null ? [] : [{ customerType: 'device_id' as const, customerId: deviceId }]),
  ];
}

export async function listErased(
  tx: Queryable,
  secrets: Secrets,
  entityId: number,
  people: Iterable<Person>,
): Promise<Map<string, Buffer>> {
  const distinct = new Map<string, Person>();
  const keysByHash = new Map<string, string>();
  await inSlices(people, (person) => {
    distinct.set(personKey(person), person);
  });
  await inSlices(distinct, ([key, { customerType, customerId }]) => {
    keysByHash.set(secrets.customerHash(entityId, customerType, customerId).toString('hex'), key);
  });
  const rows = readRows<Row<'tombstones', 'customerHash'>>(
    await tx.query(
      `SELECT customer_hash FROM tombstones
     WHERE entity_id = $1 AND customer_hash = ANY (SELECT decode(h, 'hex') FROM unnest($2::text[]) AS h)`,
      [entityId, [...keysByHash.keys()]],
    ),
  );
  return new Map(rows.map(({ customerHash: hash }) => [keysByHash.get(hash.toString('hex'))!, hash]));
}

export function personKey({ customerType, customerId }: Person): string {
  return `${customerType}/${customerId}`;
}

/** Inserts tombstones, and returns the new ones: from the commit on, no merge brings these people back. */
export async function insertTombstone(tx: Queryable, entityId: number, ...customerHashes: Buffer[]): Promise<Buffer[]> {
  const rows = readRows<Row<'tombstones', 'customerHash'>>(
    await tx.query(
      `INSERT INTO tombstones (entity_id, customer_hash) SELECT $1, unnest($2::bytea[]) ON CONFLICT DO NOTHING RETURNING customer_hash`,
      [entityId, customerHashes],
    ),
  );
  return rows.map(({ customerHash: hash }) => hash);
}

/** Returns when the last of these tombstones was raised; null if none stands. */
export async function findRaisedAt(db: Queryable, entityId: number, hashes: readonly Buffer[]): Promise<Date | null> {
  const { rows } = await db.query<{ at: Date | null }>(
    'SELECT max(raised_at) AS at FROM tombstones WHERE entity_id = $1 AND customer_hash = ANY ($2::bytea[])',
    [entityId, hashes],
  );
  return rows[0]!.at;
}
