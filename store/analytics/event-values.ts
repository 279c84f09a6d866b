/** The members of an event's detail with their most frequent values, to choose from. Shows what several people sent. */

import type { DayPeriod } from '../../domain/analytics/day-period.ts';
import { type Database, read } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { personOfRows } from './usage.ts';

/** Maximum number of an app's events that are looked through, and of those with the name that are read. */
type EventBounds = { searched: number; read: number };
const BOUNDS: EventBounds = { searched: 1_000_000, read: 10_000 };
/** A value or member that fewer people sent may be about one of them. */
const LEAST_PEOPLE = 3;
const [MAX_MEMBERS, MAX_VALUES, MAX_VALUE_CHARS] = [100, 20, 256];

type EventMember = {
  key: string;
  events: number;
  values: { value: string; events: number }[];
  otherValues: number;
};

type Event = { logType: number; name: string };

/**
 * Reads the newest events of a kind. Uses the primary key of events backwards, from two days after the definition was
 * last seen: the day is that of receipt, and calls within five minutes of midnight may count for the day before.
 */
export async function listEventValues(
  db: Database,
  entityId: number,
  appId: number,
  { logType, name }: Event,
  { from, until }: DayPeriod,
  signal?: AbortSignal,
  bounds = BOUNDS,
): Promise<{ events: number; isWhole: boolean; members: EventMember[] }> {
  const { joins, person } = personOfRows({ from, until });
  const values = [entityId, appId, from, until, logType, name];
  return read(
    db,
    async (tx) => {
      const { rows } = await tx.query<{ events: number; searchable: number; members: EventMember[] }>(
        `WITH last AS MATERIALIZED (
           SELECT least($4::timestamptz, (max(d.last_seen_on) + 2)::timestamp AT TIME ZONE 'UTC') AS until FROM event_definitions d
           WHERE d.entity_id = $1 AND d.app_id = $2 AND d.log_type = $5 AND d.name = $6),
         newest AS MATERIALIZED (
           SELECT e.detail, e.user_id, e.device_id FROM (
             SELECT log_type, name, detail, user_id, device_id FROM events
             WHERE entity_id = $1 AND app_id = $2 AND happened_at >= $3 AND happened_at < (SELECT until FROM last)
             ORDER BY happened_at DESC, id DESC LIMIT ${bounds.searched}) e
           WHERE e.log_type = $5 AND e.name = $6 LIMIT ${bounds.read}),
         seen AS MATERIALIZED (
           SELECT entry.key COLLATE "C" AS key, left(entry.value, ${MAX_VALUE_CHARS + 1}) COLLATE "C" AS value, e.user_id, e.device_id,
             count(*) AS events
           FROM newest e CROSS JOIN LATERAL jsonb_each_text(
             CASE jsonb_typeof(e.detail) WHEN 'object' THEN e.detail ELSE jsonb_build_object('', e.detail) END) AS entry
           WHERE e.detail IS NOT NULL AND entry.value IS NOT NULL GROUP BY 1, 2, 3, 4),
         sent AS MATERIALIZED (SELECT r.key, r.value, r.events, ${person} AS person FROM seen r ${joins}),
         counted AS (
           SELECT key, value, sum(events)::bigint AS events, count(DISTINCT person) >= ${LEAST_PEOPLE} AND length(value) <= ${MAX_VALUE_CHARS} AS is_shown
           FROM sent GROUP BY key, value),
         ranked AS (
           SELECT *, row_number() OVER (PARTITION BY key ORDER BY is_shown DESC, events DESC, value) AS rank FROM counted),
         members AS (
           SELECT key, sum(events)::bigint AS events,
             coalesce(json_agg(json_build_object('value', value, 'events', events) ORDER BY rank)
               FILTER (WHERE is_shown AND rank <= ${MAX_VALUES}), '[]') AS values,
             count(*) FILTER (WHERE NOT is_shown OR rank > ${MAX_VALUES}) AS "otherValues"
           FROM ranked WHERE key IN (SELECT key FROM sent GROUP BY key HAVING count(DISTINCT person) >= ${LEAST_PEOPLE})
           GROUP BY key ORDER BY events DESC, key LIMIT ${MAX_MEMBERS})
         SELECT (SELECT count(*) FROM newest) AS events,
           (SELECT coalesce(sum(t.events), 0)::bigint FROM tracked_counts t
            WHERE t.entity_id = $1 AND t.app_id = $2 AND t.day >= ($3::timestamptz AT TIME ZONE 'UTC')::date
              AND t.day < ((SELECT until FROM last) AT TIME ZONE 'UTC')::date) AS searchable,
           (SELECT coalesce(json_agg(m), '[]') FROM members m) AS members`,
        values,
      );
      const { events, searchable, members } = rows[0]!;
      return { events, isWhole: events < bounds.read && searchable <= bounds.searched, members };
    },
    { settings: `SET LOCAL transaction_timeout = 0; SET LOCAL statement_timeout = '120s'; ${LOOK_UP_BY_KEY}`, signal },
  );
}
