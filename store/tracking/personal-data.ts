/** Locations of personal data in what SDKs send. */
import { ERASED } from '../../domain/core/erased.ts';
import { inBatches } from '../core/in-batches.ts';
import { hashOfNamed, namedIn } from '../gdpr/named-in.ts';
import { partitionsOfPeople } from '../gdpr/partitions-of-people.ts';
import { idsOfType, rowIdsOf } from '../gdpr/people-keys.ts';
import { BATCH, countRows, type PersonalDataLocation } from '../gdpr/personal-data-location.ts';
import {
  changeFound,
  DEVICE_SUBJECTS,
  OF_ANY_APP,
  rowsOfPeople,
  USER_SUBJECTS,
  WHOLE_SUBJECTS,
} from '../gdpr/rows-of-people.ts';
import { replacedIn, textsOfPeople } from '../gdpr/texts-of-people.ts';
import { saidAt, SAID_AT_COLUMNS } from './devices.ts';

/** The head's session belongs to another user, who used the device last. */
const IS_ANOTHERS = `EXISTS (
  SELECT FROM sessions s WHERE s.entity_id = $1 AND s.app_id = h.app_id AND s.started_at = h.started_at AND s.id = h.session_id
    AND s.user_id IS NOT NULL AND s.user_id <> ALL ($2::text[]))`;

export const sessionHeads = rowsOfPeople({
  name: 'session_heads',
  key: 'app_id, subject',
  columns: 'subject, started_at, ended_at, backgrounded_at',
  otherColumns: 'entity_id, app_id, session_id',
  holds: 'the latest session of a device or user',
  foundBy: "the device's or user's id; the session, if it is the person's",
  erasedBy: 'deleting the rows',
  keptFor: "the entity's [retention](retention.md) after the device was last seen",
  found: `SELECT app_id, subject FROM session_heads WHERE entity_id = $1 AND ${OF_ANY_APP} AND subject = ANY (${USER_SUBJECTS})
    UNION SELECT app_id, subject FROM session_heads AS h
      WHERE entity_id = $1 AND ${OF_ANY_APP} AND subject = ANY (${DEVICE_SUBJECTS}) AND NOT ${IS_ANOTHERS}
    UNION SELECT app_id, subject FROM session_heads WHERE entity_id = $1 AND ${OF_ANY_APP} AND subject = ANY (${WHOLE_SUBJECTS})
    UNION SELECT h.app_id, h.subject FROM sessions AS s
      JOIN session_heads AS h ON h.entity_id = $1 AND h.app_id = s.app_id AND h.subject = s.subject AND h.session_id = s.id
      WHERE s.entity_id = $1 AND s.user_id = ANY ($2)`,
  shown: 'app_id, substr(r.subject, 2) AS customer_id, session_id, started_at, ended_at',
});

const BY_USER_OR_DEVICE =
  'user id; device id if no user was named, or if [the device itself](gdpr.md#from-a-device) makes the request';

/** Uses the indexes sessions_by_user and sessions_by_subject. */
export const sessions = partitionsOfPeople({
  name: 'sessions',
  key: 'app_id, started_at, id',
  byDevice: 'subject',
  time: null,
  columns: `started_at, ended_at, background_seconds, utc_offset, subject, device_id, user_id, app_version,
    sdk_version, os_version, device_type, device_model, idiom, country, lang, carrier`,
  otherColumns: 'entity_id, app_id, received_at, id, timeout',
  holds: "when people used an app, on which device, and the device's country and language settings",
  foundBy: BY_USER_OR_DEVICE,
  erasedBy: 'deleting the rows',
  keptFor: "the entity's [retention](retention.md)",
  shown: `started_at, ended_at, background_seconds, utc_offset, app_id, id, device_id, user_id, app_version,
    sdk_version, os_version, device_type, device_model, idiom, country, lang, carrier`,
});

/** Uses the indexes events_by_user and events_by_device. */
export const events = partitionsOfPeople({
  name: 'events',
  key: 'app_id, happened_at, id',
  byDevice: 'device_id',
  time: 'happened_at',
  columns: 'happened_at, utc_offset, device_id, user_id, name, detail',
  otherColumns: 'entity_id, app_id, received_at, id, session_id, crash_id, log_type',
  holds: "what people did: when, on which device, the event's details",
  foundBy: BY_USER_OR_DEVICE,
  erasedBy: 'deleting the rows',
  keptFor: "the entity's [retention](retention.md)",
  shown: 'happened_at, utc_offset, app_id, session_id, device_id, user_id, log_type, name, r.detail::text AS detail',
});

