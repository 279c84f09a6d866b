/** Lists of events, sessions, devices and locations (reference: Events, Sessions, Devices, Locations). */

import { z } from 'zod';
import { FIELD_FORMS, LIST_FIELDS, type UsageListName } from '../../domain/analytics/usage-lists.ts';
import { sayUnknown } from '../../domain/text/say-unknown.ts';
import { isStorable } from '../../domain/text/text-limits.ts';
import { commaList, customerId, identifier, isoDateOrDatetime, queryFlag } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';

const SHARED = { method: 'GET', right: 'usage_analytics_view' } as const;
const ofApp = z.object({ app_identifier: identifier });
const wrongDate = {
  elements: ['since_date', 'until_date', 'received_since'],
  status: 'bad_request',
  message: 'Wrong date format',
} as const;

function fieldsOf<L extends UsageListName>(list: L) {
  const known: readonly string[] = LIST_FIELDS[list];
  return commaList
    .check((ctx) => {
      const unknown = ctx.value.find((field) => !known.includes(FIELD_FORMS[field] ?? field));
      if (unknown !== undefined)
        ctx.issues.push({ code: 'custom', message: sayUnknown(unknown, [...known]), input: ctx.value });
    })
    .optional()
    .describe(`Comma-separated; by default all of ${known.join(', ')}`);
}

const paged = {
  ...pageQuery,
  cursor: z
    .string()
    .optional()
    .describe('From `navigation.next`: the list continues there, as it was when you asked for its first page'),
};

const listQuery = {
  ...paged,
  since_date: isoDateOrDatetime.optional().describe('Only from then on; a date alone is its midnight in UTC'),
  until_date: isoDateOrDatetime.optional().describe('Only up to then, included'),
  received_since: isoDateOrDatetime
    .optional()
    .describe(
      'Only what Millrace received, or changed, from then on, also if it happened ' +
        'earlier: send `received_until` of the last answer',
    ),
  order: z
    .enum(['asc', 'desc'])
    .optional()
    .describe(
      'asc (default): oldest first; desc: newest first. Combinations of `group` are in the order of their fields',
    ),
};

function listOf<R extends z.ZodType>(item: R, id: string) {
  return pageOf(item)
    .extend({
      received_until: z.iso
        .datetime()
        .optional()
        .describe(
          'Only with received_since, on the page that no cursor asked for: send it as received_since the next time',
        ),
    })
    .meta({ id });
}

/** An empty list filters nothing. */
const filter = commaList
  .pipe(z.array(z.string().refine(isStorable, 'must not hold NUL or half a surrogate pair')))
  .transform((values) => (values.length === 0 ? undefined : values))
  .optional();

const ofSegments = filter.describe('Comma-separated; those of people who are in one of these segments of any app');

const eventQuery = {
  ...listQuery,
  fields: fieldsOf('events'),
  session_ids: filter,
  names: filter,
  details: filter.describe('Comma-separated; events whose detail, or one of its members, is one of these'),
  group: queryFlag
    .optional()
    .describe(
      'Count the events for each combination of the fields, without event_id; since_date is then at ' +
        'most 60 days before until_date, or before now',
    ),
};

const text = z.string().nullable();
const instant = z.iso.datetime().nullable();
const localTime = z.iso
  .datetime({ offset: true })
  .nullable()
  .describe('In the time zone of the device; null if it is unknown');

/** An event, without the fields that the request leaves out (reference: Event, session, device, location). */
export const Event = z
  .object({
    event_id: z.string().describe('Absent if grouped'),
    log_type: z.int().describe('1 errors, 2 events, 3 background transitions'),
    name: z.string(),
    date_utc: instant,
    date_tz: localTime,
    user_id: text,
    device_id: text,
    session_id: text,
    detail: z.json().describe('Detail that the app sent with the event: a string or an object'),
    count: z.int().describe('Number of such events; only if grouped'),
  })
  .partial()
  .meta({ id: 'Event' });

export const Session = z
  .object({
    session_id: z.string(),
    application_id: z.string(),
    device_id: text,
    user_id: text,
    app_version: text,
    sdk_version: text,
    os_version: text,
    start_date_utc: instant,
    start_date_tz: localTime,
    end_date_utc: instant,
    end_date_tz: localTime,
    duration: z.int().describe('Seconds in the foreground'),
    timezone: z.int().nullable().describe("Minutes by which the device's clock is ahead of UTC"),
    timeout: z.int().describe('Seconds out of the app after which the session ends'),
    device_type: text,
    device_model: text,
    idiom: text,
    country: text,
    lang: text,
    carrier: text,
  })
  .partial()
  .required({ session_id: true })
  .meta({ id: 'TrackedSession' });

export const Location = z
  .object({
    location_id: z.string(),
    device_id: text,
    application_id: z.string(),
    latitude: z.number(),
    longitude: z.number(),
    session_id: text,
    user_id: text,
    date_utc: instant,
  })
  .partial()
  .required({ location_id: true })
  .meta({ id: 'Location' });

const flag = z.boolean().nullable();
const count = z.int();

const SegmentOfDevice = z
  .object({
    segment_id: z.string(),
    name: z.string().optional().describe('Only if you ask for segments:name'),
    description: text.optional().describe('Only if you ask for segments:description'),
  })
  .meta({ id: 'SegmentOfDevice' });

