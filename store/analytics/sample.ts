/** The sample of fast answers: one person in 16, found by indexes, so that no answer reads all events. */

import { SAMPLED_ONE_IN } from '../../domain/analytics/funnel.ts';
import type { Queryable } from '../core/database.ts';

/** Returns the condition for a person, a text as `personSql` has it, to be in the sample. */
export const isSampled = (person: string): string => `hashtextextended(${person}, 1) % ${SAMPLED_ONE_IN} = 0`;

/** As `devices_sampled` has it: a device without a last user may still be an only user's. */
export const deviceIsSampled = (d: string): string =>
  isSampled(`coalesce('u' || ${d}.last_user_id, 'd' || ${d}.device_id)`);

/** As the predicates of the indexes have them: Postgres takes an index only for the same expression. */
const EVENT_IS_SAMPLED = isSampled(`coalesce('u' || user_id, 'd' || device_id)`);
const USER_IS_SAMPLED = isSampled(`'u' || user_id`);
const DEVICE_IS_SAMPLED = isSampled(`'d' || device_id`);

/**
 * Returns SQL of `only_users` (see `personSql`) for the devices whose events may be of people in the sample, and of the
 * tables that `sampledEvents` reads. `sampled_devices` are those that are not in the sample themselves. With `aliases`
 * it needs `alias_ends`. Uses device_users_sampled, the primary key of device_users and device_users_by_user.
 */
export function sampledDevices(apps: string, { aliases }: { aliases: boolean }): string[] {
  const ofApps = `FROM device_users WHERE entity_id = $1 AND app_id = ANY (${apps})`;
  const onlyUser = 'CASE WHEN count(*) = 1 THEN min(user_id) END AS user_id';
  const earlierIds = `sampled_ids AS MATERIALIZED (SELECT app_id, previous_id FROM alias_ends WHERE ${USER_IS_SAMPLED})`;
  const ofEarlierIds = `
    UNION SELECT s.app_id, d.device_id FROM sampled_ids s CROSS JOIN LATERAL (
      SELECT device_id FROM device_users WHERE entity_id = $1 AND user_id = s.previous_id AND app_id = s.app_id OFFSET 0) d
    UNION SELECT app_id, previous_id FROM sampled_ids`;
  return [
    ...(aliases ? [earlierIds] : []),
    `sampled_devices AS MATERIALIZED (
      SELECT DISTINCT app_id, device_id FROM (
        SELECT app_id, device_id ${ofApps} AND ${USER_IS_SAMPLED} ${aliases ? ofEarlierIds : ''}) found
      WHERE NOT ${DEVICE_IS_SAMPLED})`,
    `only_users AS MATERIALIZED (
      SELECT app_id, device_id, ${onlyUser} ${ofApps} AND ${DEVICE_IS_SAMPLED} GROUP BY app_id, device_id
      UNION ALL SELECT s.app_id, s.device_id, u.user_id FROM sampled_devices s CROSS JOIN LATERAL (
        SELECT ${onlyUser} FROM device_users
        WHERE entity_id = $1 AND app_id = s.app_id AND device_id = s.device_id HAVING count(*) > 0) u)`,
  ];
}

/** The columns of events that an answer may need. */
const COLUMNS = ['entity_id', 'app_id', 'happened_at', 'id', 'log_type', 'device_id', 'user_id', 'name', 'detail'];

type SampledPeriod = {
  aliases: boolean;
  from: string;
  until: string;
  /** The condition for a person whose events without a user are needed. */
  isNeeded?: (person: string) => string;
};

/**
 * Returns SQL in place of the table `events`: all events of the sample's people in these apps and this time, and some
 * of other people, which a condition `isSampled` on the person leaves out. Needs the tables of `sampledDevices`. Uses
 * events_sampled, events_by_device, and with aliases events_by_user.
 */
export function sampledEvents(apps: string, { aliases, from, until, isNeeded = isSampled }: SampledPeriod): string {
  const columns = COLUMNS.map((column) => `e.${column}`).join(', ');
  const during = `e.happened_at >= ${from} AND e.happened_at < ${until}`;
  /** `OFFSET 0` keeps a look-up for each row: a join by hash would read all events. */
  const each = (table: string, condition: string) => `CROSS JOIN LATERAL (
      SELECT ${columns} FROM events e WHERE e.entity_id = $1 AND e.app_id = ${table}.app_id AND ${condition} AND ${during} OFFSET 0) e`;
  const devices = aliases
    ? 'sampled_devices'
    : `(SELECT app_id, device_id FROM only_users
        WHERE NOT ${DEVICE_IS_SAMPLED} AND ${isNeeded(`coalesce('u' || user_id, 'd' || device_id)`)})`;
  const ofEarlierIds = `
    UNION ALL SELECT ${columns} FROM sampled_ids s ${each('s', 'e.user_id = s.previous_id')}
    WHERE NOT ${isSampled(`'u' || s.previous_id`)}`;
  return `(SELECT ${COLUMNS.join(', ')} FROM events e WHERE entity_id = $1 AND app_id = ANY (${apps}) AND ${during} AND ${EVENT_IS_SAMPLED}
    UNION ALL SELECT ${columns} FROM ${devices} s ${each('s', 'e.device_id = s.device_id AND e.user_id IS NULL')}
    ${aliases ? ofEarlierIds : ''})`;
}

/** Below this number of people a fast answer is exact: a sixteenth of them would say little. */
const FEW_PEOPLE = 10_000;
/** Maximum number of rows read to find that people are few: a person has hardly ever more than two. */
const MAX_ROWS = 2 * FEW_PEOPLE;

/** Returns whether these apps have few people. Reads the primary keys of device_users and session_heads. */
export async function hasFewPeople(db: Queryable, entityId: number, appIds: readonly number[]): Promise<boolean> {
  const {
    rows: [found],
  } = await db.query<{ few: boolean }>(
    `WITH links AS MATERIALIZED (
       SELECT app_id, device_id, user_id FROM device_users WHERE entity_id = $1 AND app_id = ANY ($2::integer[]) LIMIT ${MAX_ROWS}),
     subjects AS MATERIALIZED (
       SELECT app_id, subject FROM session_heads WHERE entity_id = $1 AND app_id = ANY ($2::integer[]) LIMIT ${MAX_ROWS})
     SELECT (SELECT count(*) FROM links) < ${MAX_ROWS} AND (SELECT count(*) FROM subjects) < ${MAX_ROWS} AND (
       SELECT count(*) FROM (
         SELECT 'u' || user_id FROM links
         UNION SELECT subject FROM subjects s WHERE NOT EXISTS (
           SELECT FROM links l WHERE l.app_id = s.app_id AND 'd' || l.device_id = s.subject)) people) < ${FEW_PEOPLE} AS few`,
    [entityId, appIds],
  );
  return found!.few;
}
