/** Members of segments: adds, removes and replaces them. */

import { MAX_LISTED_CHANGES } from '../../domain/analytics/segment-changes.ts';
import type { CustomerType } from '../../domain/attributes/customer-id.ts';
import type { Queryable } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { findErased, type Person, personKey } from '../gdpr/tombstones.ts';
import { personOfDevice } from './people.ts';

/** Returns the people of these users, or of these devices of an app; an unseen device is its own person. */
export async function listPeopleOf(
  db: Queryable,
  entityId: number,
  appId: number,
  customerType: CustomerType,
  ids: readonly string[],
): Promise<string[]> {
  if (customerType === 'user_id') return ids.map((id) => `u${id}`);
  // Uses the primary key of devices.
  const { rows } = await db.query<{ person: string }>(
    `SELECT coalesce(${personOfDevice('d')}, 'd' || given.id) AS person
     FROM unnest($3::text[]) WITH ORDINALITY AS given (id, ordinal)
     LEFT JOIN devices d ON d.entity_id = $1 AND d.app_id = $2 AND d.device_id = given.id COLLATE "C"
     ORDER BY given.ordinal`,
    [entityId, appId, ids],
  );
  return rows.map(({ person }) => person);
}

export function customerOf(person: string): Person {
  return { customerType: person.startsWith('u') ? 'user_id' : 'device_id', customerId: person.slice(1) };
}

export async function listErasedPeople(
  db: Queryable,
  secrets: Secrets,
  entityId: number,
  people: readonly string[],
): Promise<Set<string>> {
  const erased = await findErased(db, secrets, entityId, () => people.map(customerOf));
  return new Set(erased.size === 0 ? [] : people.filter((person) => erased.has(personKey(customerOf(person)))));
}

type MovedMember = { member: string; person: string };

/** Lists at most `limit` members that are devices with a user by now. Uses primary keys of members and devices. */
export async function listMovedMembers(
  db: Queryable,
  entityId: number,
  { id, appId }: { id: number; appId: number },
  limit: number,
): Promise<MovedMember[]> {
  const { rows } = await db.query<MovedMember>(
    `SELECT m.person AS member, ${personOfDevice('d')} AS person FROM segment_members m
     JOIN devices d ON d.entity_id = $1 AND d.app_id = $3 AND d.device_id = substr(m.person, 2)
     WHERE m.entity_id = $1 AND m.segment_id = $2 AND m.person >= 'd' AND m.person < 'e' AND ${personOfDevice('d')} <> m.person
     ORDER BY m.person LIMIT $4`,
    [entityId, id, appId, limit],
  );
  return rows;
}

/** People that a segment lost and won, without members that only changed from a device to its user. */
export type MemberChanges = { joined: string[]; left: string[]; joinedCount: number; leftCount: number };

/** Returns the changes' numbers, and at most MAX_LISTED_CHANGES people of each kind. */
const CHANGES = `SELECT
  ARRAY(SELECT person FROM come ORDER BY person LIMIT ${MAX_LISTED_CHANGES}) AS joined,
  ARRAY(SELECT person FROM gone ORDER BY person LIMIT ${MAX_LISTED_CHANGES}) AS left,
  (SELECT count(*) FROM come) AS "joinedCount", (SELECT count(*) FROM gone) AS "leftCount"`;
const COME = `come AS (INSERT INTO segment_members (entity_id, segment_id, person)
  SELECT $1, $2, unnest($3::text[]) ON CONFLICT DO NOTHING RETURNING person)`;
const NONE = 'SELECT NULL::text AS person WHERE false';

/** Makes these people the members between two members (null: from the first, to the last). */
export async function replaceMembers(
  tx: Queryable,
  entityId: number,
  id: number,
  people: readonly string[],
  { after, upTo }: { after: string | null; upTo: string | null },
): Promise<MemberChanges> {
  const { rows } = await tx.query<MemberChanges>(
    `WITH gone AS (DELETE FROM segment_members m WHERE m.entity_id = $1 AND m.segment_id = $2
       AND ($4::text IS NULL OR m.person > $4 COLLATE "C") AND ($5::text IS NULL OR m.person <= $5 COLLATE "C")
       AND NOT EXISTS (SELECT FROM unnest($3::text[]) AS p (person) WHERE p.person COLLATE "C" = m.person) RETURNING m.person),
     ${COME} ${CHANGES}`,
    [entityId, id, people, after, upTo],
  );
  return rows[0]!;
}

export async function insertMembers(
  tx: Queryable,
  entityId: number,
  id: number,
  people: readonly string[],
): Promise<MemberChanges> {
  const { rows } = await tx.query<MemberChanges>(`WITH gone AS (${NONE}), ${COME} ${CHANGES}`, [entityId, id, people]);
  return rows[0]!;
}

export async function deleteMembers(
  tx: Queryable,
  entityId: number,
  id: number,
  people: readonly string[],
): Promise<MemberChanges> {
  const { rows } = await tx.query<MemberChanges>(
    `WITH come AS (${NONE}), gone AS (
       DELETE FROM segment_members WHERE entity_id = $1 AND segment_id = $2 AND person = ANY ($3::text[]) RETURNING person) ${CHANGES}`,
    [entityId, id, people],
  );
  return rows[0]!;
}
