/** Usage of apps by UTC day. Reads a period's rows by key: costs depend on the period, not on the table. */

import { cursorRows } from '../core/cursor-rows.ts';
import { type Database, read } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { aliasesSql } from './people.ts';

/** With `aliases` an earlier id counts as the id that it became. */
type Period = { from: Date; until: Date; aliases?: boolean };

/** Returns the person of rows `r`; rows without a user belong to the device's only user in its app. */
export function personOfRows({ aliases = false }: Period): { with: string; joins: string; person: string } {
  // Within the subquery the condition saves the look-up for rows with a user.
  const joins = `LEFT JOIN LATERAL (
    SELECT min(u.user_id) AS user_id FROM device_users u
    WHERE r.user_id IS NULL AND u.entity_id = $1 AND u.app_id = $2 AND u.device_id = r.device_id HAVING count(*) = 1) only_user ON true`;
  const person = `coalesce('u' || r.user_id, 'u' || only_user.user_id, 'd' || r.device_id)`;
  if (!aliases) return { with: '', joins, person };
  return {
    with: `${aliasesSql('ARRAY[$2::integer]')},`,
    person: `coalesce('u' || became.user_id, ${person})`,
    joins: `${joins} LEFT JOIN alias_ends became ON became.previous_id = coalesce(r.user_id, only_user.user_id, r.device_id)`,
  };
}

export type AppDay = {
  date: string;
  events: number;
  sessions: number;
  people: number;
  crashes: number;
  newDevices: number;
};

type Wanted = {
  /** Counts people too, which takes the longest. */
  withPeople: boolean;
  /** Adds a row without a date that counts each person of the period once. */
  isSummed: boolean;
};

/** Returns SQL for each day of the period, also empty ones: events, sessions that began, errors, and new devices. */
function appDaysSql(period: Period, { withPeople, isSummed }: Wanted): string {
  const { with: aliases, joins, person } = personOfRows(period);
  const day = (time: string) => `(${time} AT TIME ZONE 'UTC')::date`;
  const people = `${aliases} of_people AS MATERIALIZED (
       SELECT ${day('s.started_at')} AS day, s.user_id, s.device_id, count(*) AS sessions FROM sessions s
       WHERE s.entity_id = $1 AND s.app_id = $2 AND s.started_at >= $3 AND s.started_at < $4 GROUP BY 1, 2, 3),
     people AS MATERIALIZED (SELECT r.day, ${person} AS person, sum(r.sessions) AS sessions FROM of_people r ${joins} GROUP BY 1, 2),`;
  const peopleOfDays = `UNION ALL SELECT p.day, 0, sum(p.sessions), count(p.person), 0, 0 FROM people p GROUP BY p.day`;
  const inAll = `UNION ALL SELECT NULL, 0, 0, count(DISTINCT p.person), 0, 0 FROM people p`;
  return `WITH ${withPeople ? people : ''}
     parts (day, events, sessions, people, crashes, new_devices) AS (
       SELECT ${day('d')}, 0, 0, 0, 0, 0
       FROM generate_series($3::timestamptz, $4::timestamptz - interval '1 day', interval '1 day', 'UTC') d
       UNION ALL
       SELECT t.day, t.events, ${withPeople ? '0' : 't.sessions'}, 0, 0, 0 FROM tracked_counts t
       WHERE t.entity_id = $1 AND t.app_id = $2 AND t.day >= ${day('$3::timestamptz')} AND t.day < ${day('$4::timestamptz')}
       UNION ALL
       SELECT ${day('e.happened_at')}, 0, 0, 0, count(*), 0 FROM crashes c
       JOIN events e ON e.entity_id = c.entity_id AND e.app_id = c.app_id AND e.crash_id = c.id
       WHERE c.entity_id = $1 AND c.app_id = $2 AND e.happened_at >= $3 AND e.happened_at < $4 GROUP BY 1
       UNION ALL
       SELECT ${day('v.first_seen_at')}, 0, 0, 0, 0, count(*) FROM devices v
       WHERE v.entity_id = $1 AND v.app_id = $2 AND v.first_seen_at >= $3 AND v.first_seen_at < $4 GROUP BY 1
       ${withPeople ? peopleOfDays : ''} ${withPeople && isSummed ? inAll : ''})
     SELECT to_char(day, 'YYYY-MM-DD') AS date, sum(events)::bigint AS events, sum(sessions)::bigint AS sessions,
       sum(people)::bigint AS people, sum(crashes)::bigint AS crashes, sum(new_devices)::bigint AS "newDevices"
     FROM parts GROUP BY day ORDER BY day`;
}