export const Device = z
  .object({
    device_id: z.string(),
    application_id: z.string(),
    current_user_id: text,
    users: z.array(z.object({ user_id: z.string() })),
    last_user_id: text,
    segments: z.array(SegmentOfDevice),
    opt_in: flag,
    opt_out: flag,
    uninstalled: flag,
    number_of_sessions: count,
    number_of_sessions_30d: count,
    total_session_duration: count.describe('Seconds in the foreground'),
    total_session_duration_30d: count,
    last_city: text,
    country_code: text,
    language_code: text,
    app_version: text,
    os_version: text,
    sdk_version: text,
    device_model: text,
    device_type: text,
    last_location_latitude: z.number().nullable(),
    last_location_longitude: z.number().nullable(),
    timezone_offset: z.int().nullable().describe("Minutes by which the device's clock is ahead of UTC"),
    number_of_crashes: count,
    number_of_crashes_30d: count,
    first_campaign_received_at: instant,
    last_campaign_received_at: instant,
    first_opened_app_at: instant,
    last_opened_app_at: instant,
    updated_at: instant,
  })
  .partial()
  .required({ device_id: true, application_id: true })
  .meta({ id: 'Device' });
export type Device = z.output<typeof Device>;

const EVENTS = { ...SHARED, tag: 'Events', malformedQuery: wrongDate, result: listOf(Event, 'EventPage') } as const;

export const listEvents = operation({
  ...EVENTS,
  id: 'listEvents',
  path: '/api/apps/:app_identifier/events',
  summary: 'List the events of an app, oldest first',
  audits: ['read app', 'read customer'],
  params: ofApp,
  query: z.object({ ...eventQuery, device_ids: filter, user_ids: filter, segment_ids: ofSegments }),
});

export const viewEvent = operation({
  ...SHARED,
  tag: 'Events',
  id: 'viewEvent',
  path: '/api/apps/:app_identifier/events/:event_identifier',
  summary: 'Read an event of an app',
  audits: 'read customer',
  params: ofApp.extend({ event_identifier: identifier }),
  query: z.object({ fields: fieldsOf('events') }),
  result: Event,
});

export const listDeviceEvents = operation({
  ...EVENTS,
  id: 'listDeviceEvents',
  path: '/api/apps/:app_identifier/devices/:device_identifier/events',
  summary: 'List the events of a device, oldest first',
  audits: 'read customer',
  params: ofApp.extend({ device_identifier: customerId }),
  query: z.object({ ...eventQuery, user_ids: filter }),
});

export const listUserEvents = operation({
  ...EVENTS,
  id: 'listUserEvents',
  path: '/api/users/:user_id/events',
  summary: 'List the events of a user in all apps, oldest first',
  audits: 'read customer',
  params: z.object({ user_id: customerId }),
  query: z.object({
    ...eventQuery,
    device_ids: filter,
    application_ids: filter,
    aliases: queryFlag
      .optional()
      .describe('Also the events of ids that an app has made this user (aliases), in that app'),
  }),
});

export const listSessions = operation({
  ...SHARED,
  tag: 'Sessions',
  id: 'listSessions',
  path: '/api/apps/:app_identifier/sessions',
  summary: 'List the sessions of an app, oldest first',
  audits: ['read app', 'read customer'],
  malformedQuery: wrongDate,
  params: ofApp,
  query: z.object({
    ...listQuery,
    fields: fieldsOf('sessions'),
    device_ids: filter,
    user_ids: filter,
    app_versions: filter,
    countries: filter,
    langs: filter,
  }),
  result: listOf(Session, 'SessionPage'),
});

const degrees = z
  .string()
  .regex(/^-?\d{1,3}(\.\d{1,20})?$/, 'must be a number of degrees, such as 48.85')
  .transform(Number)
  .optional();

export const listLocations = operation({
  ...SHARED,
  tag: 'Locations',
  id: 'listLocations',
  path: '/api/apps/:app_identifier/locations',
  summary: 'List the locations of an app, oldest first',
  audits: ['read app', 'read customer'],
  malformedQuery: wrongDate,
  params: ofApp,
  query: z.object({
    ...listQuery,
    fields: fieldsOf('locations'),
    session_ids: filter,
    device_ids: filter,
    latitude: degrees,
    longitude: degrees,
  }),
  result: listOf(Location, 'LocationPage'),
});

const DEVICES = { ...SHARED, tag: 'Devices' } as const;
const deviceFields = fieldsOf('devices').describe(
  'Comma-separated; by default all. segments has the id of each segment; ' +
    'segments:name and segments:description add these. Also users:user_id and segments:segment_id',
);
const updatedSince = isoDateOrDatetime
  .optional()
  .describe('Only devices that changed from then on; a date alone is its midnight in UTC');

export const listDevices = operation({
  ...DEVICES,
  id: 'listDevices',
  path: '/api/apps/:app_identifier/devices',
  summary: 'List the devices of an app, by their ids',
  audits: ['read app', 'read customer'],
  params: ofApp,
  query: z.object({
    ...paged,
    fields: deviceFields,
    current_user_ids: filter,
    device_ids: filter,
    segment_ids: ofSegments,
    updated_since: updatedSince,
  }),
  result: pageOf(Device),
});

export const listSegmentDevices = operation({
  ...DEVICES,
  id: 'listSegmentDevices',
  path: '/api/segments/:segment_identifier/devices',
  summary: "List the devices of a segment's people in its app, by person",
  audits: ['read segment', 'read customer'],
  params: z.object({ segment_identifier: identifier }),
  query: z.object({ ...paged, fields: deviceFields, current_user_ids: filter, updated_since: updatedSince }),
  result: pageOf(Device),
});

export const viewDevice = operation({
  ...DEVICES,
  id: 'viewDevice',
  path: '/api/apps/:app_identifier/devices/:device_identifier',
  summary: 'Read a device of an app',
  audits: 'read customer',
  params: ofApp.extend({ device_identifier: customerId }),
  query: z.object({ fields: deviceFields }),
  result: Device,
});
