/** The routes of files of what apps sent. */

import * as api from '../../api/files/usage-list-files.ts';
import { returnedFields, type UsageListName } from '../../domain/analytics/usage-lists.ts';
import type { FileQuery } from '../../store/files/file-sources.ts';
import {
  type AskedEntries,
  auditedEntries,
  devicesOfApp,
  devicesOfSegment,
  eventsOfApp,
  locationsOfApp,
  NO_APP,
  sessionsOfApp,
} from '../analytics/usage-filters.ts';
import { requireApp } from '../apps/find-app.ts';
import type { RouteDependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import type { Route } from '../http/route.ts';
import { type AskedFile, fileRoutes } from './file-routes.ts';

type Query = FileQuery<UsageListName>;
type Asked = { caller: Caller; query: { fields?: string[] | undefined } };

function usageListFile(
  kind: UsageListName,
  { caller: { entityId }, query: { fields } }: Asked,
  { secrets }: RouteDependencies,
  { filter, isGrouped = false, subject }: AskedEntries,
): AskedFile<UsageListName> {
  const query: Query = { filter: plain(filter), fields: returnedFields(kind, fields, isGrouped), isGrouped };
  return { kind, query, audits: auditedEntries(secrets, entityId, kind, subject) };
}

function plain(filter: AskedEntries['filter']): Query['filter'] {
  return JSON.parse(JSON.stringify(filter)) as Query['filter'];
}

export const usageListFileRoutes: Route[] = [
  ...fileRoutes([api.exportEvents, api.exportEventsAs], async (input, deps) => {
    const { entityId } = input.caller;
    const app = await requireApp(deps.db, entityId, input.params.app_identifier);
    return usageListFile('events', input, deps, await eventsOfApp(deps.db, input.caller, app, input.query));
  }),
  ...fileRoutes([api.exportSessions, api.exportSessionsAs], async (input, deps) => {
    const app = await requireApp(deps.db, input.caller.entityId, input.params.app_identifier);
    return usageListFile('sessions', input, deps, sessionsOfApp(app, input.query));
  }),
  ...fileRoutes([api.exportDevices, api.exportDevicesAs], async (input, deps) => {
    const { entityId } = input.caller;
    const app = await requireApp(deps.db, entityId, input.params.app_identifier, NO_APP);
    return usageListFile('devices', input, deps, await devicesOfApp(deps.db, input.caller, app, input.query));
  }),
  ...fileRoutes([api.exportSegmentDevices, api.exportSegmentDevicesAs], async (input, deps) => {
    const asked = await devicesOfSegment(deps.db, input.caller, input.params.segment_identifier, input.query);
    return usageListFile('segment_devices', input, deps, asked);
  }),
  ...fileRoutes([api.exportLocations, api.exportLocationsAs], async (input, deps) => {
    const app = await requireApp(deps.db, input.caller.entityId, input.params.app_identifier, NO_APP);
    return usageListFile('locations', input, deps, locationsOfApp(app, input.query));
  }),
];