/** Uses the indexes locations_by_user and locations_by_device. */
export const locations = partitionsOfPeople({
  name: 'locations',
  key: 'app_id, happened_at, id',
  byDevice: 'device_id',
  time: 'happened_at',
  columns: 'happened_at, latitude, longitude, device_id, user_id',
  otherColumns: 'entity_id, app_id, received_at, id, session_id',
  holds: 'where people were, and when',
  foundBy: BY_USER_OR_DEVICE,
  erasedBy: 'deleting the rows',
  keptFor: "the entity's [retention](retention.md)",
  shown: 'happened_at, app_id, session_id, latitude, longitude, device_id, user_id',
});

const deviceKey = 'app_id, device_id';

/** Devices of the people that no other person uses, or that ask for themselves. */
const OWN = `SELECT ${deviceKey} FROM devices AS d
  WHERE entity_id = $1 AND ${OF_ANY_APP} AND device_id = ANY ($3) AND (device_id = ANY ($4) OR NOT EXISTS (
    SELECT FROM device_users u
    WHERE u.entity_id = $1 AND u.app_id = d.app_id AND u.device_id = d.device_id AND u.user_id <> ALL ($2::text[])))`;

/** Devices they used last: devices_by_user; device_users_by_user if a present user preceded a last one. */
const NAMING = `SELECT ${deviceKey} FROM devices WHERE entity_id = $1 AND last_user_id = ANY ($2)
  UNION SELECT d.app_id, d.device_id FROM device_users AS u
    JOIN devices AS d ON d.entity_id = $1 AND d.app_id = u.app_id AND d.device_id = u.device_id
      AND u.user_id IN (d.last_user_id, d.current_user_id)
    WHERE u.entity_id = $1 AND u.user_id = ANY ($2)`;

/** Devices with their push token, also others' (handed on, or sent by mistake). Reads all devices of the entity. */
const WITH_THEIR_TOKEN = 'devices WHERE entity_id = $1 AND push_token = ANY ($2::text[])';

/** Keeps the times of emptied columns, so that an earlier call that arrives late restores nothing. */
const timesOf = (...columns: Parameters<typeof saidAt>[0][]) =>
  columns
    .map(
      (column) =>
        `${saidAt(column)} = coalesce(${saidAt(column)}, CASE WHEN ${column} IS NOT NULL THEN last_seen_at END)`,
    )
    .join(', ');

const DEVICE_COLUMNS = `device_id, current_user_id, last_user_id, push_token, opt_in, opt_out, uninstalled,
  number_of_sessions, number_of_crashes, app_version, os_version, sdk_version, device_model, device_type, country,
  lang, last_city, last_latitude, last_longitude, utc_offset, timezone, first_seen_at, last_seen_at, verified_user_id,
  first_campaign_received_at, last_campaign_received_at`;

const devicesOfPeople = rowsOfPeople({
  name: 'devices',
  key: deviceKey,
  columns: DEVICE_COLUMNS,
  otherColumns: `entity_id, app_id, received_at, verified_at, ${SAID_AT_COLUMNS.join(', ')}`,
  holds: 'the device, its push token, where and when it was last seen, its last user',
  foundBy: 'device id, if no one else uses the device; the last or present user',
  erasedBy:
    'deleting the row; if another person uses the device, too, emptying the user, the place, and a push token that came with them',
  keptFor: "the entity's [retention](retention.md) after the device was last seen",
  found: `${OWN} UNION ${NAMING}`,
  shown: `app_id, ${DEVICE_COLUMNS}`,
});

const devices: PersonalDataLocation = {
  ...devicesOfPeople,
  async count(deps, entityId, people) {
    const tokens = idsOfType(people, 'push_token');
    // An app's key is enough to send a person's token again and again: later ones do not hold up the erasure.
    const withToken =
      tokens.length === 0
        ? 0
        : await countRows(deps.db, `${WITH_THEIR_TOKEN} AND ($3::timestamptz IS NULL OR received_at < $3)`, [
            entityId,
            tokens,
            deps.writtenBefore ?? null,
          ]);
    return (await devicesOfPeople.count(deps, entityId, people)) + withToken;
  },
  // A device that is another's too, or not theirs, loses last user, place and their push token until its next call.
  async erase(deps, entityId, people) {
    const parameters = rowIdsOf(entityId, people);
    const deleted = await changeFound(
      deps,
      'DELETE FROM devices AS r USING found',
      { key: deviceKey, found: OWN },
      parameters,
    );
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
        { key: deviceKey, found: NAMING },
        parameters,
      ))
    );
  },
};

