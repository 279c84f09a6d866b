/** Holds, which keep people from being erased: set, released, and applied to requests. */
import type { HoldKind } from '../../domain/gdpr/gdpr-codes.ts';
import type { JobKey } from '../../domain/jobs/job.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { touchRequest } from './progress.ts';
import { type GdprPersonState, HOLD_RELEASED } from './request-record.ts';
import { OF_ANY_APP } from './rows-of-people.ts';
import type { Person } from './tombstones.ts';
import { COUNTS, insertLeftDevices, IS_CUSTOMER, type LinkedId, listShared } from './shared-ids.ts';

/** A hold: while it stands, no person with this id is deleted. */
export type GdprHold = Person &
  Row<'gdpr_holds', 'identifier' | 'kind' | 'reason' | 'createdAt'> & {
    /** Null once the account of the user who set it is deleted. */
    createdBy: { uid: string } | null;
  };

const HOLDS = `SELECT h.identifier, h.customer_type, h.customer_id, h.kind, h.reason, h.created_at,
    CASE WHEN u.uid IS NOT NULL THEN jsonb_build_object('uid', u.uid) END AS created_by
  FROM gdpr_holds h LEFT JOIN users u ON u.id = h.created_by`;

export type NewHold = Person & { kind: HoldKind; reason: string; createdBy: number };

/** Returns null if the person has a hold of this kind. */
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

export async function deleteHold(tx: Tx, entityId: number, identifier: string): Promise<GdprHold | null> {
  const hold = await findHold(tx, entityId, identifier);
  const { rowCount } = await tx.query('DELETE FROM gdpr_holds WHERE entity_id = $1 AND identifier = $2', [
    entityId,
    identifier,
  ]);
  return rowCount === 1 ? hold : null;
}

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

export async function listHoldsOf(
  db: Queryable,
  entityId: number,
  people: readonly { customerType: string; customerId: string }[],
): Promise<Omit<GdprHold, 'identifier' | 'createdBy'>[]> {
  // Uses the key of person and kind.
  return readRows(
    await db.query(
      `SELECT h.customer_type, h.customer_id, h.kind, h.reason, h.created_at FROM gdpr_holds h
     WHERE h.entity_id = $1 AND (h.customer_type, h.customer_id) IN (SELECT * FROM unnest($2::text[], $3::text[])) ORDER BY h.id`,
      [entityId, people.map(({ customerType }) => customerType), people.map(({ customerId }) => customerId)],
    ),
  );
}

/** Selects `ordinal`, `kind` and `value` of the ids that a request names or found. Arguments are SQL. */
const ownIds = (entityId: string, requestId: string) => `
  SELECT o.ordinal, CASE WHEN o.user_id IS NULL THEN 'device_id' ELSE 'user_id' END AS kind, coalesce(o.user_id, o.device_id) AS value
  FROM gdpr_request_people o WHERE o.entity_id = ${entityId} AND o.request_id = ${requestId}
  UNION ALL SELECT o.ordinal, o.kind, o.value FROM gdpr_identifiers o WHERE o.entity_id = ${entityId} AND o.request_id = ${requestId}`;

/** Selects these, and the users of a device that asks for itself, since their data on it is erased as well. */
const holdableIds = (entityId: string, requestId: string) => `${ownIds(entityId, requestId)}
  UNION ALL SELECT o.ordinal, 'user_id', d.user_id
  FROM gdpr_request_people o JOIN gdpr_requests q ON q.entity_id = ${entityId} AND q.id = o.request_id AND q.source = 'sdk'
    JOIN device_users d ON d.entity_id = ${entityId} AND d.${OF_ANY_APP} AND d.device_id = o.device_id
  WHERE o.entity_id = ${entityId} AND o.request_id = ${requestId} AND o.user_id IS NULL`;

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

/** Marks requests that waited for a hold as released: the sweep signals their workflows if the server cannot. */
export async function noteReleasedHold(tx: Tx, entityId: number, requests: readonly OpenDeletion[]): Promise<void> {
  await tx.query('UPDATE gdpr_requests SET stage = $3 WHERE entity_id = $1 AND identifier = ANY ($2)', [
    entityId,
    requests.map(({ identifier }) => identifier),
    HOLD_RELEASED,
  ]);
}

