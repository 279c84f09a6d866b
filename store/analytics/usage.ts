/** Usage of apps by UTC day. Reads a period's rows by key: costs depend on the period, not on the table. */

import { cursorRows } from '../core/cursor-rows.ts';
import type { Database } from '../core/database.ts';
import { aliasesSql } from './people.ts';

/** With `aliases` an earlier id counts as the id that it became. */
type Period = { from: Date; until: Date; aliases?: boolean };

const dayOf = (time: string): string => `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD')`;

/** Returns the person of rows `r`; rows without a user belong to the device's only user in its app. */
function personOfRows({ aliases = false }: Period): { with: string; joins: string; person: string } {
  const joins = `LEFT JOIN LATERAL (
    SELECT min(u.user_id) AS user_id FROM device_users u
    WHERE u.entity_id = $1 AND u.app_id = $2 AND u.device_id = r.device_id HAVING count(*) = 1) only_user ON r.user_id IS NULL`;
  const person = `coalesce('u' || r.user_id, 'u' || only_user.user_id, 'd' || r.device_id)`;
  if (!aliases) return { with: '', joins, person };
  return {
    with: `${aliasesSql('ARRAY[$2::integer]')},`,
    person: `coalesce('u' || became.user_id, ${person})`,
    joins: `${joins} LEFT JOIN alias_ends became ON became.previous_id = coalesce(r.user_id, only_user.user_id, r.device_id)`,
  };
}

type AppDay = { date: string; sessions: number; people: number; crashes: number; newDevices: number };

/** Lists each day of the period, also empty ones: sessions that began, their people, errors, and new devices. */
export function listAppDays(db: Database, entityId: number, appId: number, period: Period): AsyncGenerator<AppDay> {
  const { with: aliases, joins, person } = personOfRows(period);
  return cursorRows<AppDay>(
    db,
    `WITH ${aliases} of_people AS MATERIALIZED (
       SELECT ${dayOf('s.started_at')} AS date, s.user_id, s.device_id, count(*) AS sessions FROM sessions s
       WHERE s.entity_id = $1 AND s.app_id = $2 AND s.started_at >= $3 AND s.started_at < $4 GROUP BY 1, 2, 3),
     parts AS (
       SELECT ${dayOf('d')} AS date, 0 AS sessions, 0 AS people, 0 AS crashes, 0 AS new_devices
       FROM generate_series($3::timestamptz, $4::timestamptz - interval '1 day', interval '1 day', 'UTC') d
       UNION ALL
       SELECT r.date, sum(r.sessions), count(DISTINCT ${person}), 0, 0 FROM of_people r ${joins} GROUP BY r.date
       UNION ALL
       SELECT ${dayOf('e.happened_at')}, 0, 0, count(*), 0 FROM crashes c
       JOIN events e ON e.entity_id = c.entity_id AND e.app_id = c.app_id AND e.crash_id = c.id
       WHERE c.entity_id = $1 AND c.app_id = $2 AND e.happened_at >= $3 AND e.happened_at < $4 GROUP BY 1
       UNION ALL
       SELECT ${dayOf('v.first_seen_at')}, 0, 0, 0, count(*) FROM devices v
       WHERE v.entity_id = $1 AND v.app_id = $2 AND v.first_seen_at >= $3 AND v.first_seen_at < $4 GROUP BY 1)
     SELECT date, sum(sessions)::bigint AS sessions, sum(people)::bigint AS people, sum(crashes)::bigint AS crashes,
       sum(new_devices)::bigint AS "newDevices"
     FROM parts GROUP BY date ORDER BY date`,
    [entityId, appId, period.from, period.until],
  );
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
