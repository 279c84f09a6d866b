import { OF_EVENTS, ofApps } from './of-apps.ts';
import { appIdentifier, selectList } from './printed.ts';
import { noJoins, type TableSource } from './table-source.ts';

export const locations: TableSource = {
  table: 'locations',
  isPartitioned: true,
  condition: (scope) => ofApps(scope, OF_EVENTS),
  joins: noJoins,
  countedJoins: noJoins,
  columns: (scope) => selectList('locations', {
    location_id: 'r.id::text', device_id: 'r.device_id', application_id: appIdentifier('r.app_id', scope), latitude: 'r.latitude',
    longitude: 'r.longitude', session_id: 'r.session_id::text', user_id: 'r.user_id', date_utc: 'r.happened_at',
  }, scope.format),
};
