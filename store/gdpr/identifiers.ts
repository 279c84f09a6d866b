import { type FoundId, listShared } from './shared-ids.ts';
import { type Database, type Queryable, type Tx, write } from '../database.ts';
import { LOOK_UP_BY_KEY } from '../look-up-by-key.ts';
import type { KnownBy } from '../personal-data/place.ts';
import { OF_ANY_APP } from '../personal-data/rows-of-people.ts';
import type { Secrets } from '../secrets.ts';
import { refuse } from '../../domain/refusal.ts';

/** So many of one person: whoever can write a chain of aliases must not have half the house erased. */
const MOST_OF_A_PERSON = 1_000;
/** So many people are gathered in a transaction, and so many ids followed by a statement. */
const PEOPLE_AT_ONCE = 100;

/** What somebody is known by; `ordinal`: of whom. */
export type GdprIdentifier = KnownBy & { ordinal: number };

/**
 * Gathers what the people of a request are known by who are not treated yet: the ids that were asked for, ids that were linked to
 * them, in either direction and through others; their own devices, and the push tokens of these. What was gathered before stays, and
 * is followed again. Refuses with `too_many_identifiers`, `extra.ordinal` says of whom.
 */
export async function collectIdentifiers(db: Database, entityId: number, requestId: number): Promise<{ added: number }> {
  const { rows } = await db.query<{ ordinal: number }>(
    `SELECT ordinal FROM gdpr_request_people WHERE entity_id = $1 AND request_id = $2 AND state <> 'treated' ORDER BY ordinal`,
    [entityId, requestId]);
  let added = 0;
  for (const stage of [collectUserIds, collectDevices, collectTokens]) {
    for (let from = 0; from < rows.length; from += PEOPLE_AT_ONCE) {
      const ordinals = rows.slice(from, from + PEOPLE_AT_ONCE).map(({ ordinal }) => ordinal);
      added += await write(db, async (tx) => {
        const found = await stage(tx, { entityId, requestId, ordinals });
        await refuseTooMany(tx, { entityId, requestId, ordinals });
        return found;
      }, { settings: LOOK_UP_BY_KEY });
    }
  }
  return { added };
}

/** In the order of people. Those of people who were treated are gone. */
export async function listIdentifiers(db: Queryable, entityId: number, requestId: number): Promise<GdprIdentifier[]> {
  const { rows } = await db.query<{ ordinal: number; kind: KnownBy['customerType']; value: string }>(
    `SELECT ordinal, kind, value FROM gdpr_identifiers WHERE entity_id = $1 AND request_id = $2 ORDER BY ordinal, kind DESC, value`,
    [entityId, requestId]);
  return rows.map(({ ordinal, kind, value }) => ({ ordinal, customerType: kind, customerId: value }));
}

/** Notes the keyed hash of each person of a request where there is none yet. */
export async function updateSubjects(db: Database, secrets: Secrets, entityId: number, requestId: number): Promise<void> {
  const { rows } = await db.query<{ ordinal: number; user_id: string | null; device_id: string | null }>(
    `SELECT ordinal, user_id, device_id FROM gdpr_request_people
     WHERE entity_id = $1 AND request_id = $2 AND subject IS NULL AND coalesce(user_id, device_id) IS NOT NULL`, [entityId, requestId]);
  const hashes = rows.map(({ user_id: userId, device_id: deviceId }) => (userId === null
    ? secrets.customerHash(entityId, 'device_id', deviceId!) : secrets.customerHash(entityId, 'user_id', userId)));
  await write(db, (tx) => tx.query(
    `UPDATE gdpr_request_people p SET subject = decode(given.hash, 'hex')
     FROM unnest($3::integer[], $4::text[]) AS given (ordinal, hash)
     WHERE p.entity_id = $1 AND p.request_id = $2 AND p.ordinal = given.ordinal`,
    [entityId, requestId, rows.map(({ ordinal }) => ordinal), hashes.map((hash) => hash.toString('hex'))]));
}

type Some = { entityId: number; requestId: number; ordinals: number[] };

