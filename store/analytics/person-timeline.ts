/** A person's timeline: sessions with events, attribute changes, messages and requests, newest first. */

import type { TimelineKind } from '../../domain/analytics/person.ts';
import type { AttemptCode } from '../../domain/sends/attempt.ts';
import { CUSTOMER_TYPE_CODE } from '../attributes/attribute-values.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import type { Person } from '../gdpr/tombstones.ts';
import { foregroundSeconds } from '../tracking/sessions.ts';
import { MAX_COUNTED, ofPerson } from './person.ts';

/** Maximum number of events that an entry of a session shows. */
const MAX_FOLDED = 20;
/** Maximum number of elements of a Set that an entry shows. */
const MAX_ELEMENTS = 100;

/** A position in one kind: entries from `micros` back, those of that moment only with lower ids. */
export type Before = { micros: number; id: number };

type Page = { before: Before | null; limit: number };

type Entry = { micros: number; id: number; at: Date };

const MICROS = (at: string) => `(extract(epoch FROM ${at}) * 1000000)::bigint AS micros`;

/** SQL for entries before $3 and $4. The first comparison leaves out months and uses indexes by time. */
const beforeSql = (at: string, id: string) =>
  `($3::bigint IS NULL OR (${at} <= 'epoch'::timestamptz + $3 * interval '1 microsecond'
    AND (${at}, ${id}) < ('epoch'::timestamptz + $3 * interval '1 microsecond', $4::bigint)))`;

const appOf = (row: string) => `(SELECT a.identifier FROM apps a WHERE a.entity_id = $1 AND a.id = ${row}.app_id)`;

const parameters = (entityId: number, { customerId }: Person, { before, limit }: Page) => [
  entityId,
  customerId,
  before?.micros ?? null,
  before?.id ?? null,
  limit,
];

export type PersonEvent = Row<'events', 'id' | 'logType' | 'name' | 'deviceId' | 'userId'> & {
  appIdentifier: string;
  at: Date;
  /** As JSON: a number keeps its digits. */
  detail: string | null;
};

export type SessionEntry = Entry &
  Row<'sessions', 'appId' | 'endedAt' | 'deviceId' | 'userId' | 'appVersion' | 'osVersion' | 'deviceModel'> & {
    appIdentifier: string;
    seconds: number;
  };

/** Lists sessions, newest first. Uses sessions_by_user or sessions_by_subject. */
async function listSessionsOfPerson(
  db: Queryable,
  entityId: number,
  person: Person,
  page: Page,
): Promise<SessionEntry[]> {
  return readRows<SessionEntry>(
    await db.query(
      `SELECT r.id, r.app_id, r.started_at AS at, ${MICROS('r.started_at')}, r.ended_at, r.device_id, r.user_id,
         r.app_version, r.os_version, r.device_model, ${foregroundSeconds('r')} AS seconds, ${appOf('r')} AS app_identifier
       FROM sessions r WHERE r.entity_id = $1 AND ${ofPerson('sessions', person)} AND ${beforeSql('r.started_at', 'r.id')}
       ORDER BY r.started_at DESC, r.id DESC LIMIT $5`,
      parameters(entityId, person, page),
    ),
  );
}

export type FoldedEvents = { events: PersonEvent[]; count: number };

const EVENT = `r.id, r.log_type, r.name, r.device_id, r.user_id, r.happened_at AS at, r.detail::text AS detail, ${appOf('r')} AS app_identifier`;

