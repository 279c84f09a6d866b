/** Files of the lists of events, sessions, devices and locations. */
import { listDevices, listEvents, listLocations, listSegmentDevices, listSessions } from '../analytics/usage-lists.ts';
import { fileExport } from './file-exports.ts';

const SHARED = {
  tag: 'File exports',
  right: 'usage_analytics_view',
  audits: ['export app', 'export customer'],
} as const;

/** Parameters that files lack, since they have no pages (reference: Conventions, 7). */
const PAGED = { page: true, per_page: true, cursor: true } as const;

export const [exportEvents, exportEventsAs] = fileExport({
  ...SHARED,
  id: 'exportEvents',
  path: '/api/apps/:app_identifier/events_export',
  summary: 'Export the events of an app',
  params: listEvents.params!,
  query: listEvents.query!.omit({ ...PAGED, order: true }),
  malformedQuery: listEvents.malformedQuery!,
});

export const [exportSessions, exportSessionsAs] = fileExport({
  ...SHARED,
  id: 'exportSessions',
  path: '/api/apps/:app_identifier/sessions_export',
  summary: 'Export the sessions of an app',
  params: listSessions.params!,
  query: listSessions.query!.omit({ ...PAGED, order: true }),
  malformedQuery: listSessions.malformedQuery!,
});

export const [exportDevices, exportDevicesAs] = fileExport({
  ...SHARED,
  id: 'exportDevices',
  path: '/api/apps/:app_identifier/devices_export',
  summary: 'Export the devices of an app',
  params: listDevices.params!,
  query: listDevices.query!.omit(PAGED),
});

export const [exportSegmentDevices, exportSegmentDevicesAs] = fileExport({
  ...SHARED,
  id: 'exportSegmentDevices',
  path: '/api/segments/:segment_identifier/devices_export',
  summary: 'Export the devices of a segment',
  audits: ['export segment', 'export customer'],
  params: listSegmentDevices.params!,
  query: listSegmentDevices.query!.omit(PAGED),
});

export const [exportLocations, exportLocationsAs] = fileExport({
  ...SHARED,
  id: 'exportLocations',
  path: '/api/apps/:app_identifier/locations_export',
  summary: 'Export the locations of an app',
  params: listLocations.params!,
  query: listLocations.query!.omit({ ...PAGED, order: true }),
  malformedQuery: listLocations.malformedQuery!,
});
