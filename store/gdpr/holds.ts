import type { HoldKind } from '../../domain/gdpr/gdpr-codes.ts';
import type { KeptValue } from '../../domain/gdpr/gdpr-receipt.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { namedIn, namesOf } from './named-in.ts';
import type { KnownBy } from './personal-data-location.ts';
import type { GdprPersonState } from './request-record.ts';
import { OF_ANY_APP } from './rows-of-people.ts';
import type { Person } from './tombstones.ts';

/** While it stands, nobody who is known by this id is deleted. */
export type GdprHold = Person &
  Row<'gdpr_holds', 'identifier' | 'kind' | 'reason' | 'createdAt'> & {
    /** Null once the account of whoever put it there is gone. */
    createdBy: { uid: string } | null;
  };

const HOLDS = `SELECT h.identifier, h.customer_type, h.customer_id, h.kind, h.reason, h.created_at,
    CASE WHEN u.uid IS NOT NULL THEN jsonb_build_object('uid', u.uid) END AS created_by
  FROM gdpr_holds h LEFT JOIN users u ON u.id = h.created_by`;

export type NewHold = Person & { kind: HoldKind; reason: string; createdBy: number };

/** Null: one of the kind stands for them already. */
export async function insertHold(
  tx: Tx,
  entityId: number,
  { customerType, customerId, kind, reason, createdBy }: NewHold,
): Promise<GdprHold | null> {
  const identifier = newIdentifier('hld');
  const { rowCount } = await tx.query(
    `INSERT INTO gdpr_holds (entity_id, identifier, customer_type, customer_id, kind, reason, created_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (entity_id, customer_id, customer_type, kind) DO NOTHING`,
    [entityId, identifier, customerType, customerId, kind, reason, createdBy],
  );
  return rowCount === 1 ? findHold(tx, entityId, identifier) : null;
}

async function findHold(db: Queryable, entityId: number, identifier: string): Promise<GdprHold | null> {
  return readRow<GdprHold>(
    await db.query(`${HOLDS} WHERE h.entity_id = $1 AND h.identifier = $2`, [entityId, identifier]),
  );
}

/** What was taken away; null: there is none of that name. */
export async function deleteHold(tx: Tx, entityId: number, identifier: string): Promise<GdprHold | null> {
  const hold = await findHold(tx, entityId, identifier);
  const { rowCount } = await tx.query('DELETE FROM gdpr_holds WHERE entity_id = $1 AND identifier = $2', [
    entityId,
    identifier,
  ]);
  return rowCount === 1 ? hold : null;
}

/** Oldest first; of one person alone, where there is one. */
export async function listHolds(
  db: Queryable,
  entityId: number,
  person: Person | null,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ total: number; holds: GdprHold[] }> {
  const wanted = [entityId, person?.customerType ?? null, person?.customerId ?? null];
  const where = 'WHERE h.entity_id = $1 AND ($2::text IS NULL OR (h.customer_type = $2 AND h.customer_id = $3))';
  const {
    rows: [counted],
  } = await db.query<{ total: number }>(`SELECT count(*) AS total FROM gdpr_holds h ${where}`, wanted);
  const holds = readRows<GdprHold>(
    await db.query(`${HOLDS} ${where} ORDER BY h.id OFFSET $4 LIMIT $5`, [...wanted, offset, limit]),
  );
  return { total: counted!.total, holds };
}

/** Those that stand for any of these people, oldest first. */
export async function listHoldsOf(
  db: Queryable,
  entityId: number,
  people: readonly { customerType: string; customerId: string }[],
): Promise<Omit<GdprHold, 'identifier' | 'createdBy'>[]> {
  // By the key of person and kind.
  return readRows(
    await db.query(
      `SELECT h.customer_type, h.customer_id, h.kind, h.reason, h.created_at FROM gdpr_holds h
     WHERE h.entity_id = $1 AND (h.customer_type, h.customer_id) IN (SELECT * FROM unnest($2::text[], $3::text[])) ORDER BY h.id`,
      [entityId, people.map(({ customerType }) => customerType), people.map(({ customerId }) => customerId)],
    ),
  );
}

/** How many holds a receipt lists. */
const MAX_LISTED = 200;

/**
 * Returns what a deletion of these people leaves in holds on others, for its request and receipt: those whose reason
 * names one.
 */
export async function listHoldsNaming(
  db: Queryable,
  entityId: number,
  people: readonly KnownBy[],
): Promise<KeptValue[]> {
  const { rows } = await db.query<Row<'gdpr_holds', 'identifier'>>(
    `SELECT identifier FROM gdpr_holds WHERE entity_id = $1 AND ${namedIn('reason')} ORDER BY id LIMIT ${MAX_LISTED}`,
    namesOf(entityId, people),
  );
  return rows.map(({ identifier: object }) => ({ place: 'gdpr_holds', object, on: 'reason', key: null, values: 1 }));
}

/** Ids of the people of a request: SQL that each question about holds is made of, so that all follow one rule. */

/** Selects `ordinal`, `kind` and `value` of the ids that were asked for or found in a request. Arguments are SQL. */
const ownIds = (entityId: string, requestId: string) => `
  SELECT o.ordinal, CASE WHEN o.user_id IS NULL THEN 'device_id' ELSE 'user_id' END AS kind, coalesce(o.user_id, o.device_id) AS value
  FROM gdpr_request_people o WHERE o.entity_id = ${entityId} AND o.request_id = ${requestId}
  UNION ALL SELECT o.ordinal, o.kind, o.value FROM gdpr_identifiers o WHERE o.entity_id = ${entityId} AND o.request_id = ${requestId}`;