/** Which people count, by state, and which of their ids: `holdable` includes users whose data goes with a device. */
type OpenPeople = { states: readonly GdprPersonState[]; ids: 'own' | 'holdable' };

/**
 * Locks and lists open requests that delete any of these people, if the person is in one of the states. None begins
 * until the transaction ends. Leaves out requests that were given up: they apply holds anew.
 */
export async function lockOpenDeletions(
  tx: Tx,
  entityId: number,
  people: readonly Person[],
  { states, ids }: OpenPeople,
): Promise<OpenDeletion[]> {
  const idsOf = ids === 'own' ? ownIds : holdableIds;
  // Uses the keys of people and identifiers of open requests.
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

/** Lists, for the held people of a request, the oldest hold that keeps each of them. */
export async function listWaitingPeople(db: Queryable, entityId: number, requestId: number): Promise<WaitingPerson[]> {
  // Uses the keys of the request's people and identifiers; holds are few.
  return readRows<WaitingPerson>(
    await db.query(
      `SELECT DISTINCT ON (held.ordinal) held.ordinal, h.kind, h.reason, h.created_at AS since
     FROM gdpr_request_people held JOIN (${holdableIds('$1', '$2')}) k USING (ordinal)
       JOIN gdpr_holds h ON h.entity_id = $1 AND h.customer_id = k.value AND h.customer_type = k.kind
     WHERE held.entity_id = $1 AND held.request_id = $2 AND held.state = 'held'
     ORDER BY held.ordinal, h.id`,
      [entityId, requestId],
    ),
  );
}

export type Counted = { going: number; held: number };

/**
 * Applies holds, and drops devices that held and erased people share, or others use by now. `tx` holds the request.
 * `refused`: devices with a tombstone of this request, which stay until it is removed; then they are `letIn`.
 */
export async function applyHolds(
  tx: Tx,
  key: JobKey,
  letIn: ReadonlySet<string>,
): Promise<Counted & { refused: Person[] }> {
  const counted = await updateHeld(tx, key, await findHeld(tx, key));
  return { ...counted, refused: await deleteSharedDevices(tx, key.entityId, key.jobId, letIn) };
}

/** Lists the ordinals of people with an id on hold, and of all who are linked to one of these. */
async function findHeld(tx: Tx, { entityId, jobId }: JobKey): Promise<number[]> {
  const held = new Set(await listOrdinalsOnHold(tx, entityId, jobId));
  if (held.size === 0) return [];
  const links = await listLinkedPeople(tx, entityId, jobId);
  for (let size = 0; size !== held.size;) {
    size = held.size;
    for (const pair of links)
      if (pair.some((ordinal) => held.has(ordinal))) for (const ordinal of pair) held.add(ordinal);
  }
  return [...held];
}

/** Lists pairs of ordinals of people who are linked: by an alias that is followed, or by the same requested id. */
async function listLinkedPeople(tx: Tx, entityId: number, requestId: number): Promise<[number, number][]> {
  await tx.query(LOOK_UP_BY_KEY);
  const { rows } = await tx.query<{ one: number; other: number }>(
    `SELECT DISTINCT a.ordinal AS one, b.ordinal AS other FROM gdpr_identifiers a
       JOIN user_aliases u ON u.entity_id = $1 AND u.previous_id = a.value AND ${COUNTS('u')}
         AND (u.decision = 'confirmed' OR NOT ${IS_CUSTOMER})
       JOIN gdpr_identifiers b ON b.entity_id = $1 AND b.request_id = $2 AND b.kind = 'user_id' AND b.value = u.user_id
     WHERE a.entity_id = $1 AND a.request_id = $2 AND a.kind = 'user_id' AND a.ordinal <> b.ordinal
     UNION SELECT p.ordinal, i.ordinal FROM gdpr_request_people p
       JOIN gdpr_identifiers i ON i.entity_id = $1 AND i.request_id = $2 AND i.ordinal <> p.ordinal
         AND (i.kind, i.value) = (CASE WHEN p.user_id IS NULL THEN 'device_id' ELSE 'user_id' END, coalesce(p.user_id, p.device_id))
     WHERE p.entity_id = $1 AND p.request_id = $2`,
    [entityId, requestId],
  );
  return rows.map(({ one, other }) => [one, other]);
}

/** Marks people as held or pending, unless their erasure has begun, and counts both. `tx` holds the request. */
async function updateHeld(
  tx: Tx,
  { entityId, jobId: id }: JobKey,
  held: readonly number[],
): Promise<{ going: number; held: number }> {
  const { rowCount: changed } = await tx.query(
    `UPDATE gdpr_request_people SET state = CASE WHEN ordinal = ANY ($3) THEN 'held' ELSE 'pending' END
     WHERE entity_id = $1 AND request_id = $2 AND round IS NULL AND state IN ('pending', 'held')
       AND state <> CASE WHEN ordinal = ANY ($3) THEN 'held' ELSE 'pending' END`,
    [entityId, id, held],
  );
  if (changed! > 0) await touchRequest(tx, { entityId, jobId: id });
  const {
    rows: [counted],
  } = await tx.query<{ going: number; held: number }>(
    `SELECT count(*) FILTER (WHERE state = 'pending') AS going, count(*) FILTER (WHERE state = 'held') AS held
     FROM gdpr_request_people WHERE entity_id = $1 AND request_id = $2`,
    [entityId, id],
  );
  return counted!;
}

/**
 * Drops devices and their tokens that others use by now, or that held and erased people share. Returns devices with a
 * tombstone of this request, which stay until it is removed; then they are `letIn`.
 */
async function deleteSharedDevices(
  tx: Tx,
  entityId: number,
  requestId: number,
  letIn: ReadonlySet<string>,
): Promise<Person[]> {
  await tx.query(LOOK_UP_BY_KEY);
  const { rows: people } = await tx.query<Row<'gdpr_request_people', 'ordinal'>>(
    'SELECT ordinal FROM gdpr_request_people WHERE entity_id = $1 AND request_id = $2 AND round IS NULL',
    [entityId, requestId],
  );
  const whole = new Set(people.map(({ ordinal }) => ordinal));
  const { rows: devices } = await tx.query<LinkedId & { origin: string; raised: boolean }>(
    `SELECT value, ordinal, via, origin, raised FROM gdpr_identifiers
     WHERE entity_id = $1 AND request_id = $2 AND kind = 'device_id'`,
    [entityId, requestId],
  );
  const rows = devices.filter(({ ordinal }) => whole.has(ordinal));
  const shared = await listShared(tx, entityId, requestId, rows);
  const refused = rows.filter((found) => shared.has(found) && found.raised && !letIn.has(found.value));
  const gone = rows.filter((found) => shared.has(found) && found.origin === 'device' && !refused.includes(found));
  if (gone.length > 0)
    await deleteDevices(
      tx,
      entityId,
      requestId,
      gone.map(({ value }) => value),
    );
  await insertLeftDevices(tx, { entityId, requestId }, gone, 'shared');
  return refused.map(({ value }) => ({ customerType: 'device_id', customerId: value }));
}

async function deleteDevices(tx: Tx, entityId: number, requestId: number, devices: string[]): Promise<void> {
  await tx.query(
    `DELETE FROM gdpr_identifiers t USING devices d
     WHERE d.entity_id = $1 AND d.${OF_ANY_APP} AND d.device_id = ANY ($3)
       AND t.entity_id = $1 AND t.request_id = $2 AND t.kind = 'push_token' AND t.value = d.push_token`,
    [entityId, requestId, devices],
  );
  await tx.query(
    `DELETE FROM gdpr_identifiers WHERE entity_id = $1 AND request_id = $2 AND kind = 'device_id' AND value = ANY ($3)`,
    [entityId, requestId, devices],
  );
}