/** From the ids asked for along the aliases, until nobody new is met. An id that is somebody's already stays theirs. */
async function collectUserIds(tx: Tx, some: Some): Promise<number> {
  const asked = await insertAsked(tx, some);
  const { rows } = await tx.query<FoundId>(
    `SELECT ordinal, value FROM gdpr_identifiers
     WHERE entity_id = $1 AND request_id = $2 AND ordinal = ANY ($3) AND kind = 'user_id'`,
    [some.entityId, some.requestId, some.ordinals]);
  let added = asked;
  for (let met: FoundId[] = rows; met.length > 0;) {
    const next: FoundId[] = [];
    for (let from = 0; from < met.length; from += PEOPLE_AT_ONCE) {
      next.push(...await insertAliases(tx, some, met.slice(from, from + PEOPLE_AT_ONCE)));
      if (next.length > 0) await refuseTooMany(tx, some);
    }
    added += next.length;
    met = next;
  }
  return added;
}

async function insertAsked(tx: Tx, { entityId, requestId, ordinals }: Some): Promise<number> {
  const { rowCount } = await tx.query(
    `INSERT INTO gdpr_identifiers (entity_id, request_id, kind, value, ordinal, origin)
     SELECT $1, $2, CASE WHEN user_id IS NULL THEN 'device_id' ELSE 'user_id' END, coalesce(user_id, device_id), ordinal, 'asked'
     FROM gdpr_request_people
     WHERE entity_id = $1 AND request_id = $2 AND ordinal = ANY ($3) AND coalesce(user_id, device_id) IS NOT NULL
     ORDER BY ordinal ON CONFLICT DO NOTHING`, [entityId, requestId, ordinals]);
  return rowCount!;
}

/**
 * Whether an id, that several others came from, says nothing of who they are: a device or a guest's account may have been everybody's.
 * Only where all of them are known to be of the request, and one person's if it asks what is known, it belongs to them. `previous_id`
 * and `user_id` are of the alias `u` that leads from or to it.
 */
const IS_EVERYBODYS = `EXISTS (
  SELECT FROM user_aliases o WHERE o.entity_id = $1 AND o.previous_id = u.previous_id AND o.user_id <> u.user_id AND NOT EXISTS (
    SELECT FROM gdpr_identifiers k JOIN gdpr_requests q ON q.entity_id = $1 AND q.id = $2
    WHERE k.entity_id = $1 AND k.request_id = $2 AND k.kind = 'user_id' AND k.value = o.user_id
      AND (q.request_type = 'delete' OR k.ordinal = met.ordinal)))`;

/** Of each of these ids those beside it in an alias, by both indexes of user_aliases; of one no more than tell that there are too many. */
async function insertAliases(tx: Tx, { entityId, requestId }: Some, met: FoundId[]): Promise<FoundId[]> {
  const { rows } = await tx.query<FoundId>(
    `INSERT INTO gdpr_identifiers (entity_id, request_id, kind, value, ordinal, origin)
     SELECT $1, $2, 'user_id', linked.id, met.ordinal, 'alias'
     FROM unnest($3::text[], $4::integer[]) AS met (id, ordinal),
       LATERAL ((SELECT user_id FROM user_aliases u
           WHERE entity_id = $1 AND previous_id = met.id AND NOT ${IS_EVERYBODYS} LIMIT ${MOST_OF_A_PERSON + 1})
         UNION (SELECT previous_id FROM user_aliases u
           WHERE entity_id = $1 AND user_id = met.id AND NOT ${IS_EVERYBODYS} LIMIT ${MOST_OF_A_PERSON + 1}))
         AS linked (id)
     ORDER BY met.ordinal, linked.id ON CONFLICT DO NOTHING RETURNING ordinal, value`,
    [entityId, requestId, met.map(({ value }) => value), met.map(({ ordinal }) => ordinal)]);
  return rows;
}

/**
 * Devices that they used, and that nobody beside the people of the request uses, in any app; and those whose id came before theirs.
 * Here and below each statement looks up keys that it is given: what the planner knows of tables that are just filled leads joins astray.
 */
