/** The ids of a request's people: collected from aliases, devices and push tokens, and listed. */
import type { ORIGINS } from '../../domain/gdpr/gdpr-codes.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, type Queryable, type Tx, write } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import type { Secrets } from '../core/secrets.ts';
import { COUNTS, type FoundId, insertLeftDevices, IS_CUSTOMER, type LinkedId, listShared } from './shared-ids.ts';
import type { KnownBy } from './personal-data-location.ts';
import { OF_ANY_APP } from './rows-of-people.ts';
import type { JobKey } from '../../domain/jobs/job.ts';
import type { GdprPerson } from './request-record.ts';

/** Maximum number of ids of a kind that are followed for one person, earliest first: claims may link any number. */
const MAX_IDS_OF_A_PERSON = 1_000;
/** How many people a transaction collects for, and how many ids a statement follows. */
const PEOPLE_AT_ONCE = 100;

/** An id of a person, whose ordinal it has. */
export type GdprIdentifier = KnownBy & { ordinal: number; origin: (typeof ORIGINS)[number] };

/**
 * Collects the ids of people who are not treated: requested and earlier ids, their own devices, and these devices' push
 * tokens. Keeps what was collected before. Stores claims that it does not follow as left alone.
 */
export async function collectIdentifiers(
  db: Database,
  entityId: number,
  requestId: number,
): Promise<{ added: number }> {
  const ordinals = await listOpenPeople(db, entityId, requestId);
  let added = 0;
  for (const stage of STAGES) {
    for (let from = 0; from < ordinals.length; from += PEOPLE_AT_ONCE) {
      const some = { entityId, requestId, ordinals: ordinals.slice(from, from + PEOPLE_AT_ONCE) };
      added += await write(db, (tx) => stage(tx, some), { settings: LOOK_UP_BY_KEY });
    }
  }
  return { added };
}

/** Rolls back the transaction of a preview. */
class Looked extends Error {
  override readonly name = 'Looked';
}

/** Returns what `look` finds once a request has collected its ids, or a waiting one would have. Rolls back. */
export async function previewIdentifiers<T>(
  db: Database,
  entityId: number,
  find: (tx: Tx) => Promise<number>,
  look: (tx: Tx, requestId: number) => Promise<T>,
): Promise<T> {
  let found: T | undefined;
  try {
    await write(db, async (tx) => {
      const requestId = await find(tx);
      await tx.query(LOOK_UP_BY_KEY);
      const ordinals = await listOpenPeople(tx, entityId, requestId);
      for (const stage of STAGES) await stage(tx, { entityId, requestId, ordinals });
      found = await look(tx, requestId);
      throw new Looked();
    });
  } catch (error) {
    if (!(error instanceof Looked)) throw error;
  }
  return found!;
}

async function listOpenPeople(db: Queryable, entityId: number, requestId: number): Promise<number[]> {
  const { rows } = await db.query<Row<'gdpr_request_people', 'ordinal'>>(
    `SELECT ordinal FROM gdpr_request_people WHERE entity_id = $1 AND request_id = $2 AND state <> 'treated' ORDER BY ordinal`,
    [entityId, requestId],
  );
  return rows.map(({ ordinal }) => ordinal);
}

export async function listIdentifiers(db: Queryable, entityId: number, requestId: number): Promise<GdprIdentifier[]> {
  const { rows } = await db.query<Row<'gdpr_identifiers', 'ordinal' | 'kind' | 'value' | 'origin'>>(
    `SELECT ordinal, kind, value, origin FROM gdpr_identifiers WHERE entity_id = $1 AND request_id = $2 ORDER BY ordinal, kind DESC, value`,
    [entityId, requestId],
  );
  return rows.map(({ ordinal, kind, value, origin }) => ({ ordinal, ...knownByOf({ kind, value, origin }), origin }));
}

/**
 * Lists the ids of one person, without devices that another person of the request uses: rows without a user on these
 * may be the other's. An id that belongs to two people of the request leads to the ids of both.
 */
