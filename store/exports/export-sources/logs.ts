import { EVENT_COLUMNS } from '../../tracking/list-columns.ts';
import { OF_EVENTS, ofApps } from './of-apps.ts';
import { appIdentifier, selectList } from './printed.ts';
import { noJoins, type TableSource } from './table-source.ts';

export const logs: TableSource = {
  table: 'events',
  isPartitioned: true,
  condition: (scope) => ofApps(scope, OF_EVENTS),
  joins: noJoins,
  countedJoins: noJoins,
  columns: (scope) =>
    selectList('logs', { ...EVENT_COLUMNS, application_id: appIdentifier('r.app_id', scope) }, scope.format),
};
