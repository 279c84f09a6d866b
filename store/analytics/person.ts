/** A person's page: linked ids, devices, segments, values, holds, requests and counts, each for a part of it. */

import type { PersonOrigin } from '../../domain/analytics/person.ts';
import type { TargetDevice } from '../../domain/sends/device-decision.ts';
import { CUSTOMER_TYPE_CODE } from '../attributes/attribute-values.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { subjectOf } from '../gdpr/people-keys.ts';
import type { Person } from '../gdpr/tombstones.ts';
import { TARGET_DEVICE } from '../sends/send-targets.ts';

/** Maximum number of rows of a list on the page: an app's key is enough to invent devices and earlier ids. */
export const MAX_OF_PERSON = 1_000;
/** Counts of a person's rows end here. */
export const MAX_COUNTED = 100_000;

export type LinkedId = Person & {
  origin: PersonOrigin;
  /** `earlier`: it became the person's id; `later`: the person's id became it; `user`: used the device. */
  link: 'earlier' | 'later' | 'user';
  appIdentifier: string | null;
  since: Date;
};

const APP = (row: string) => `(SELECT a.identifier FROM apps a WHERE a.entity_id = $1 AND a.id = ${row}.app_id)`;
const ALIAS_ORIGIN = `CASE WHEN u.decision = 'confirmed' THEN 'confirmed' ELSE 'claimed' END AS origin, ${APP('u')} AS app_identifier,
  u.first_seen_at AS since`;

/** Lists ids linked to the person, without aliases that staff refused: by the key and indexes of user_aliases. */
export async function listLinkedIds(
  db: Queryable,
  entityId: number,
  { customerType, customerId }: Person,
): Promise<LinkedId[]> {
  const users =
    customerType === 'user_id'
      ? ''
      : `UNION ALL SELECT 'user_id', o.user_id, 'user', CASE WHEN d.verified_user_id = o.user_id THEN 'vouched' ELSE 'claimed' END,
           ${APP('o')}, o.last_seen_at
         FROM (SELECT id FROM apps WHERE entity_id = $1) AS own
           JOIN device_users o ON o.entity_id = $1 AND o.app_id = own.id AND o.device_id = $2
           LEFT JOIN devices d ON d.entity_id = $1 AND d.app_id = o.app_id AND d.device_id = $2`;
  return readRows<LinkedId>(
    await db.query(
      `SELECT customer_type, customer_id, link, origin, app_identifier, since FROM (
         SELECT 'user_id' AS customer_type, u.previous_id AS customer_id, 'earlier' AS link, ${ALIAS_ORIGIN}
         FROM user_aliases u WHERE u.entity_id = $1 AND u.user_id = $2 AND u.decision IS DISTINCT FROM 'refused'
         UNION ALL SELECT 'user_id', u.user_id, 'later', ${ALIAS_ORIGIN}
         FROM user_aliases u WHERE u.entity_id = $1 AND u.previous_id = $2 AND u.decision IS DISTINCT FROM 'refused'
         ${users}) linked
       ORDER BY since DESC, customer_id LIMIT ${MAX_OF_PERSON + 1}`,
      [entityId, customerId],
    ),
  );
}

export type PersonDevice = TargetDevice &
  Row<'devices', 'appVersion' | 'osVersion' | 'deviceModel' | 'deviceType' | 'firstSeenAt' | 'lastSeenAt'> & {
    appIdentifier: string;
    requiresVerified: boolean;
  };

const DEVICE = `${TARGET_DEVICE}, d.app_version AS "appVersion", d.os_version AS "osVersion", d.device_model AS "deviceModel",
  d.device_type AS "deviceType", d.first_seen_at AS "firstSeenAt", d.last_seen_at AS "lastSeenAt",
  a.identifier AS "appIdentifier", a.verified_users AS "requiresVerified"`;

/** Lists a user's devices, or a device in each of its apps; last seen first. By device_users_by_user and keys. */
export async function listDevicesOfPerson(
  db: Queryable,
  entityId: number,
  { customerType, customerId }: Person,
): Promise<PersonDevice[]> {
  const found =
    customerType === 'user_id'
      ? `SELECT app_id, device_id FROM device_users WHERE entity_id = $1 AND user_id = $2
         ORDER BY last_seen_at DESC LIMIT ${MAX_OF_PERSON + 1}`
      : 'SELECT id AS app_id, $2::text AS device_id FROM apps WHERE entity_id = $1';
  const { rows } = await db.query<PersonDevice>(
    `SELECT ${DEVICE} FROM (${found}) u JOIN apps a ON a.entity_id = $1 AND a.id = u.app_id
     CROSS JOIN LATERAL (
       SELECT * FROM devices WHERE entity_id = $1 AND app_id = u.app_id AND device_id = u.device_id COLLATE "C" LIMIT 1) d
     ORDER BY d.last_seen_at DESC, d.device_id`,
    [entityId, customerId],
  );
  return rows;
}

export type SegmentOfPerson = Row<'segments', 'identifier' | 'name' | 'snapshotAt'> & { appIdentifier: string };