/** Lists the last events of each of these sessions, by session id. Reads the person's events of its time. */
async function listEventsOfSessions(
  db: Queryable,
  entityId: number,
  person: Person,
  sessions: readonly SessionEntry[],
): Promise<Map<number, FoldedEvents>> {
  const found = new Map<number, FoldedEvents>();
  if (sessions.length === 0) return found;
  const rows = readRows<PersonEvent & { sessionId: number; count: number }>(
    await db.query(
      `SELECT s.id AS session_id, e.* FROM unnest($3::bigint[], $4::integer[], $5::timestamptz[], $6::timestamptz[])
         AS s (id, app_id, started_at, ended_at)
       CROSS JOIN LATERAL (
         SELECT ${EVENT}, count(*) OVER () AS count FROM events r
         WHERE r.entity_id = $1 AND ${ofPerson('events', person)} AND r.app_id = s.app_id AND r.session_id = s.id
           AND r.happened_at >= s.started_at AND r.happened_at < s.ended_at + interval '1 millisecond'
         ORDER BY r.happened_at DESC, r.id DESC LIMIT ${MAX_FOLDED}) e
       ORDER BY session_id, e.at DESC, e.id DESC`,
      [
        entityId,
        person.customerId,
        sessions.map(({ id }) => id),
        sessions.map(({ appId }) => appId),
        sessions.map(({ at }) => at),
        sessions.map(({ endedAt }) => endedAt),
      ],
    ),
  );
  for (const { sessionId, count, ...event } of rows) {
    const folded = found.get(sessionId);
    if (folded) folded.events.push(event);
    else found.set(sessionId, { events: [event], count });
  }
  return found;
}

export type EventEntry = Entry & PersonEvent;

/**
 * Lists events, newest first, from `since` on; `unfolded`: only those of no session of the person. Uses events_by_user
 * or events_by_device.
 */
async function listEventsOfPerson(
  db: Queryable,
  entityId: number,
  person: Person,
  page: Page,
  { unfolded, since }: { unfolded: boolean; since: Date | null },
): Promise<EventEntry[]> {
  const outside = unfolded
    ? `AND (r.session_id IS NULL OR r.session_id NOT IN (
         SELECT s.id FROM sessions s WHERE s.entity_id = $1 AND ${ofPerson('sessions', person).replace('r.', 's.')}))`
    : '';
  return readRows<EventEntry>(
    await db.query(
      `SELECT ${EVENT}, ${MICROS('r.happened_at')} FROM events r
       WHERE r.entity_id = $1 AND ${ofPerson('events', person)} AND ${beforeSql('r.happened_at', 'r.id')}
         AND ($6::timestamptz IS NULL OR r.happened_at >= $6) ${outside}
       ORDER BY r.happened_at DESC, r.id DESC LIMIT $5`,
      [...parameters(entityId, person, page), since],
    ),
  );
}

export type AttributeEntry = Entry & {
  sorIdentifier: string;
  key: string;
  valueType: string;
  isRemoved: boolean;
  value: string | null;
  elements: string[] | null;
};

/** Lists the last change of each value, newest first (earlier ones are not kept): a range of the key for each SoR. */
async function listChangesOfPerson(
  db: Queryable,
  entityId: number,
  person: Person,
  page: Page,
): Promise<AttributeEntry[]> {
  return readRows<AttributeEntry>(
    await db.query(
      `SELECT v.attribute_id AS id, v.changed_at AS at, ${MICROS('v.changed_at')}, s.identifier AS sor_identifier, a.key,
         a.value_type, v.removed_at IS NOT NULL AS is_removed, v.set_elements[1:${MAX_ELEMENTS}] AS elements,
         coalesce(v.string_value, v.number_value::text, v.boolean_value::text, v.date_value::text,
           to_char(v.datetime_value AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) AS value
       FROM systems_of_records s
       CROSS JOIN LATERAL (
         SELECT * FROM attribute_values
         WHERE entity_id = $1 AND sor_id = s.id AND customer_id = $2 AND customer_type = $6 OFFSET 0) v
       JOIN customer_attributes a ON a.entity_id = $1 AND a.id = v.attribute_id AND a.deleted_at IS NULL
       WHERE s.entity_id = $1 AND s.deleted_at IS NULL AND ${beforeSql('v.changed_at', 'v.attribute_id')}
       ORDER BY v.changed_at DESC, v.attribute_id DESC LIMIT $5`,
      [...parameters(entityId, person, page), CUSTOMER_TYPE_CODE[person.customerType]],
    ),
  );
}

export type MessageOfPerson = Entry &
  Row<
    'attempts',
    | 'userId'
    | 'deviceId'
    | 'channel'
    | 'variant'
    | 'details'
    | 'dueAt'
    | 'settledAt'
    | 'deliveredAt'
    | 'openedAt'
    | 'shownAt'
    | 'clickedAt',
    { code: AttemptCode }
  > & {
    appIdentifier: string;
    campaignIdentifier: string;
    campaignName: string;
    campaignType: 'classic' | 'transactional' | 'dynamic';
    isTest: boolean;
    sendIdentifier: string | null;
  };