export async function listIdentifiersOf(
  db: Queryable,
  { entityId, jobId }: JobKey,
  { userId, deviceId }: GdprPerson,
): Promise<KnownBy[]> {
  const { rows } = await db.query<CollectedId>(
    `WITH theirs AS MATERIALIZED (
       SELECT i.* FROM gdpr_identifiers i WHERE i.entity_id = $1 AND i.request_id = $2 AND i.ordinal = (
         SELECT ordinal FROM gdpr_identifiers WHERE entity_id = $1 AND request_id = $2 AND kind = $3 AND value = $4)),
     shared AS MATERIALIZED (
       SELECT DISTINCT t.value FROM theirs t JOIN device_users u ON u.entity_id = $1 AND u.device_id = t.value
         AND u.${OF_ANY_APP}
       WHERE t.kind = 'device_id' AND t.origin = 'device'
         AND NOT EXISTS (SELECT FROM theirs k WHERE k.kind = 'user_id' AND k.value = u.user_id))
     SELECT kind, value, origin FROM theirs t
     WHERE CASE kind WHEN 'device_id' THEN value NOT IN (SELECT value FROM shared)
       WHEN 'push_token' THEN NOT EXISTS (
         SELECT FROM shared s JOIN devices d ON d.entity_id = $1 AND d.device_id = s.value AND d.push_token = t.value
           AND d.${OF_ANY_APP})
       ELSE true END
     ORDER BY kind DESC, value`,
    [entityId, jobId, userId === null ? 'device_id' : 'user_id', userId ?? deviceId],
  );
  return rows.map(knownByOf);
}

type CollectedId = Row<'gdpr_identifiers', 'kind' | 'value' | 'origin'>;

/** Returns the id as locations take it. An alias that staff have not confirmed is an SDK's claim. */
function knownByOf({ kind, value, origin }: CollectedId): KnownBy {
  return { customerType: kind, customerId: value, ...(origin === 'alias' && { isClaimed: true }) };
}

export async function updateSubjects(
  db: Database,
  secrets: Secrets,
  entityId: number,
  requestId: number,
): Promise<void> {
  const rows = readRows<Row<'gdpr_request_people', 'ordinal' | 'userId' | 'deviceId'>>(
    await db.query(
      `SELECT ordinal, user_id, device_id FROM gdpr_request_people
     WHERE entity_id = $1 AND request_id = $2 AND subject IS NULL AND coalesce(user_id, device_id) IS NOT NULL`,
      [entityId, requestId],
    ),
  );
  const hashes = rows.map(({ userId, deviceId }) =>
    userId === null
      ? secrets.customerHash(entityId, 'device_id', deviceId!)
      : secrets.customerHash(entityId, 'user_id', userId),
  );
  await write(db, (tx) =>
    tx.query(
      `UPDATE gdpr_request_people p SET subject = decode(given.hash, 'hex')
     FROM unnest($3::integer[], $4::text[]) AS given (ordinal, hash)
     WHERE p.entity_id = $1 AND p.request_id = $2 AND p.ordinal = given.ordinal`,
      [entityId, requestId, rows.map(({ ordinal }) => ordinal), hashes.map((hash) => hash.toString('hex'))],
    ),
  );
}

type Some = { entityId: number; requestId: number; ordinals: number[] };

const STAGES = [collectUserIds, collectDevices, collectTokens];

/** Follows aliases until no new id is found. An id of a person stays with that person. */
async function collectUserIds(tx: Tx, some: Some): Promise<number> {
  await deleteLeft(tx, some);
  let added = await insertAsked(tx, some);
  for (let met: FoundId[] = await listKnown(tx, some, 'user_id'); met.length > 0;) {
    const next: FoundId[] = [];
    for (let from = 0; from < met.length; from += PEOPLE_AT_ONCE) {
      next.push(...(await insertAliases(tx, some, met.slice(from, from + PEOPLE_AT_ONCE))));
    }
    added += next.length;
    met = next;
  }
  return added;
}

