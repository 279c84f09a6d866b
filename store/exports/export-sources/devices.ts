import { foregroundSeconds } from '../../tracking/sessions.ts';
import { type ExportScope, literal } from './export-scope.ts';
import { ofApps } from './of-apps.ts';
import { appIdentifier, selectList } from './printed.ts';
import { noJoins, type TableSource } from './table-source.ts';

/**
 * Of each device: who was seen on it, by its key; its sessions, by sessions_by_subject; its errors, by events_by_device. The
 * 30 days are those before the window's end, so that a window that is exported again tells the same.
 */
const joins = ({ window }: ExportScope): string => {
  const since = `${literal(window.end)}::timestamptz - interval '30 days'`;
  return `
  CROSS JOIN LATERAL (
    SELECT string_agg(u.user_id, ';' ORDER BY u.user_id) AS users FROM device_users u
    WHERE u.entity_id = r.entity_id AND u.app_id = r.app_id AND u.device_id = r.device_id) seen
  CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE s.started_at >= ${since}) AS recent, coalesce(sum(${foregroundSeconds('s')}), 0)::bigint AS seconds,
      coalesce(sum(${foregroundSeconds('s')}) FILTER (WHERE s.started_at >= ${since}), 0)::bigint AS recent_seconds
    FROM sessions s
    WHERE s.entity_id = r.entity_id AND s.subject = 'd' || r.device_id AND s.app_id = r.app_id) had
  CROSS JOIN LATERAL (
    SELECT CASE r.number_of_crashes WHEN 0 THEN 0 ELSE (
      SELECT count(*) FROM events e
      WHERE e.entity_id = r.entity_id AND e.device_id = r.device_id AND e.happened_at >= ${since} AND e.app_id = r.app_id
        AND e.log_type = 1) END AS recent) crashed`;
};

export const devices: TableSource = {
  table: 'devices',
  isPartitioned: false,
  condition: (scope) => ofApps(scope, { received: 'r.received_at', happened: 'r.received_at' }),
  joins,
  countedJoins: noJoins,
  columns: (scope) => selectList('devices', {
    device_id: 'r.device_id', application_id: appIdentifier('r.app_id', scope), current_user_id: 'r.current_user_id',
    users: 'seen.users', last_user_id: 'r.last_user_id', segments: 'NULL::text', opt_in: 'r.opt_in', opt_out: 'r.opt_out',
    uninstalled: 'r.uninstalled', number_of_sessions: 'r.number_of_sessions', number_of_sessions_30d: 'had.recent',
    total_session_duration: 'had.seconds', total_session_duration_30d: 'had.recent_seconds', last_city: 'r.last_city',
    country_code: 'r.country', language_code: 'r.lang', app_version: 'r.app_version', os_version: 'r.os_version',
    sdk_version: 'r.sdk_version', device_model: 'r.device_model', device_type: 'r.device_type',
    last_location_latitude: 'r.last_latitude', last_location_longitude: 'r.last_longitude', timezone_offset: 'r.utc_offset',
    number_of_crashes: 'r.number_of_crashes', number_of_crashes_30d: 'crashed.recent',
    first_campaign_received_at: 'NULL::timestamptz', last_campaign_received_at: 'NULL::timestamptz',
    first_opened_app_at: 'r.first_seen_at', last_opened_app_at: 'r.last_seen_at', updated_at: 'r.received_at',
  }, scope.format),
};
