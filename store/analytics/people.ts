/**
 * A person, in analytics: the user of the event or session; else the only user that its app saw on the device; else the device. As text:
 * `u` and the user's id, or `d` and the device's.
 */
export function personOf(row: string): string {
  return `coalesce('u' || ${row}.user_id, 'u' || only_user.user_id, 'd' || ${row}.device_id)`;
}

/** The common table expression that `joinOnlyUser` reads: devices of these apps on which one user was seen. $1 is the entity. */
export function onlyUsers(apps: string): string {
  return `only_users AS MATERIALIZED (
    SELECT app_id, device_id, min(user_id) AS user_id FROM device_users
    WHERE entity_id = $1 AND app_id = ANY (${apps}::integer[]) GROUP BY app_id, device_id HAVING count(*) = 1)`;
}

/** For rows that name no user. */
export function joinOnlyUser(row: string): string {
  return `LEFT JOIN only_users only_user
    ON ${row}.user_id IS NULL AND only_user.app_id = ${row}.app_id AND only_user.device_id = ${row}.device_id`;
}