/** Deletes what was left alone, before ids are collected again; not for people whose erasure has begun. */
async function deleteLeft(tx: Tx, { entityId, requestId, ordinals }: Some): Promise<void> {
  await tx.query(
    `DELETE FROM gdpr_left_identifiers l USING gdpr_request_people p
     WHERE p.entity_id = $1 AND p.request_id = $2 AND p.ordinal = ANY ($3) AND p.round IS NULL
       AND l.entity_id = $1 AND l.request_id = $2 AND l.ordinal = p.ordinal`,
    [entityId, requestId, ordinals],
  );
}

/** Inserts requested ids. A device's own request covers only what the device has sent. */
async function insertAsked(tx: Tx, { entityId, requestId, ordinals }: Some): Promise<number> {
  const { rowCount } = await tx.query(
    `INSERT INTO gdpr_identifiers (entity_id, request_id, kind, value, ordinal, origin)
     SELECT $1, $2, asked.kind, coalesce(p.user_id, p.device_id), p.ordinal, 'asked'
     FROM gdpr_request_people p JOIN gdpr_requests r ON r.entity_id = $1 AND r.id = p.request_id
       CROSS JOIN LATERAL unnest(CASE WHEN p.user_id IS NOT NULL THEN ARRAY['user_id']
         WHEN r.source = 'sdk' THEN ARRAY['device_id', 'whole_device'] ELSE ARRAY['device_id'] END) AS asked (kind)
     WHERE p.entity_id = $1 AND p.request_id = $2 AND p.ordinal = ANY ($3) AND coalesce(p.user_id, p.device_id) IS NOT NULL
     ORDER BY p.ordinal ON CONFLICT DO NOTHING`,
    [entityId, requestId, ordinals],
  );
  return rowCount!;
}

/**
 * A condition: several users came from the id of alias `u`. It counts as one person's only if all these users are in
 * the request, and are one person if the request is for access.
 */
const IS_EVERYBODYS = `EXISTS (
  SELECT FROM user_aliases o WHERE o.entity_id = $1 AND o.previous_id = u.previous_id AND o.user_id <> u.user_id AND ${COUNTS('o')}
    AND NOT EXISTS (
      SELECT FROM gdpr_identifiers k JOIN gdpr_requests q ON q.entity_id = $1 AND q.id = $2
      WHERE k.entity_id = $1 AND k.request_id = $2 AND k.kind = 'user_id' AND k.value = o.user_id
        AND (q.request_type = 'delete' OR k.ordinal = met.ordinal)))`;

/**
 * Follows aliases from and to these ids, by both indexes of user_aliases: earlier ids if the alias counts, later ones
 * if staff have confirmed it. Stores the others as left alone.
 */