/**
 * The same with the users of a device that asks for itself, since what they did there is erased with it: a hold on any
 * of these ids keeps the person of this ordinal.
 */
const holdableIds = (entityId: string, requestId: string) => `${ownIds(entityId, requestId)}
  UNION ALL SELECT o.ordinal, 'user_id', d.user_id
  FROM gdpr_request_people o JOIN gdpr_requests q ON q.entity_id = ${entityId} AND q.id = o.request_id AND q.source = 'sdk'
    JOIN device_users d ON d.entity_id = ${entityId} AND d.${OF_ANY_APP} AND d.device_id = o.device_id
  WHERE o.entity_id = ${entityId} AND o.request_id = ${requestId} AND o.user_id IS NULL`;

/** Lists the ordinals of those people of a request that a hold keeps, by any of their ids. */
export async function listOrdinalsOnHold(tx: Tx, entityId: number, requestId: number): Promise<number[]> {
  await tx.query(LOOK_UP_BY_KEY);
  // Holds are few.
  const { rows } = await tx.query<Row<'gdpr_request_people', 'ordinal'>>(
    `SELECT DISTINCT k.ordinal FROM (${holdableIds('$1', '$2')}) k
       JOIN gdpr_holds h ON h.entity_id = $1 AND h.customer_id = k.value AND h.customer_type = k.kind`,
    [entityId, requestId],
  );
  return rows.map(({ ordinal }) => ordinal);
}

export type OpenDeletion = Row<'gdpr_requests', 'identifier', { state: 'accepted' | 'running' }>;

/** Stage of a request that waited for a hold, from the release until its workflow looks again. */
export const HOLD_RELEASED = 'hold released';

/**
 * Notes in requests that one of their people is no longer on hold. The sweep tells their workflows, should the server
 * not come to it. `tx` releases the hold.
 */
export async function noteReleasedHold(tx: Tx, entityId: number, requests: readonly OpenDeletion[]): Promise<void> {
  await tx.query('UPDATE gdpr_requests SET stage = $3 WHERE entity_id = $1 AND identifier = ANY ($2)', [
    entityId,
    requests.map(({ identifier }) => identifier),
    HOLD_RELEASED,
  ]);
}

/**
 * States of people that count, and which ids of theirs: also of users whose data goes with a device, if holds are asked
 * about.
 */
type OpenPeople = { states: readonly GdprPersonState[]; ids: 'own' | 'holdable' };

/**
 * Lists and locks the open requests that delete any of these people, by an id that was asked for or found: those in
 * which such a person is in one of the states. None of them begins until the transaction ends. Leaves out requests that
 * were given up: once staff start one again, it raises its tombstones and looks for holds anew.
 */
export async function lockOpenDeletions(
  tx: Tx,
  entityId: number,
  people: readonly Person[],
  { states, ids }: OpenPeople,
): Promise<OpenDeletion[]> {
  const idsOf = ids === 'own' ? ownIds : holdableIds;
  // By the keys of people and identifiers, of the requests that are open.
  const { rows } = await tx.query<OpenDeletion>(
    `WITH asked AS (SELECT * FROM unnest($2::text[], $3::text[]) AS a (customer_type, customer_id))
     SELECT r.identifier, r.state FROM gdpr_requests r
     WHERE r.entity_id = $1 AND r.request_type = 'delete' AND r.state IN ('accepted', 'running')
       AND r.given_up_at IS NULL AND EXISTS (
       SELECT FROM (${idsOf('r.entity_id', 'r.id')}) k
         JOIN gdpr_request_people p ON p.entity_id = r.entity_id AND p.request_id = r.id AND p.ordinal = k.ordinal
       WHERE p.state = ANY ($4) AND (k.kind, k.value) IN (SELECT * FROM asked))
     ORDER BY r.id FOR SHARE OF r`,
    [entityId, people.map(({ customerType }) => customerType), people.map(({ customerId }) => customerId), states],
  );
  return rows;
}

export type WaitingPerson = { ordinal: number; kind: 'hold' | 'restriction'; reason: string; since: Date };

/** What the held people of a request are waiting for: of each the hold that has stood longest, if one still does. */
export async function listWaitingPeople(db: Queryable, entityId: number, requestId: number): Promise<WaitingPerson[]> {
  // By the keys of people and identifiers, all of the request; holds are few.
  const rows = readRows<
    Row<'gdpr_request_people', 'ordinal'> & Row<'gdpr_holds', 'reason' | 'createdAt'> & { kind: WaitingPerson['kind'] }
  >(
    await db.query(
      `SELECT DISTINCT ON (held.ordinal) held.ordinal, h.kind, h.reason, h.created_at
     FROM gdpr_request_people held JOIN (${holdableIds('$1', '$2')}) k USING (ordinal)
       JOIN gdpr_holds h ON h.entity_id = $1 AND h.customer_id = k.value AND h.customer_type = k.kind
     WHERE held.entity_id = $1 AND held.request_id = $2 AND held.state = 'held'
     ORDER BY held.ordinal, h.id`,
      [entityId, requestId],
    ),
  );
  return rows.map(({ ordinal, kind, reason, createdAt: since }) => ({ ordinal, kind, reason, since }));
}
