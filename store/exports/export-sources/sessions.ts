import { SESSION_COLUMNS } from '../../tracking/list-columns.ts';
import type { ExportScope } from './export-scope.ts';
import { OF_SESSIONS, ofApps } from './of-apps.ts';
import { appIdentifier, selectList } from './printed.ts';
import { noJoins, type TableSource } from './table-source.ts';

const expressions = (scope: ExportScope) => ({ ...SESSION_COLUMNS, application_id: appIdentifier('r.app_id', scope) });

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
  columns: (scope) =>
    selectList('sessions_with_carrier', { ...expressions(scope), carrier: 'r.carrier' }, scope.format),
};
