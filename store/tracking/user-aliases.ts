/** Aliases, by which calls claim that an id is a user's earlier one (law: a device is a witness, not an authority). */

import { readRows, type Row } from '../core/camel-row.ts';
import type { Tx } from '../core/database.ts';
import { OF_ANY_APP } from '../gdpr/rows-of-people.ts';
import type { AppCall } from './app-call.ts';

/**
 * Maximum number of aliases of a user, and of an earlier id, since an app's key could write any number. Refused ones
 * don't count.
 */
export const MAX_ALIASES = 100;

type AliasCall = AppCall & { previousId: string; userId: string };

function isAlias(call: AppCall): call is AliasCall {
  return call.previousId !== null && call.userId !== null && call.previousId !== call.userId;
}

/** Returns the aliases beyond MAX_ALIASES, in order of the calls. */
export async function findExcessAliases(tx: Tx, entityId: number, calls: readonly AppCall[]): Promise<Set<AppCall>> {
  const aliases = calls.filter(isAlias);
  if (aliases.length === 0) return new Set();
  const stored = (column: string) => `(SELECT count(*) FROM (
    SELECT FROM user_aliases a WHERE a.entity_id = $1 AND a.${column} = new.${column} AND a.decision IS DISTINCT FROM 'refused'
    LIMIT ${MAX_ALIASES}) AS stored)`;
  // Uses the primary key of user_aliases, and user_aliases_by_user.
  const rows = readRows<Row<'user_aliases', 'previousId' | 'userId'>>(
    await tx.query(
      `WITH new AS (
       SELECT previous_id, user_id, row_number() OVER (PARTITION BY user_id ORDER BY ordinal) AS of_user,
         row_number() OVER (PARTITION BY previous_id ORDER BY ordinal) AS of_previous
       FROM (SELECT previous_id, user_id, min(ordinal) AS ordinal
         FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS g (previous_id, user_id, ordinal) GROUP BY previous_id, user_id) AS given
       WHERE NOT EXISTS (SELECT FROM user_aliases a
         WHERE a.entity_id = $1 AND a.previous_id = given.previous_id AND a.user_id = given.user_id))
     SELECT previous_id, user_id FROM new
     WHERE of_user + ${stored('user_id')} > ${MAX_ALIASES} OR of_previous + ${stored('previous_id')} > ${MAX_ALIASES}`,
      [entityId, aliases.map(({ previousId }) => previousId), aliases.map(({ userId }) => userId)],
    ),
  );
  const excess = new Set(rows.map(({ previousId, userId }) => keyOf({ previousId, userId })));
  return new Set(aliases.filter((call) => excess.has(keyOf(call))));
}

/**
 * Inserts the aliases of calls. An alias is `witnessed` if only the calling device knew the earlier id: any other claim
 * of an id in use may be false (docs/gdpr.md, "Whose word links ids").
 */
export async function insertUserAliases(tx: Tx, entityId: number, calls: readonly AppCall[]): Promise<void> {
  const aliases = [
    ...new Map(
      calls
        .filter(isAlias)
        .toReversed()
        .map((call) => [keyOf(call), call]),
    ).values(),
  ].toReversed();
  if (aliases.length === 0) return;
  const firstDeviceOf = new Map(aliases.toReversed().map(({ previousId, deviceId }) => [previousId, deviceId]));
  const isFirst = aliases.map(({ previousId, deviceId }) => firstDeviceOf.get(previousId) === deviceId);
  await tx.query(
    `INSERT INTO user_aliases (entity_id, previous_id, user_id, app_id, device_id, witnessed)
     SELECT $1, previous_id, user_id, app_id, device_id, is_first AND device_id IS NOT NULL
       AND NOT EXISTS (SELECT FROM device_users u
         WHERE u.entity_id = $1 AND u.user_id = given.previous_id AND u.device_id <> given.device_id)
       AND (previous_id = device_id OR NOT EXISTS (
         SELECT FROM devices d WHERE d.entity_id = $1 AND d.${OF_ANY_APP} AND d.device_id = given.previous_id))
       AND NOT EXISTS (SELECT FROM session_heads h
         WHERE h.entity_id = $1 AND h.${OF_ANY_APP} AND h.subject = 'u' || given.previous_id)
       AND NOT EXISTS (SELECT FROM user_aliases o WHERE o.entity_id = $1 AND o.previous_id = given.previous_id AND o.witnessed
         AND o.user_id <> given.user_id AND o.device_id IS DISTINCT FROM given.device_id)
     FROM unnest($2::text[], $3::text[], $4::integer[], $5::text[], $6::boolean[])
       AS given (previous_id, user_id, app_id, device_id, is_first)
     ORDER BY previous_id COLLATE "C", user_id COLLATE "C" ON CONFLICT DO NOTHING`,
    [
      entityId,
      aliases.map(({ previousId }) => previousId),
      aliases.map(({ userId }) => userId),
      aliases.map(({ appId }) => appId),
      aliases.map(({ deviceId }) => deviceId),
      isFirst,
    ],
  );
}

function keyOf({ previousId, userId }: Pick<AliasCall, 'previousId' | 'userId'>): string {
  return JSON.stringify([previousId, userId]);
}
