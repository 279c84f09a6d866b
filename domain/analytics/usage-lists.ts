/** Fields of the lists of events, sessions, devices and locations, and of their files. */

const DEVICE_FIELDS = [
  'device_id',
  'application_id',
  'current_user_id',
  'users',
  'last_user_id',
  'segments',
  'opt_in',
  'opt_out',
  'uninstalled',
  'number_of_sessions',
  'number_of_sessions_30d',
  'total_session_duration',
  'total_session_duration_30d',
  'last_city',
  'country_code',
  'language_code',
  'app_version',
  'os_version',
  'sdk_version',
  'device_model',
  'device_type',
  'last_location_latitude',
  'last_location_longitude',
  'timezone_offset',
  'number_of_crashes',
  'number_of_crashes_30d',
  'first_campaign_received_at',
  'last_campaign_received_at',
  'first_opened_app_at',
  'last_opened_app_at',
  'updated_at',
] as const;

/** The fields of each list, in the reference's order. */
export const LIST_FIELDS = {
  events: ['event_id', 'log_type', 'name', 'date_utc', 'date_tz', 'user_id', 'device_id', 'session_id', 'detail'],
  sessions: [
    'session_id',
    'application_id',
    'device_id',
    'user_id',
    'app_version',
    'sdk_version',
    'os_version',
    'start_date_utc',
    'start_date_tz',
    'end_date_utc',
    'end_date_tz',
    'duration',
    'timezone',
    'timeout',
    'device_type',
    'device_model',
    'idiom',
    'country',
    'lang',
    'carrier',
  ],
  devices: DEVICE_FIELDS,
  segment_devices: DEVICE_FIELDS,
  locations: [
    'location_id',
    'device_id',
    'application_id',
    'latitude',
    'longitude',
    'session_id',
    'user_id',
    'date_utc',
  ],
} as const;

export type UsageListName = keyof typeof LIST_FIELDS;
export type ListField<List extends UsageListName> = (typeof LIST_FIELDS)[List][number];

/** Forms of list fields in requests (reference: Event, session, device, location). */
export const FIELD_FORMS: Readonly<Record<string, string>> = {
  'users:user_id': 'users',
  'segments:segment_id': 'segments',
  'segments:name': 'segments',
  'segments:description': 'segments',
};

export type SegmentMember = 'segment_id' | 'name' | 'description';

const OF_DEVICES = ['device_id', 'application_id'] as const;

const ALWAYS = {
  events: ['event_id'],
  sessions: ['session_id'],
  devices: OF_DEVICES,
  segment_devices: OF_DEVICES,
  locations: ['location_id'],
} as const satisfies { [List in UsageListName]: readonly ListField<List>[] };

/** Returns the fields of an entry: the requested ones, or all, with its id; grouped, without it. */
export function returnedFields<List extends UsageListName>(
  list: List,
  asked: readonly string[] | undefined,
  isGrouped: boolean,
): ListField<List>[] {
  const [fields, always]: [readonly ListField<List>[], readonly string[]] = [LIST_FIELDS[list], ALWAYS[list]];
  const wanted = new Set<string>(
    asked === undefined || asked.length === 0 ? fields : asked.map((field) => FIELD_FORMS[field] ?? field),
  );
  return fields.filter((field) => (always.includes(field) ? !isGrouped : wanted.has(field)));
}

/** Fields that are numbers in a sheet. Ids stay texts. */
export const NUMBER_FIELDS: ReadonlySet<string> = new Set([
  'log_type',
  'duration',
  'timezone',
  'timeout',
  'number_of_sessions',
  'number_of_sessions_30d',
  'total_session_duration',
  'total_session_duration_30d',
  'last_location_latitude',
  'last_location_longitude',
  'timezone_offset',
  'number_of_crashes',
  'number_of_crashes_30d',
  'latitude',
  'longitude',
]);
