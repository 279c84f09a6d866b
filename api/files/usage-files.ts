/** Files about the usage of apps that have no list (reference: Data exports, 4), and a day's occurrences of a crash. */

import { z } from 'zod';
import { dayPeriodQuery } from '../analytics/event-analytics.ts';
import { commaListOf, identifier, queryFlag } from '../core/input.ts';
import { fileExport } from './file-exports.ts';

/** By default six days. */
const optionalDays = (which: string) => ({
  sd: dayPeriodQuery.sd.describe(
    `First day: a midnight in UTC, in seconds since the epoch; without it and \`ed\`, ${which}`,
  ),
  ed: dayPeriodQuery.ed,
});

const aliases = queryFlag.optional().describe('Count people by the ids that an app has made of theirs (aliases)');

export const exportPerformance = fileExport({
  id: 'exportPerformance',
  tag: 'File exports',
  right: 'usage_analytics_view',
  path: '/api/performance_export',
  summary: 'Export sessions, people, errors and new devices of some apps by UTC day',
  audits: 'export app',
  query: z.object({ apps: commaListOf(identifier), ...dayPeriodQuery, aliases }),
});

export const exportDownloadMetrics = fileExport({
  id: 'exportDownloadMetrics',
  tag: 'File exports',
  right: 'downloads',
  path: '/api/apps/:app_identifier/analytics/download_metrics',
  summary: 'Export sessions, people, errors and new devices of an app by UTC day',
  audits: 'export app',
  params: z.object({ app_identifier: identifier }),
  query: z.object({ ...dayPeriodQuery, aliases }),
});

export const exportEventCounts = fileExport({
  id: 'exportEventCounts',
  tag: 'File exports',
  right: 'usage_analytics_view',
  path: '/api/events_export',
  summary: "Export hits, people and sessions of an app's events by UTC day",
  audits: 'export app',
  query: z.object({ app: identifier, ...optionalDays('the last six days'), aliases }),
});

const MAX_EVENT_ID = 2 ** 31 - 1;

export const exportEventDetails = fileExport({
  id: 'exportEventDetails',
  tag: 'File exports',
  right: 'usage_analytics_view',
  path: '/api/event_details_export',
  summary: 'Export hits, people and sessions of each detail of an event by UTC day',
  audits: 'export app',
  query: z.object({
    app: identifier,
    event_id: z
      .string()
      .regex(/^\d{1,10}$/, 'must be the whole number that the event definition has as identifier')
      .transform(Number)
      .refine((id) => id <= MAX_EVENT_ID, `must be at most ${MAX_EVENT_ID}`)
      .describe('Identifier of the event definition'),
    ...optionalDays('the last six days of the previous month'),
    aliases,
  }),
});

export const exportCrashOccurrences = fileExport({
  id: 'exportCrashOccurrences',
  tag: 'File exports',
  path: '/api/crashes/:crash_identifier/export_occurrences',
  summary: 'Export the occurrences of a crash on a UTC day',
  audits: 'export crash',
  malformedQuery: { elements: ['id', 'date'], status: 'bad_request', message: 'id or start_day not provided' },
  params: z.object({ crash_identifier: identifier }),
  query: z.object({ id: identifier.describe('Identifier of the crash, as in the path'), date: z.iso.date() }),
});