async function collectDevices(tx: Tx, some: Some): Promise<number> {
  const { entityId, requestId } = some;
  const known = await listKnown(tx, some, 'user_id');
  const ordinalOf = new Map(known.map(({ value, ordinal }) => [value, ordinal]));
  const aliases = known.filter(({ origin }) => origin === 'alias').map(({ value }) => value);
  const { rows } = await tx.query<{ device_id: string; id: string }>(
    `SELECT DISTINCT device_id, user_id AS id FROM device_users WHERE entity_id = $1 AND user_id = ANY ($2)
     UNION SELECT device_id, device_id FROM devices WHERE entity_id = $1 AND ${OF_ANY_APP} AND device_id = ANY ($3)
     ORDER BY device_id, id`, [entityId, known.map(({ value }) => value), aliases]);
  const found = rows.map(({ device_id: value, id }) => ({ value, ordinal: ordinalOf.get(id)! }));
  const shared = await listShared(tx, entityId, requestId, found);
  return insertFound(tx, some, 'device_id', found.filter((device) => !shared.has(device)));
}

async function collectTokens(tx: Tx, some: Some): Promise<number> {
  const { entityId, requestId } = some;
  const devices = await listKnown(tx, some, 'device_id');
  const { rows } = await tx.query<{ device_id: string; push_token: string }>(
    `SELECT DISTINCT device_id, push_token FROM devices
     WHERE entity_id = $1 AND ${OF_ANY_APP} AND device_id = ANY ($2) AND push_token <> ''`,
    [entityId, devices.map(({ value }) => value)]);
  const shared = await listShared(tx, entityId, requestId, devices);
  const ordinalOf = new Map(devices.filter((device) => !shared.has(device)).map(({ value, ordinal }) => [value, ordinal]));
  return insertFound(tx, some, 'push_token', rows.flatMap(({ device_id: deviceId, push_token: value }) => {
    const ordinal = ordinalOf.get(deviceId);
    return ordinal === undefined ? [] : [{ value, ordinal }];
  }));
}

async function listKnown(tx: Tx, { entityId, requestId, ordinals }: Some, kind: KnownBy['customerType']) {
  const { rows } = await tx.query<FoundId & { origin: string }>(
    `SELECT ordinal, value, origin FROM gdpr_identifiers
     WHERE entity_id = $1 AND request_id = $2 AND ordinal = ANY ($3) AND kind = $4 ORDER BY ordinal, value`,
    [entityId, requestId, ordinals, kind]);
  return rows;
}

async function insertFound(
  tx: Tx, { entityId, requestId }: Some, kind: 'device_id' | 'push_token', found: readonly FoundId[],
): Promise<number> {
  if (found.length === 0) return 0;
  const { rowCount } = await tx.query(
    `INSERT INTO gdpr_identifiers (entity_id, request_id, kind, value, ordinal, origin)
     SELECT $1, $2, $3, value, ordinal, 'device' FROM unnest($4::text[], $5::integer[]) AS found (value, ordinal)
     ORDER BY value COLLATE "C", ordinal ON CONFLICT DO NOTHING`,
    [entityId, requestId, kind, found.map(({ value }) => value), found.map(({ ordinal }) => ordinal)]);
  return rowCount!;
}

async function refuseTooMany(tx: Tx, { entityId, requestId, ordinals }: Some): Promise<void> {
  const { rows: [found] } = await tx.query<{ ordinal: number }>(
    `SELECT ordinal FROM gdpr_identifiers WHERE entity_id = $1 AND request_id = $2 AND ordinal = ANY ($3)
     GROUP BY ordinal HAVING count(*) > $4 ORDER BY ordinal LIMIT 1`, [entityId, requestId, ordinals, MOST_OF_A_PERSON]);
  if (found) {
    refuse(409, 'too_many_identifiers', `Person ${found.ordinal} of the request is known by more than ${MOST_OF_A_PERSON} ids: `
      + 'check the aliases that were written for them. The request goes on by itself once there are fewer.', { ordinal: found.ordinal });
  }
}