export function listAppDays(db: Database, entityId: number, appId: number, period: Period): AsyncGenerator<AppDay> {
  const statement = appDaysSql(period, { withPeople: true, isSummed: false });
  return cursorRows<AppDay>(db, statement, [entityId, appId, period.from, period.until]);
}

/**
 * Returns the days of a period, and the number of its people, each counted once. Costs grow with its sessions; without
 * people they hardly do.
 */
export async function countAppDays(
  db: Database,
  entityId: number,
  appId: number,
  { withPeople, ...period }: Period & { withPeople: boolean },
  signal: AbortSignal,
): Promise<{ days: AppDay[]; people: number }> {
  type Row = AppDay | (Omit<AppDay, 'date'> & { date: null });
  const statement = appDaysSql(period, { withPeople, isSummed: true });
  const { rows } = await read(db, (tx) => tx.query<Row>(statement, [entityId, appId, period.from, period.until]), {
    settings: `SET LOCAL transaction_timeout = 0; SET LOCAL statement_timeout = '120s'; ${LOOK_UP_BY_KEY}`,
    signal,
  });
  return {
    days: rows.filter((row) => row.date !== null),
    people: rows.find(({ date }) => date === null)?.people ?? 0,
  };
}

type EventDay = {
  eventId: number | null;
  name: string;
  displayName: string | null;
  logType: number;
  hits: number;
  people: number;
  sessions: number;
};

export function listEventCounts(
  db: Database,
  entityId: number,
  appId: number,
  period: Period,
): AsyncGenerator<EventDay> {
  const { with: aliases, joins, person } = personOfRows(period);
  return cursorRows<EventDay>(
    db,
    `WITH ${aliases} seen AS MATERIALIZED (
       SELECT e.log_type, e.name, e.user_id, e.device_id, e.session_id, count(*) AS hits FROM events e
       WHERE e.entity_id = $1 AND e.app_id = $2 AND e.happened_at >= $3 AND e.happened_at < $4 GROUP BY 1, 2, 3, 4, 5),
     counted AS MATERIALIZED (
       SELECT r.log_type, r.name, sum(r.hits)::bigint AS hits, count(DISTINCT ${person}) AS people,
         count(DISTINCT r.session_id) AS sessions
       FROM seen r ${joins} GROUP BY r.log_type, r.name)
     SELECT d.id AS "eventId", c.name, d.display_name AS "displayName", c.log_type AS "logType", c.hits, c.people, c.sessions
     FROM counted c LEFT JOIN event_definitions d
       ON d.entity_id = $1 AND d.app_id = $2 AND d.log_type = c.log_type AND d.name = c.name
     ORDER BY c.log_type, c.name`,
    [entityId, appId, period.from, period.until],
  );
}

type EventDetail = { key: string; value: string | null; hits: number; people: number; sessions: number };

/** Lists the details of one kind of event in a period: each member with each value; a plain detail has no key. */
export function listEventDetails(
  db: Database,
  entityId: number,
  appId: number,
  { logType, name }: { logType: number; name: string },
  period: Period,
): AsyncGenerator<EventDetail> {
  const { with: aliases, joins, person } = personOfRows(period);
  return cursorRows<EventDetail>(
    db,
    `WITH ${aliases} seen AS MATERIALIZED (
       SELECT entry.key COLLATE "C" AS key, entry.value COLLATE "C" AS value, e.user_id, e.device_id, e.session_id, count(*) AS hits
       FROM events e CROSS JOIN LATERAL jsonb_each_text(
         CASE jsonb_typeof(e.detail) WHEN 'object' THEN e.detail ELSE jsonb_build_object('', e.detail) END) AS entry
       WHERE e.entity_id = $1 AND e.app_id = $2 AND e.happened_at >= $3 AND e.happened_at < $4
         AND e.log_type = $5 AND e.name = $6 AND e.detail IS NOT NULL
       GROUP BY 1, 2, 3, 4, 5)
     SELECT r.key, r.value, sum(r.hits)::bigint AS hits, count(DISTINCT ${person}) AS people,
       count(DISTINCT r.session_id) AS sessions
     FROM seen r ${joins} GROUP BY r.key, r.value
     ORDER BY r.key, hits DESC, r.value`,
    [entityId, appId, period.from, period.until, logType, name],
  );
}