async function insertAliases(tx: Tx, { entityId, requestId }: Some, met: FoundId[]): Promise<FoundId[]> {
  const { rows } = await tx.query<FoundId>(
    `WITH met AS MATERIALIZED (SELECT * FROM unnest($3::text[], $4::integer[]) AS met (id, ordinal)),
     linked AS MATERIALIZED (
       SELECT met.ordinal, met.id AS via, beside.* FROM met CROSS JOIN LATERAL (
         (SELECT u.previous_id AS id, u.first_seen_at, u.decision, CASE WHEN u.decision = 'confirmed' THEN NULL
             WHEN NOT u.witnessed OR ${IS_CUSTOMER} THEN 'unconfirmed' WHEN ${IS_EVERYBODYS} THEN 'shared' END AS reason
           FROM user_aliases u WHERE u.entity_id = $1 AND u.user_id = met.id AND u.decision IS DISTINCT FROM 'refused'
           ORDER BY u.first_seen_at, u.previous_id LIMIT ${2 * MAX_IDS_OF_A_PERSON})
         UNION ALL
         (SELECT u.user_id, u.first_seen_at, u.decision, CASE WHEN u.decision IS NULL THEN 'unconfirmed' END
           FROM user_aliases u WHERE u.entity_id = $1 AND u.previous_id = met.id AND u.decision IS DISTINCT FROM 'refused'
           ORDER BY u.first_seen_at, u.user_id LIMIT ${2 * MAX_IDS_OF_A_PERSON})) AS beside
       WHERE NOT EXISTS (
         SELECT FROM gdpr_identifiers k WHERE k.entity_id = $1 AND k.request_id = $2 AND k.kind = 'user_id' AND k.value = beside.id)),
     followed AS MATERIALIZED (
       SELECT DISTINCT ON (ordinal, id) * FROM linked WHERE reason IS NULL ORDER BY ordinal, id, first_seen_at),
     ranked AS MATERIALIZED (
       SELECT *, row_number() OVER (PARTITION BY ordinal ORDER BY first_seen_at, id) + (
         SELECT count(*) FROM gdpr_identifiers k
         WHERE k.entity_id = $1 AND k.request_id = $2 AND k.ordinal = followed.ordinal AND k.kind = 'user_id') AS rank FROM followed),
     left_alone AS (
       INSERT INTO gdpr_left_identifiers (entity_id, request_id, ordinal, kind, value, via, reason)
       SELECT $1, $2, ordinal, 'user_id', id, via, reason FROM linked WHERE reason IS NOT NULL
       UNION ALL SELECT $1, $2, ordinal, 'user_id', id, via, 'too_many' FROM ranked WHERE rank > ${MAX_IDS_OF_A_PERSON}
       ORDER BY 3, 5 ON CONFLICT DO NOTHING)
     INSERT INTO gdpr_identifiers (entity_id, request_id, kind, value, ordinal, origin, via)
     SELECT $1, $2, 'user_id', id, ordinal, CASE WHEN decision IS NULL THEN 'alias' ELSE 'confirmed' END, via
     FROM ranked WHERE rank <= ${MAX_IDS_OF_A_PERSON}
     ORDER BY ordinal, id ON CONFLICT DO NOTHING RETURNING ordinal, value`,
    [entityId, requestId, met.map(({ value }) => value), met.map(({ ordinal }) => ordinal)],
  );
  return rows;
}

/**
 * Collects devices that only people of the request use, and devices that said themselves that their id came before a
 * person's. Each statement looks up given keys: the planner's statistics of new tables mislead joins.
 */
async function collectDevices(tx: Tx, some: Some): Promise<number> {
  const { entityId, requestId } = some;
  const known = await listKnown(tx, some, 'user_id');
  const { rows } = await tx.query<LinkedId & { rank: number }>(
    `SELECT value, ordinal, via, row_number() OVER (PARTITION BY ordinal ORDER BY since, value) AS rank FROM (
       SELECT DISTINCT ON (value, ordinal) value, ordinal, via, since FROM (
         SELECT u.device_id AS value, k.ordinal, k.id AS via, coalesce(d.first_seen_at, u.last_seen_at) AS since
         FROM unnest($2::text[], $3::integer[]) AS k (id, ordinal)
           JOIN device_users u ON u.entity_id = $1 AND u.user_id = k.id
           LEFT JOIN devices d ON d.entity_id = $1 AND d.app_id = u.app_id AND d.device_id = u.device_id
         UNION ALL SELECT d.device_id, a.ordinal, a.id, d.first_seen_at FROM unnest($4::text[], $5::integer[]) AS a (id, ordinal)
           JOIN devices d ON d.entity_id = $1 AND d.${OF_ANY_APP} AND d.device_id = a.id
           JOIN user_aliases u ON u.entity_id = $1 AND u.previous_id = a.id AND u.device_id = a.id) AS used
       ORDER BY value, ordinal, since) AS found
     ORDER BY value, ordinal`,
    [entityId, ...columnsOf(known), ...columnsOf(known.filter(({ origin }) => origin !== 'asked'))],
  );
  const [few, tooMany] = [
    rows.filter(({ rank }) => rank <= MAX_IDS_OF_A_PERSON),
    rows.filter(({ rank }) => rank > MAX_IDS_OF_A_PERSON),
  ];
  const shared = await listShared(tx, entityId, requestId, few);
  await insertLeftDevices(tx, some, [...shared], 'shared');
  await insertLeftDevices(
    tx,
    some,
    tooMany.filter(({ rank }) => rank <= 2 * MAX_IDS_OF_A_PERSON),
    'too_many',
  );
  const added = await insertFound(
    tx,
    some,
    'device_id',
    few.filter((device) => !shared.has(device)),
  );
  await deleteFollowed(tx, some);
  return added;
}

