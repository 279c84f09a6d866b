/**
 * How to tell whose an event is: `with` and `joins` go into a statement over rows `e` of events, $1 being the entity. `unjoined`: the same
 * person where the event alone says it, so that it is known before the joins; else NULL.
 */
export type PersonSql = { with: string[]; joins: string; person: string; unjoined: string };

/**
 * A person, in analytics: the event's user; else the only user that its app saw on the device; else the device. As text: `u` and the
 * user's id, or `d` and the device's. With `aliases` an earlier id counts as the one it became, where an app says so of one only.
 */
export function personSql(apps: string, { aliases = false } = {}): PersonSql {
  const onlyUsers = `only_users AS MATERIALIZED (
    SELECT app_id, device_id, min(user_id) AS user_id FROM device_users
    WHERE entity_id = $1 AND app_id = ANY (${apps}) GROUP BY app_id, device_id HAVING count(*) = 1)`;
  // An event with a user has no key, so that it is not looked up.
  const joinUser = `LEFT JOIN only_users o ON o.app_id = e.app_id AND o.device_id = CASE WHEN e.user_id IS NULL THEN e.device_id END`;
  if (!aliases) {
    const person = `coalesce('u' || e.user_id, 'u' || o.user_id, 'd' || e.device_id)`;
    return { with: [onlyUsers], joins: joinUser, person, unjoined: `'u' || e.user_id` };
  }
  return {
    with: [onlyUsers, aliasesSql(apps)],
    joins: `${joinUser}
      LEFT JOIN alias_ends a ON a.app_id = e.app_id AND a.previous_id = coalesce(e.user_id, o.user_id, e.device_id)`,
    person: `coalesce('u' || a.user_id, 'u' || e.user_id, 'u' || o.user_id, 'd' || e.device_id)`,
    unjoined: 'NULL::text',
  };
}

/** An id may have become another several times. */
const MAX_HOPS = 10;

/** Within each app's own data, and not those that staff have refused (docs/gdpr.md, "Whose word links ids"). */
function aliasesSql(apps: string): string {
  return `alias_ends AS MATERIALIZED (
    WITH RECURSIVE single AS (
      SELECT app_id, previous_id, min(user_id) AS user_id FROM user_aliases
      WHERE entity_id = $1 AND app_id = ANY (${apps}) AND decision IS DISTINCT FROM 'refused'
      GROUP BY app_id, previous_id HAVING count(*) = 1),
    chains AS (
      SELECT app_id, previous_id, user_id, 1 AS hops FROM single
      UNION ALL
      SELECT c.app_id, c.previous_id, s.user_id, c.hops + 1 FROM chains c
      JOIN single s ON s.app_id = c.app_id AND s.previous_id = c.user_id AND s.user_id <> c.previous_id
      WHERE c.hops < ${MAX_HOPS})
    SELECT DISTINCT ON (app_id, previous_id) app_id, previous_id, user_id FROM chains ORDER BY app_id, previous_id, hops DESC)`;
}

/**
 * Whose a device is, as a person: its last user; else its only user; else the device itself. `d` is a row of devices. By the primary key of
 * device_users.
 */
export const personOfDevice = (d: string): string => `coalesce('u' || ${d}.last_user_id, (
  SELECT 'u' || min(u.user_id) FROM device_users u
  WHERE u.entity_id = ${d}.entity_id AND u.app_id = ${d}.app_id AND u.device_id = ${d}.device_id
  HAVING count(*) = 1), 'd' || ${d}.device_id)`;