/** Lists messages to a person across requests and campaigns, newest first. Uses attempts_by_user or _by_device. */
export async function listMessagesOfPerson(
  db: Queryable,
  entityId: number,
  person: Person,
  page: Page,
): Promise<MessageOfPerson[]> {
  return readRows<MessageOfPerson>(
    await db.query(
      `SELECT r.*, ${appOf('r')} AS app_identifier, coalesce(c.test_of, c.identifier) AS campaign_identifier,
         c.name AS campaign_name, c.type AS campaign_type, c.test_of IS NOT NULL AS is_test, s.identifier AS send_identifier
       FROM (
         SELECT r.id, r.created_at AS at, ${MICROS('r.created_at')}, r.campaign_id, r.send_id, r.app_id, r.user_id, r.device_id,
           r.channel, r.variant, r.code, r.details, r.due_at, r.settled_at, r.delivered_at, r.opened_at, r.shown_at, r.clicked_at
         FROM attempts r WHERE r.entity_id = $1 AND ${ofPerson('attempts', person)} AND ${beforeSql('r.created_at', 'r.id')}
         ORDER BY r.created_at DESC, r.id DESC LIMIT $5) r
       JOIN campaigns c ON c.entity_id = $1 AND c.id = r.campaign_id
       LEFT JOIN sends s ON s.entity_id = $1 AND s.id = r.send_id AND s.campaign_id IS NULL
       ORDER BY r.at DESC, r.id DESC`,
      parameters(entityId, person, page),
    ),
  );
}

export type RequestEntry = Entry &
  Row<'gdpr_requests', 'identifier'> & { type: 'access' | 'delete'; state: string; personState: string };

/** Lists privacy requests that name the person, newest first, by gdpr_people_by_user or gdpr_people_by_device. */
async function listRequestsBefore(
  db: Queryable,
  entityId: number,
  person: Person,
  page: Page,
): Promise<RequestEntry[]> {
  return readRows<RequestEntry>(
    await db.query(
      `SELECT q.id, q.received_at AS at, ${MICROS('q.received_at')}, q.identifier, q.request_type AS type, q.state,
         p.state AS person_state
       FROM gdpr_request_people p JOIN gdpr_requests q ON q.entity_id = $1 AND q.id = p.request_id
       WHERE p.entity_id = $1 AND p.${person.customerType} = $2 AND (q.expires_at IS NULL OR q.expires_at > now())
         AND ${beforeSql('q.received_at', 'q.id')}
       ORDER BY q.received_at DESC, q.id DESC LIMIT $5`,
      parameters(entityId, person, page),
    ),
  );
}

export type TimelineEntry =
  | ({ kind: 'request' } & RequestEntry)
  | ({ kind: 'message' } & MessageOfPerson)
  | ({ kind: 'attribute' } & AttributeEntry)
  | ({ kind: 'session' } & SessionEntry & FoldedEvents)
  | ({ kind: 'event' } & EventEntry);

/** The kinds in the order in which entries of one moment stand. */
const ORDER: readonly TimelineKind[] = ['request', 'message', 'attribute', 'session', 'event'];
/** Above every id. */
const LAST_ID = 2 ** 53 - 1;

/** The position of an entry, behind which a page continues. */
export type TimelinePosition = { micros: number; kind: TimelineKind; id: number };

/** Returns where the entries of a kind behind a position begin. */
function beforeOf(kind: TimelineKind, position: TimelinePosition | null): Before | null {
  if (!position) return null;
  const [own, last] = [ORDER.indexOf(kind), ORDER.indexOf(position.kind)];
  return { micros: position.micros, id: own === last ? position.id : own > last ? LAST_ID : 0 };
}

