/** People of analytics: which user or device an event or a device belongs to. */

import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { type Sample, sampledDevices } from './sample.ts';
import { COUNTS, IS_CUSTOMER } from '../gdpr/shared-ids.ts';

/** SQL for the person of events `e`; `unjoined`: the person if the event alone shows it, else NULL. */
type PersonSql = { with: string[]; joins: string; person: string; unjoined: string };
type PersonOptions = { aliases?: boolean; sample?: Sample | null };

/**
 * Returns SQL for an event's person: its user; else the only user that its app saw on the device; else the device. As
 * text: `u` and the user's id, or `d` and the device's. With `aliases` an earlier id counts as the id that it became,
 * if exactly one is confirmed. With a sample it serves events of `sampledEvents` alone.
 */
export function personSql(apps: string, { aliases = false, sample = null }: PersonOptions = {}): PersonSql {
  const onlyUsers = sample
    ? sampledDevices(apps, { aliases, sample })
    : [
        `only_users AS MATERIALIZED (
    SELECT app_id, device_id, CASE WHEN count(*) = 1 THEN min(user_id) END AS user_id FROM device_users
    WHERE entity_id = $1 AND app_id = ANY (${apps}) GROUP BY app_id, device_id)`,
      ];
  const joinUser = `LEFT JOIN only_users o ON o.app_id = e.app_id AND o.device_id = CASE WHEN e.user_id IS NULL THEN e.device_id END`;
  if (!aliases) {
    const person = `coalesce('u' || e.user_id, 'u' || o.user_id, 'd' || e.device_id)`;
    return { with: onlyUsers, joins: joinUser, person, unjoined: `'u' || e.user_id` };
  }
  return {
    with: [aliasesSql(apps), ...onlyUsers],
    joins: `${joinUser}
      LEFT JOIN alias_ends a ON a.app_id = e.app_id AND a.previous_id = coalesce(e.user_id, o.user_id, e.device_id)`,
    person: `coalesce('u' || a.user_id, 'u' || e.user_id, 'u' || o.user_id, 'd' || e.device_id)`,
    unjoined: 'NULL::text',
  };
}

const MAX_HOPS = 10;

/**
 * SQL for whether an alias `u` counts in analytics: staff confirmed it, or a device that alone used the earlier id said
 * so, and that id is no customer. In an app that requires verified users a device's word is not enough: its key can
 * invent devices.
 */
const IS_VOUCHED_FOR = `(u.decision = 'confirmed' OR ${COUNTS('u')} AND NOT ${IS_CUSTOMER}
  AND NOT EXISTS (SELECT FROM apps p WHERE p.entity_id = $1 AND p.id = u.app_id AND p.verified_users))`;

/** Returns SQL of the table `alias_ends`: the user that an id became within each app's data, by confirmed aliases. */
export function aliasesSql(apps: string): string {
  return `alias_ends AS MATERIALIZED (
    WITH RECURSIVE single AS (
      SELECT app_id, previous_id, min(user_id) AS user_id FROM user_aliases u
      WHERE entity_id = $1 AND app_id = ANY (${apps}) AND ${IS_VOUCHED_FOR}
      GROUP BY app_id, previous_id HAVING count(*) = 1),
    chains AS (
      SELECT app_id, previous_id, user_id, 1 AS hops FROM single
      UNION ALL
      SELECT c.app_id, c.previous_id, s.user_id, c.hops + 1 FROM chains c
      JOIN single s ON s.app_id = c.app_id AND s.previous_id = c.user_id AND s.user_id <> c.previous_id
      WHERE c.hops < ${MAX_HOPS})
    SELECT DISTINCT ON (app_id, previous_id) app_id, previous_id, user_id FROM chains ORDER BY app_id, previous_id, hops DESC)`;
}

export type EarlierId = { appId: number; id: string };

/** Maximum number of earlier ids, far above real ones: an app's key could write any number. */
const MAX_EARLIER_IDS = 1_000;

/**
 * Lists ids that became this user, also through others, for staff: within an app that names one user, not refused by
 * staff. Uses user_aliases_by_user and the primary key of user_aliases.
 */
export async function listEarlierIds(db: Queryable, entityId: number, userId: string): Promise<EarlierId[]> {
  const counts = `a.decision IS DISTINCT FROM 'refused' AND NOT EXISTS (
    SELECT FROM user_aliases o WHERE o.entity_id = $1 AND o.previous_id = a.previous_id AND o.app_id = a.app_id AND o.user_id <> a.user_id
      AND o.decision IS DISTINCT FROM 'refused')`;
  const rows = readRows<Row<'user_aliases', 'previousId', { appId: number }>>(
    await db.query(
      `WITH RECURSIVE earlier AS (
       SELECT a.app_id, a.previous_id FROM user_aliases a WHERE a.entity_id = $1 AND a.user_id = $2 AND a.app_id IS NOT NULL AND ${counts}
       UNION
       SELECT a.app_id, a.previous_id FROM earlier e
       JOIN user_aliases a ON a.entity_id = $1 AND a.user_id = e.previous_id AND a.app_id = e.app_id AND ${counts})
     SELECT app_id, previous_id FROM earlier LIMIT ${MAX_EARLIER_IDS}`,
      [entityId, userId],
    ),
  );
  return rows.map(({ appId, previousId: id }) => ({ appId, id }));
}

/** SQL for the only user of a row's device; null: several, or none. Uses the primary key of device_users. */
const onlyUser = (row: string): string => `(
  SELECT 'u' || min(u.user_id) FROM device_users u
  WHERE u.entity_id = ${row}.entity_id AND u.app_id = ${row}.app_id AND u.device_id = ${row}.device_id
  HAVING count(*) = 1)`;

/** Returns SQL for an event's person as in `personSql`, looked up for each row `e`: for a few events of many. */
export const personOfEvent = (e: string): string =>
  `coalesce('u' || ${e}.user_id, ${onlyUser(e)}, 'd' || ${e}.device_id)`;

/** Returns SQL for a device's person: its last user; else its only user; else the device. `d` is a row of devices. */
export const personOfDevice = (d: string): string =>
  `coalesce('u' || ${d}.last_user_id, ${onlyUser(d)}, 'd' || ${d}.device_id)`;

/** Does as `personOfDevice`, faster for many devices; needs `only_users` and `onlyUserOfDevice` in the query. */
export const personWithOnlyUser = (d: string): string =>
  `coalesce('u' || ${d}.last_user_id, 'u' || o.user_id, 'd' || ${d}.device_id)`;
