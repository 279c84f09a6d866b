/** The operation that counts an app's events by name and day. */

import { z } from 'zod';
import { identifier, queryFlag } from '../core/input.ts';
import { operation } from '../core/operation.ts';

const Hits = z.object({
  period: z.array(z.int()).describe('First and last day, as midnights in UTC, in seconds since the epoch'),
  values: z.record(z.string(), z.int()).describe("Number of events on each day that has some, by the day's midnight"),
  sessions: z.int().describe('Number of sessions with the event'),
});

/** Number of occurrences of an event (reference: Event analytics item). */
export const EventAnalytics = z
  .object({
    identifier: z.int().describe('Identifier of the event definition'),
    log_type: z.int().describe('1 errors, 2 events, 3 background transitions'),
    display_name: z.string(),
    name: z.string(),
    goal: z.boolean().describe('True for a key event'),
    labels: z.array(z.string()),
    hits: z.object({ current: Hits, previous: Hits.optional().describe('The same number of days immediately before') }),
  })
  .meta({ id: 'EventAnalytics' });
export type EventAnalytics = z.output<typeof EventAnalytics>;

export const dayPeriodQuery = {
  sd: z.string().optional().describe('First day: a midnight in UTC, in seconds since the epoch'),
  ed: z.string().optional().describe('Last day, included: a midnight in UTC, in seconds since the epoch'),
};

export const countAppEvents = operation({
  id: 'countAppEvents',
  tag: 'Events',
  right: 'usage_analytics_view',
  method: 'GET',
  path: '/api/apps/:app_identifier/analytics/events',
  summary: 'Count the events of an app by definition and UTC day, with the period before',
  description: '`sd` and `ed` are required.',
  params: z.object({ app_identifier: identifier }),
  query: z.object({ ...dayPeriodQuery, only_current: queryFlag.optional().describe('Leave out the period before') }),
  result: z.record(z.string(), z.array(EventAnalytics)).describe("By the app's identifier"),
});
