import { isoOfDevice } from '../../core/iso-time.ts';
import { foregroundSeconds } from '../../tracking/sessions.ts';
import type { ExportScope } from './export-scope.ts';
import { OF_SESSIONS, ofApps } from './of-apps.ts';
import { appIdentifier, selectList } from './printed.ts';
import { noJoins, type TableSource } from './table-source.ts';

const expressions = (scope: ExportScope) => ({
  session_id: 'r.id::text', application_id: appIdentifier('r.app_id', scope), device_id: 'r.device_id', user_id: 'r.user_id',
  app_version: 'r.app_version', sdk_version: 'r.sdk_version', os_version: 'r.os_version', start_date_utc: 'r.started_at',
  start_date_tz: isoOfDevice('r.started_at', 'r.utc_offset'), end_date_utc: 'r.ended_at',
  end_date_tz: isoOfDevice('r.ended_at', 'r.utc_offset'), duration: foregroundSeconds('r'), timezone: 'r.utc_offset',
  timeout: 'r.timeout', device_type: 'r.device_type', device_model: 'r.device_model', idiom: 'r.idiom', country: 'r.country',
  lang: 'r.lang',
});

export const sessions: TableSource = {
  table: 'sessions',
  isPartitioned: true,
  condition: (scope) => ofApps(scope, OF_SESSIONS),
  joins: noJoins,
  countedJoins: noJoins,
  columns: (scope) => selectList('sessions', expressions(scope), scope.format),
};

export const sessionsWithCarrier: TableSource = {
  ...sessions,
  columns: (scope) => selectList('sessions_with_carrier', { ...expressions(scope), carrier: 'r.carrier' }, scope.format),
};