/** Lists the segments whose last refresh found the person, by segment_members_by_person. */
export async function listSegmentsOfPerson(
  db: Queryable,
  entityId: number,
  person: Person,
  hidden: readonly number[],
): Promise<SegmentOfPerson[]> {
  return readRows<SegmentOfPerson>(
    await db.query(
      `SELECT s.identifier, s.name, s.snapshot_at, a.identifier AS app_identifier
       FROM segment_members m JOIN segments s ON s.entity_id = $1 AND s.id = m.segment_id
       JOIN apps a ON a.entity_id = $1 AND a.id = s.app_id
       WHERE m.entity_id = $1 AND m.person = $2 AND NOT (s.id = ANY ($3::integer[]))
       ORDER BY s.name, s.id LIMIT ${MAX_OF_PERSON + 1}`,
      [entityId, subjectOf(person), hidden],
    ),
  );
}

export type ValuesOfSor = { sorIdentifier: string; name: string; values: number; changedAt: Date };

/** Counts the values of each System of Records: one range of the key of attribute_values for each. */
export async function countValuesOfPerson(
  db: Queryable,
  entityId: number,
  { customerType, customerId }: Person,
): Promise<ValuesOfSor[]> {
  return readRows<ValuesOfSor>(
    await db.query(
      `SELECT s.identifier AS sor_identifier, s.name, v.values, v.changed_at FROM systems_of_records s
       CROSS JOIN LATERAL (
         SELECT count(*) FILTER (WHERE removed_at IS NULL) AS values, max(changed_at) AS changed_at FROM (
           SELECT * FROM attribute_values
           WHERE entity_id = $1 AND sor_id = s.id AND customer_id = $2 AND customer_type = $3 OFFSET 0) own) v
       WHERE s.entity_id = $1 AND s.deleted_at IS NULL AND v.changed_at IS NOT NULL ORDER BY s.id`,
      [entityId, customerId, CUSTOMER_TYPE_CODE[customerType]],
    ),
  );
}

export type Counted = { count: number; firstAt: Date | null; lastAt: Date | null };

const LISTS = { events: 'happened_at', sessions: 'started_at' } as const;

/** Counts up to MAX_COUNTED events or sessions, by their indexes by user and device. */
export async function countOfPerson(
  db: Queryable,
  entityId: number,
  list: keyof typeof LISTS,
  person: Person,
): Promise<Counted> {
  return countRows(
    db,
    `SELECT ${LISTS[list]} AS at FROM ${list} r WHERE r.entity_id = $1 AND ${ofPerson(list, person)}`,
    [entityId, person.customerId],
  );
}

async function countRows(db: Queryable, found: string, values: unknown[]): Promise<Counted> {
  return readRow<Counted>(
    await db.query(
      `SELECT count(*) AS count, min(at) AS first_at, max(at) AS last_at FROM (${found} ORDER BY at DESC LIMIT ${MAX_COUNTED}) r`,
      values,
    ),
  )!;
}

/** Returns the condition that finds a person's rows `r` in the parameter $2. */
export function ofPerson(list: keyof typeof LISTS | 'attempts', { customerType }: Person): string {
  if (customerType === 'user_id') return 'r.user_id = $2';
  return list === 'sessions' ? `r.subject = 'd' || $2` : 'r.device_id = $2';
}

export async function countMessagesOfPerson(
  db: Queryable,
  entityId: number,
  person: Person,
): Promise<Counted & { confirmed: number }> {
  const found = `SELECT r.created_at AS at, coalesce(r.delivered_at, r.opened_at, r.shown_at, r.clicked_at) IS NOT NULL AS confirmed
    FROM attempts r WHERE r.entity_id = $1 AND ${ofPerson('attempts', person)} ORDER BY r.id DESC LIMIT ${MAX_COUNTED}`;
  return readRow<Counted & { confirmed: number }>(
    await db.query(
      `SELECT count(*) AS count, count(*) FILTER (WHERE confirmed) AS confirmed, min(at) AS first_at, max(at) AS last_at
       FROM (${found}) r`,
      [entityId, person.customerId],
    ),
  )!;
}

export type RequestOfPerson = Row<'gdpr_requests', 'identifier' | 'receivedAt'> & {
  type: 'access' | 'delete';
  state: string;
  personState: string;
};

/** Lists privacy requests that name the person, newest first, by gdpr_people_by_user and gdpr_people_by_device. */
export async function listRequestsOfPerson(
  db: Queryable,
  entityId: number,
  { customerType, customerId }: Person,
): Promise<RequestOfPerson[]> {
  return readRows<RequestOfPerson>(
    await db.query(
      `SELECT q.identifier, q.request_type AS type, q.state, p.state AS person_state, q.received_at
       FROM gdpr_request_people p JOIN gdpr_requests q ON q.entity_id = $1 AND q.id = p.request_id
       WHERE p.entity_id = $1 AND p.${customerType} = $2 AND (q.expires_at IS NULL OR q.expires_at > now())
       ORDER BY q.received_at DESC, q.id DESC LIMIT ${MAX_OF_PERSON + 1}`,
      [entityId, customerId],
    ),
  );
}
