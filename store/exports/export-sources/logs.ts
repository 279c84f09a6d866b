import { isoOfDevice } from '../../core/iso-time.ts';
import { OF_EVENTS, ofApps } from './of-apps.ts';
import { appIdentifier, selectList } from './printed.ts';
import { noJoins, type TableSource } from './table-source.ts';

export const logs: TableSource = {
  table: 'events',
  isPartitioned: true,
  condition: (scope) => ofApps(scope, OF_EVENTS),
  joins: noJoins,
  countedJoins: noJoins,
  columns: (scope) => selectList('logs', {
    event_id: 'r.id::text', log_type: 'r.log_type', name: 'r.name', date_utc: 'r.happened_at',
    date_tz: isoOfDevice('r.happened_at', 'r.utc_offset'), user_id: 'r.user_id', device_id: 'r.device_id',
    session_id: 'r.session_id::text', application_id: appIdentifier('r.app_id', scope),
  }, scope.format),
};