/** Uses device_users_by_user. Other users of a person's device are not theirs, unless the device itself asks. */
const deviceUsers = rowsOfPeople({
  name: 'device_users',
  key: 'app_id, device_id, user_id',
  columns: 'device_id, user_id, last_seen_at',
  otherColumns: 'entity_id, app_id',
  holds: 'which user used which device',
  foundBy: 'user id',
  erasedBy: 'deleting the rows',
  keptFor: "the entity's [retention](retention.md); longer while the device names the user as its last, or has values",
  found: `SELECT app_id, device_id, user_id FROM device_users WHERE entity_id = $1 AND user_id = ANY ($2)
    UNION SELECT app_id, device_id, user_id FROM device_users WHERE entity_id = $1 AND ${OF_ANY_APP} AND device_id = ANY ($4)`,
  shown: 'app_id, device_id, user_id, last_seen_at',
});

/**
 * Uses the primary key, user_aliases_by_user and user_aliases_by_device. An SDK's claim to an earlier id does not make
 * the person's an alias from that id to another user.
 */
const userAliases = rowsOfPeople({
  name: 'user_aliases',
  key: 'previous_id, user_id',
  columns: 'previous_id, user_id, first_seen_at, device_id',
  otherColumns: 'entity_id, app_id, witnessed, decision, decided_by, decided_at',
  holds: 'the fact that an id became another, and which device said so',
  foundBy: 'either id; the device',
  erasedBy: 'deleting the rows',
  keptFor: "the entity's [retention](retention.md); longer while the earlier id has values",
  found: `SELECT previous_id, user_id FROM user_aliases
      WHERE entity_id = $1 AND previous_id = ANY ($2) AND (previous_id = ANY ($5) OR user_id = ANY ($2))
    UNION SELECT previous_id, user_id FROM user_aliases WHERE entity_id = $1 AND user_id = ANY ($2)
    UNION SELECT previous_id, user_id FROM user_aliases WHERE entity_id = $1 AND device_id = ANY ($3)`,
  shown: 'previous_id, user_id, first_seen_at, app_id, device_id',
});

/** A crash belongs to no person, but its title may quote an error message about one. */
const crashes = textsOfPeople({
  name: 'crashes',
  keys: { id: 'integer' },
  texts: ['title'],
  otherColumns: 'entity_id, app_id, id, identifier, fingerprint, first_seen_at, last_seen_at, occurrences',
  holds: 'nothing, but a title may quote an error message',
  foundBy: 'the id within the title',
  erasedBy: 'replacing the title with `erased`; the crash stays',
  keptFor: "until the last event is gone, and the entity's [retention](retention.md) is over",
  within: 'identifier',
  emptied: `title = '${ERASED}'`,
});

const REFUSED_TEXTS = ['raw', 'message', 'message_id'];

const refusedCalls = textsOfPeople({
  name: 'refused_calls',
  writtenAt: 'received_at',
  keys: { received_at: 'timestamptz', id: 'bigint' },
  texts: REFUSED_TEXTS,
  subjects: 'subjects',
  columns: 'message_id, message_hash, message, raw, customer_hash, subjects',
  otherColumns: 'entity_id, id, received_at, app_id, index, code',
  holds: 'a refused call, and the reason',
  foundBy: 'the type and id that the call gives itself; the id within the texts',
  erasedBy: 'emptying these columns; the rows stay, since counts depend on them',
  keptFor: '30 days',
  within: '(SELECT a.identifier FROM apps a WHERE a.entity_id = $1 AND a.id = refused_calls.app_id)',
  emptied: `raw = NULL, message = '${ERASED}', subjects = NULL,
    customer_hash = ${hashOfNamed(REFUSED_TEXTS, 'left(named.type, 1) || named.id = ANY (subjects)')},
    ${replacedIn('message_id', 'NULL')},
    message_hash = CASE WHEN ${namedIn('message_id')} THEN NULL ELSE message_hash END`,
});

const liveCalls = textsOfPeople({
  name: 'live_calls',
  writtenAt: 'received_at',
  keys: { id: 'bigint' },
  texts: ['call', 'message', 'message_id'],
  subjects: 'subjects',
  columns: 'message, message_id, call, subjects',
  otherColumns: 'entity_id, id, app_id, received_at, outcome, code',
  holds: 'the last 100 calls of an app, shortened',
  foundBy: 'the type and id that the call gives itself; the id within the texts',
  erasedBy: 'deletion',
  keptFor: 'an hour',
  within: '(SELECT a.identifier FROM apps a WHERE a.entity_id = $1 AND a.id = live_calls.app_id)',
});

export const trackingData: PersonalDataLocation[] = [
  sessionHeads,
  sessions,
  events,
  locations,
  devices,
  deviceUsers,
  userAliases,
  crashes,
  refusedCalls,
  liveCalls,
];
