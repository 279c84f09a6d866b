import { inBatches } from '../../core/in-batches.ts';
import { idsOfType, rowIdsOf } from '../../gdpr/people-keys.ts';
import { BATCH, countRows, type PersonalDataLocation } from '../../gdpr/personal-data-location.ts';
import { changeFound, OF_ANY_APP, rowsOfPeople } from '../../gdpr/rows-of-people.ts';
import { saidAt, SAID_AT_COLUMNS } from '../devices.ts';

const KEY = 'app_id, device_id';
const keys = { app_id: 'integer', device_id: 'text' } as const;

/** Those of them that no other person uses, or that ask for themselves. */
const OWN = `SELECT ${KEY} FROM devices AS d
  WHERE entity_id = $1 AND ${OF_ANY_APP} AND device_id = ANY ($3) AND (device_id = ANY ($4) OR NOT EXISTS (
    SELECT FROM device_users u
    WHERE u.entity_id = $1 AND u.app_id = d.app_id AND u.device_id = d.device_id AND u.user_id <> ALL ($2::text[])))`;

/**
 * Those that they used last, by devices_by_user; by device_users_by_user, should a device have had one before it had a
 * last one.
 */
const NAMING = `SELECT ${KEY} FROM devices WHERE entity_id = $1 AND last_user_id = ANY ($2)
  UNION SELECT d.app_id, d.device_id FROM device_users AS u
    JOIN devices AS d ON d.entity_id = $1 AND d.app_id = u.app_id AND d.device_id = u.device_id
      AND u.user_id IN (d.last_user_id, d.current_user_id)
    WHERE u.entity_id = $1 AND u.user_id = ANY ($2)`;

const { count, export: show } = rowsOfPeople({
  table: 'devices',
  keys,
  found: `${OWN} UNION ${NAMING}`,
  shown: `r.app_id, r.device_id, r.current_user_id, r.last_user_id, r.push_token, r.opt_in, r.opt_out, r.uninstalled, r.number_of_sessions,
    r.number_of_crashes, r.app_version, r.os_version, r.sdk_version, r.device_model, r.device_type, r.country, r.lang, r.last_city,
    r.last_latitude, r.last_longitude, r.utc_offset, r.timezone, r.first_seen_at, r.last_seen_at, r.verified_user_id,
    r.first_campaign_received_at, r.last_campaign_received_at`,
});

/**
 * A device that somebody else uses may have a token of theirs: it was handed on, or sent by mistake. All devices are
 * gone through.
 */
const WITH_THEIR_TOKEN = 'devices WHERE entity_id = $1 AND push_token = ANY ($2::text[])';

/**
 * Keeps when members were said that are emptied: a call from before then would say them anew, and log another user in.
 */
const timesOf = (...columns: Parameters<typeof saidAt>[0][]) =>
  columns
    .map(
      (column) =>
        `${saidAt(column)} = coalesce(${saidAt(column)}, CASE WHEN ${column} IS NOT NULL THEN last_seen_at END)`,
    )
    .join(', ');

export const devices: PersonalDataLocation = {
  name: 'devices',
  columns: [
    'device_id',
    'current_user_id',
    'last_user_id',
    'push_token',
    'opt_in',
    'opt_out',
    'uninstalled',
    'number_of_sessions',
    'number_of_crashes',
    'app_version',
    'os_version',
    'sdk_version',
    'device_model',
    'device_type',
    'country',
    'lang',
    'last_city',
    'last_latitude',
    'last_longitude',
    'utc_offset',
    'timezone',
    'first_seen_at',
    'last_seen_at',
    'verified_user_id',
    'first_campaign_received_at',
    'last_campaign_received_at',
  ],
  otherColumns: ['entity_id', 'app_id', 'received_at', 'verified_at', ...SAID_AT_COLUMNS],
  holds: 'the device, its push token, where and when it was last seen, its last user',
  foundBy: 'device id, if no one else uses the device; the last or present user',
  erasedBy:
    'deleting the row; if another person uses the device, too, emptying the user, the place, and a push token that came with them',
  async count(deps, entityId, people) {
    const tokens = idsOfType(people, 'push_token');
    // The app's key is enough to send their token for another device again and again, which must not hold off their
    // erasure.
    const withToken =
      tokens.length === 0
        ? 0
        : await countRows(deps.db, `${WITH_THEIR_TOKEN} AND ($3::timestamptz IS NULL OR received_at < $3)`, [
            entityId,
            tokens,
            deps.writtenBefore ?? null,
          ]);
    return (await count(deps, entityId, people)) + withToken;
  },
  export: show,
  // On a device that another uses, too, or that is not theirs, only the name of the one who used it last goes, where
  // they were, and the push token that came with them: the next call says it again.
  async erase(deps, entityId, people) {
    const parameters = rowIdsOf(entityId, people);
    const deleted = await changeFound(deps, 'DELETE FROM devices AS r USING found', { keys, found: OWN }, parameters);
    const tokens = idsOfType(people, 'push_token');
    const emptied =
      tokens.length === 0
        ? 0
        : await inBatches(
            deps.db,
            `UPDATE devices SET push_token = NULL, ${timesOf('push_token')}, received_at = now()
       WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${WITH_THEIR_TOKEN} LIMIT ${BATCH}))`,
            [entityId, tokens],
            deps.tally,
          );
    return (
      deleted +
      emptied +
      (await changeFound(
        deps,
        `UPDATE devices AS r SET last_user_id = CASE WHEN last_user_id <> ALL ($2) THEN last_user_id END,
         current_user_id = CASE WHEN current_user_id <> ALL ($2) THEN current_user_id END,
         push_token = CASE WHEN last_user_id = ANY ($2)
           AND coalesce(push_token_said_at, last_seen_at) >= coalesce(last_user_id_said_at, last_seen_at) THEN NULL ELSE push_token END,
         verified_user_id = CASE WHEN verified_user_id <> ALL ($2) THEN verified_user_id END,
         last_city = NULL, last_latitude = NULL, last_longitude = NULL,
         ${timesOf('last_user_id', 'current_user_id', 'push_token', 'last_city', 'last_latitude', 'last_longitude')},
         received_at = now()
       FROM found`,
        { keys, found: NAMING },
        parameters,
      ))
    );
  },
};
