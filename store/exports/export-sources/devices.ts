import { segmentIdsOfDevice } from '../../analytics/segment-devices.ts';
import { crashesOfDevice, DEVICE_COLUMNS, sessionsOfDevice, usersOfDevice } from '../../tracking/list-columns.ts';
import { type ExportScope, literal } from './export-scope.ts';
import { ofApps } from './of-apps.ts';
import { appIdentifier, selectList } from './printed.ts';
import { noJoins, type TableSource } from './table-source.ts';

/** The 30 days before the window's end, so that a repeated export says the same. */
const joins = ({ window }: ExportScope): string => {
  const since = `${literal(window.end)}::timestamptz - interval '30 days'`;
  return [
    usersOfDevice('array_agg(u.user_id ORDER BY u.user_id)'),
    sessionsOfDevice(since),
    crashesOfDevice(since),
  ].join(' ');
};

export const devices: TableSource = {
  table: 'devices',
  isPartitioned: false,
  condition: (scope) => ofApps(scope, { received: 'r.received_at', happened: 'r.received_at' }),
  joins,
  countedJoins: noJoins,
  columns: (scope) =>
    selectList(
      'devices',
      {
        ...DEVICE_COLUMNS,
        application_id: appIdentifier('r.app_id', scope),
        users: `array_to_string(seen.users, ';')`,
        segments: segmentIdsOfDevice(),
        user_ids: `coalesce(seen.users, '{}')`,
      },
      scope.format,
    ),
};
