import type { Queryable } from '../core/database.ts';
import type { GdprRequest } from './request-record.ts';

/** A moment that the database tells: what is compared with the beginnings of its transactions. */
export async function findNow(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  return rows[0]!.now;
}

/** Who asked, as they are known outside: a user's uid or a service token's identifier; null where neither is left. */
export async function findRequesterName(
  db: Queryable,
  { entityId, requester: { kind, id } }: Pick<GdprRequest, 'entityId' | 'requester'>,
): Promise<string | null> {
  if (kind !== 'user' && kind !== 'service_token') return null;
  const { rows } = await db.query<{ name: string }>(
    kind === 'user'
      ? `SELECT u.uid AS name FROM users u WHERE u.id = $2 AND $1::integer IS NOT NULL`
      : 'SELECT identifier AS name FROM service_tokens WHERE entity_id = $1 AND id = $2',
    [entityId, id],
  );
  return rows[0]?.name ?? null;
}
