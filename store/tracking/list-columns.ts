/** Columns of events, sessions, locations and devices in the reference's lists and files. */

import { isoOfDevice } from '../core/iso-time.ts';
import { foregroundSeconds } from './sessions.ts';

/** SQL of the reference's fields over rows `r`, for lists and files; fields in which the two differ are not here. */
export const EVENT_COLUMNS = {
  event_id: 'r.id::text',
  log_type: 'r.log_type',
  name: 'r.name',
  date_utc: 'r.happened_at',
  date_tz: isoOfDevice('r.happened_at', 'r.utc_offset'),
  user_id: 'r.user_id',
  device_id: 'r.device_id',
  session_id: 'r.session_id::text',
};

export const SESSION_COLUMNS = {
  session_id: 'r.id::text',
  device_id: 'r.device_id',
  user_id: 'r.user_id',
  app_version: 'r.app_version',
  sdk_version: 'r.sdk_version',
  os_version: 'r.os_version',
  start_date_utc: 'r.started_at',
  start_date_tz: isoOfDevice('r.started_at', 'r.utc_offset'),
  end_date_utc: 'r.ended_at',
  end_date_tz: isoOfDevice('r.ended_at', 'r.utc_offset'),
  duration: foregroundSeconds('r'),
  timezone: 'r.utc_offset',
  timeout: 'r.timeout',
  device_type: 'r.device_type',
  device_model: 'r.device_model',
  idiom: 'r.idiom',
  country: 'r.country',
  lang: 'r.lang',
};

export const LOCATION_COLUMNS = {
  location_id: 'r.id::text',
  device_id: 'r.device_id',
  latitude: 'r.latitude',
  longitude: 'r.longitude',
  session_id: 'r.session_id::text',
  user_id: 'r.user_id',
  date_utc: 'r.happened_at',
};

/** Needs `sessionsOfDevice` and `crashesOfDevice`. */
export const DEVICE_COLUMNS = {
  device_id: 'r.device_id',
  current_user_id: 'r.current_user_id',
  last_user_id: 'r.last_user_id',
  opt_in: 'r.opt_in',
  opt_out: 'r.opt_out',
  uninstalled: 'r.uninstalled',
  number_of_sessions: 'r.number_of_sessions',
  number_of_sessions_30d: 'had.recent',
  total_session_duration: 'had.seconds',
  total_session_duration_30d: 'had.recent_seconds',
  last_city: 'r.last_city',
  country_code: 'r.country',
  language_code: 'r.lang',
  app_version: 'r.app_version',
  os_version: 'r.os_version',
  sdk_version: 'r.sdk_version',
  device_model: 'r.device_model',
  device_type: 'r.device_type',
  last_location_latitude: 'r.last_latitude',
  last_location_longitude: 'r.last_longitude',
  timezone_offset: 'r.utc_offset',
  number_of_crashes: 'r.number_of_crashes',
  number_of_crashes_30d: 'crashed.recent',
  first_campaign_received_at: 'r.first_campaign_received_at',
  last_campaign_received_at: 'r.last_campaign_received_at',
  first_opened_app_at: 'r.first_seen_at',
  last_opened_app_at: 'r.last_seen_at',
  updated_at: 'r.received_at',
};

/** Uses the key of device_users. */
export function usersOfDevice(aggregated: string): string {
  return `CROSS JOIN LATERAL (
    SELECT ${aggregated} AS users FROM device_users u
    WHERE u.entity_id = r.entity_id AND u.app_id = r.app_id AND u.device_id = r.device_id) seen`;
}

/** Returns a join with the sessions of a device; recent ones began at `since` or later. Uses sessions_by_subject. */
export function sessionsOfDevice(since: string): string {
  return `CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE s.started_at >= ${since}) AS recent, coalesce(sum(${foregroundSeconds('s')}), 0)::bigint AS seconds,
      coalesce(sum(${foregroundSeconds('s')}) FILTER (WHERE s.started_at >= ${since}), 0)::bigint AS recent_seconds
    FROM sessions s
    WHERE s.entity_id = r.entity_id AND s.subject = 'd' || r.device_id AND s.app_id = r.app_id) had`;
}

/** Uses events_by_device. */
export function crashesOfDevice(since: string): string {
  return `CROSS JOIN LATERAL (
    SELECT CASE r.number_of_crashes WHEN 0 THEN 0 ELSE (
      SELECT count(*) FROM events e
      WHERE e.entity_id = r.entity_id AND e.device_id = r.device_id AND e.happened_at >= ${since} AND e.app_id = r.app_id
        AND e.log_type = 1) END AS recent) crashed`;
}