/** Deletes ids that were left alone but followed from another id. */
async function deleteFollowed(tx: Tx, { entityId, requestId, ordinals }: Some): Promise<void> {
  await tx.query(
    `DELETE FROM gdpr_left_identifiers l USING gdpr_identifiers i
     WHERE l.entity_id = $1 AND l.request_id = $2 AND l.ordinal = ANY ($3)
       AND i.entity_id = $1 AND i.request_id = $2 AND i.kind = l.kind AND i.value = l.value`,
    [entityId, requestId, ordinals],
  );
}

const columnsOf = (ids: readonly FoundId[]) =>
  [ids.map(({ value }) => value), ids.map(({ ordinal }) => ordinal)] as const;

async function collectTokens(tx: Tx, some: Some): Promise<number> {
  const { entityId, requestId } = some;
  // A device that asks for itself may claim any token: its own row holds it, and no other row becomes its own by it.
  const whole = new Set((await listKnown(tx, some, 'whole_device')).map(({ value }) => value));
  const devices = (await listKnown(tx, some, 'device_id')).filter(({ value }) => !whole.has(value));
  const rows = readRows<Row<'devices', 'deviceId', { pushToken: string }>>(
    await tx.query(
      `SELECT DISTINCT device_id, push_token FROM devices
     WHERE entity_id = $1 AND ${OF_ANY_APP} AND device_id = ANY ($2) AND push_token <> ''`,
      [entityId, devices.map(({ value }) => value)],
    ),
  );
  const shared = await listShared(tx, entityId, requestId, devices);
  const ordinalOf = new Map(
    devices.filter((device) => !shared.has(device)).map(({ value, ordinal }) => [value, ordinal]),
  );
  return insertFound(
    tx,
    some,
    'push_token',
    rows.flatMap(({ deviceId: via, pushToken: value }) => {
      const ordinal = ordinalOf.get(via);
      return ordinal === undefined ? [] : [{ value, ordinal, via }];
    }),
  );
}

async function listKnown(tx: Tx, { entityId, requestId, ordinals }: Some, kind: KnownBy['customerType']) {
  const { rows } = await tx.query<FoundId & { origin: string }>(
    `SELECT ordinal, value, origin FROM gdpr_identifiers
     WHERE entity_id = $1 AND request_id = $2 AND ordinal = ANY ($3) AND kind = $4 ORDER BY ordinal, value`,
    [entityId, requestId, ordinals, kind],
  );
  return rows;
}

async function insertFound(
  tx: Tx,
  { entityId, requestId }: Some,
  kind: 'device_id' | 'push_token',
  found: readonly LinkedId[],
): Promise<number> {
  if (found.length === 0) return 0;
  const { rowCount } = await tx.query(
    `INSERT INTO gdpr_identifiers (entity_id, request_id, kind, value, ordinal, origin, via)
     SELECT $1, $2, $3, value, ordinal, 'device', via FROM unnest($4::text[], $5::integer[], $6::text[]) AS found (value, ordinal, via)
     ORDER BY value COLLATE "C", ordinal ON CONFLICT DO NOTHING`,
    [entityId, requestId, kind, ...columnsOf(found), found.map(({ via }) => via)],
  );
  return rowCount!;
}