/** Lists at most `limit` entries of these kinds behind the position. Without sessions it lists every event. */
export async function listTimeline(
  db: Queryable,
  entityId: number,
  person: Person,
  kinds: ReadonlySet<TimelineKind>,
  { after, limit }: { after: TimelinePosition | null; limit: number },
): Promise<TimelineEntry[]> {
  const page = (kind: TimelineKind) => ({ before: beforeOf(kind, after), limit });
  const found: TimelineEntry[] = [];
  if (kinds.has('request'))
    found.push(...(await listRequestsBefore(db, entityId, person, page('request'))).map(as('request')));
  if (kinds.has('message'))
    found.push(...(await listMessagesOfPerson(db, entityId, person, page('message'))).map(as('message')));
  if (kinds.has('attribute'))
    found.push(...(await listChangesOfPerson(db, entityId, person, page('attribute'))).map(as('attribute')));
  const sessions = kinds.has('session') ? await listSessionsOfPerson(db, entityId, person, page('session')) : [];
  found.push(...sessions.map((session) => ({ kind: 'session' as const, ...session, events: [], count: 0 })));
  if (kinds.has('event')) {
    // A full page ends at a moment: older events outside sessions are not searched.
    const since = found.length >= limit ? found.toSorted(newestFirst)[limit - 1]!.at : null;
    const unfolded = kinds.has('session');
    found.push(
      ...(await listEventsOfPerson(db, entityId, person, page('event'), { unfolded, since })).map(as('event')),
    );
  }
  const shown = found.toSorted(newestFirst).slice(0, limit);
  const folded = await listEventsOfSessions(
    db,
    entityId,
    person,
    shown.filter((entry) => entry.kind === 'session'),
  );
  return shown.map((entry) => (entry.kind === 'session' ? { ...entry, ...folded.get(entry.id) } : entry));
}

function as<K extends TimelineKind>(kind: K) {
  return <T extends object>(row: T) => ({ kind, ...row });
}

function newestFirst(a: TimelineEntry, b: TimelineEntry): number {
  return b.micros - a.micros || ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind) || b.id - a.id;
}

/** SQL for the moments `at` of a person's entries, by the indexes of the lists above. */
const MOMENTS: { [K in TimelineKind]: (person: Person) => string } = {
  request: ({ customerType }) => `SELECT q.received_at AS at FROM gdpr_request_people p
    JOIN gdpr_requests q ON q.entity_id = $1 AND q.id = p.request_id
    WHERE p.entity_id = $1 AND p.${customerType} = $2 AND (q.expires_at IS NULL OR q.expires_at > now())`,
  message: (person) =>
    `SELECT r.created_at AS at FROM attempts r WHERE r.entity_id = $1 AND ${ofPerson('attempts', person)}`,
  attribute: ({ customerType }) => `SELECT v.changed_at AS at FROM systems_of_records s
    CROSS JOIN LATERAL (
      SELECT * FROM attribute_values WHERE entity_id = $1 AND sor_id = s.id AND customer_id = $2
        AND customer_type = ${CUSTOMER_TYPE_CODE[customerType]} OFFSET 0) v
    JOIN customer_attributes a ON a.entity_id = $1 AND a.id = v.attribute_id AND a.deleted_at IS NULL
    WHERE s.entity_id = $1 AND s.deleted_at IS NULL`,
  session: (person) =>
    `SELECT r.started_at AS at FROM sessions r WHERE r.entity_id = $1 AND ${ofPerson('sessions', person)}`,
  event: (person) =>
    `SELECT r.happened_at AS at FROM events r WHERE r.entity_id = $1 AND ${ofPerson('events', person)}`,
};

export type DayOfPerson = { day: string; kind: TimelineKind; count: number };

/** Counts a person's entries of these kinds by day in UTC, of each kind up to MAX_COUNTED; the newest days first. */
export async function countDaysOfPerson(
  db: Queryable,
  entityId: number,
  person: Person,
  kinds: ReadonlySet<TimelineKind>,
  { from, before }: { from: Date; before: Date },
): Promise<DayOfPerson[]> {
  const counts = [...kinds].map(
    (kind) => `SELECT '${kind}' AS kind, (at AT TIME ZONE 'UTC')::date::text AS day FROM (
      SELECT at FROM (${MOMENTS[kind](person)}) m WHERE at >= $3 AND at < $4 ORDER BY at DESC LIMIT ${MAX_COUNTED}) m`,
  );
  return readRows<DayOfPerson>(
    await db.query(
      `SELECT day, kind, count(*) AS count FROM (${counts.map((sql) => `(${sql})`).join(' UNION ALL ')}) entries
       GROUP BY day, kind ORDER BY day DESC, kind`,
      [entityId, person.customerId, from, before],
    ),
  );
}
