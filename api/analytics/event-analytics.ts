/** Operations that count an app's events by name and day, its days in figures, and an event's values. */

import { z } from 'zod';
import { identifier, queryFlag, text } from '../core/input.ts';
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

const AppDay = z
  .object({
    date: z.iso.date().describe('In UTC'),
    events: z.int(),
    sessions: z.int().describe('Sessions that began on that day'),
    people: z.int().optional().describe('People with a session that began on that day'),
    crashes: z.int().describe('Errors of known crashes'),
    new_devices: z.int().describe('Devices that the app first saw on that day'),
  })
  .meta({ id: 'AppDay' });

/** Usage of an app by day. */
export const AppPeriod = z
  .object({
    days: z.array(AppDay).describe('Each day, also one without events'),
    people: z.int().optional().describe('People with a session that began in the period, each once'),
  })
  .meta({ id: 'AppPeriod' });
export type AppPeriod = z.output<typeof AppPeriod>;

const SHARED = { tag: 'Events', right: 'usage_analytics_view', method: 'GET' } as const;
const ofApp = z.object({ app_identifier: identifier });

export const countAppDays = operation({
  ...SHARED,
  id: 'countAppDays',
  path: '/api/apps/:app_identifier/analytics/days',
  summary: 'Count the events, sessions, people, crashes and new devices of an app by UTC day, with the period before',
  description: '`sd` and `ed` are required.',
  params: ofApp,
  query: z.object({
    ...dayPeriodQuery,
    only_current: queryFlag.optional().describe('Leave out the period before'),
    people: queryFlag
      .optional()
      .describe('False: leave out people, whose count takes the longest; the rest is there at once'),
    aliases: queryFlag.optional().describe('Count people by the ids that an app has made of theirs (aliases)'),
  }),
  result: z.object({
    current: AppPeriod,
    previous: AppPeriod.optional().describe('The same number of days immediately before'),
  }),
});

/** A member of an event's detail. */
export const EventMember = z
  .object({
    key: z.string().describe('Empty for a detail that is a text'),
    events: z.int().describe('Events with this member'),
    values: z
      .array(z.object({ value: z.string(), events: z.int() }))
      .describe('The most frequent values that at least three people have sent, as texts: up to 20'),
    other_values: z.int().describe('Number of other values: rarer ones, and those of fewer than three people'),
  })
  .meta({ id: 'EventMember' });

export const listEventValues = operation({
  ...SHARED,
  id: 'listEventValues',
  path: '/api/apps/:app_identifier/analytics/event_values',
  summary: "List the members of an event's detail with their most frequent values, to choose from",
  description:
    'Reads the newest 10,000 such events among the newest 1,000,000 of the app in the period. No value or member that ' +
    'fewer than three people have sent is shown. Without `sd` and `ed`, the last 30 days count.',
  params: ofApp,
  query: z.object({
    name: text({ max: 256 }).describe("The event's name"),
    log_type: z.enum(['1', '2', '3']).optional().describe('1 errors, 2 events (default), 3 background transitions'),
    ...dayPeriodQuery,
  }),
  result: z.object({
    events: z.int().describe('Number of events that were read'),
    is_whole: z.boolean().describe('True: these are all such events of the period'),
    members: z.array(EventMember).describe('The most frequent first: up to 100'),
  }),
});
