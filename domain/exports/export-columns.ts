/** The columns of each exported data type, in the order of the files. */
import type { ExportDataType, ExportFormat } from './export-data-type.ts';

/** `timestamp`: ISO in UTC with milliseconds. `strings`: a list, not in CSV. All may be empty. */
export type ExportColumnKind = 'string' | 'boolean' | 'integer' | 'bigint' | 'double' | 'timestamp' | 'strings';

const SESSION = {
  session_id: 'string',
  application_id: 'string',
  device_id: 'string',
  user_id: 'string',
  app_version: 'string',
  sdk_version: 'string',
  os_version: 'string',
  start_date_utc: 'timestamp',
  start_date_tz: 'string',
  end_date_utc: 'timestamp',
  end_date_tz: 'string',
  duration: 'integer',
  timezone: 'integer',
  timeout: 'integer',
  device_type: 'string',
  device_model: 'string',
  idiom: 'string',
  country: 'string',
  lang: 'string',
} as const;

/** The columns of each type's files, in the order of the reference; `…_tz` carry the device's offset. */
const COLUMNS = {
  sessions: SESSION,
  sessions_with_carrier: { ...SESSION, carrier: 'string' },
  logs: {
    event_id: 'string',
    log_type: 'integer',
    name: 'string',
    date_utc: 'timestamp',
    date_tz: 'string',
    user_id: 'string',
    device_id: 'string',
    session_id: 'string',
    application_id: 'string',
  },
  details: { event_id: 'string', key: 'string', value: 'string' },
  locations: {
    location_id: 'string',
    device_id: 'string',
    application_id: 'string',
    latitude: 'double',
    longitude: 'double',
    session_id: 'string',
    user_id: 'string',
    date_utc: 'timestamp',
  },
  devices: {
    device_id: 'string',
    application_id: 'string',
    current_user_id: 'string',
    users: 'string',
    last_user_id: 'string',
    segments: 'string',
    opt_in: 'boolean',
    opt_out: 'boolean',
    uninstalled: 'boolean',
    number_of_sessions: 'integer',
    number_of_sessions_30d: 'integer',
    total_session_duration: 'bigint',
    total_session_duration_30d: 'bigint',
    last_city: 'string',
    country_code: 'string',
    language_code: 'string',
    app_version: 'string',
    os_version: 'string',
    sdk_version: 'string',
    device_model: 'string',
    device_type: 'string',
    last_location_latitude: 'double',
    last_location_longitude: 'double',
    timezone_offset: 'integer',
    number_of_crashes: 'integer',
    number_of_crashes_30d: 'integer',
    first_campaign_received_at: 'timestamp',
    last_campaign_received_at: 'timestamp',
    first_opened_app_at: 'timestamp',
    last_opened_app_at: 'timestamp',
    updated_at: 'timestamp',
    user_ids: 'strings',
  },
  crashes: {
    crash_id: 'string',
    date: 'timestamp',
    device_id: 'string',
    session_id: 'string',
    user_id: 'string',
    app_version: 'string',
    os_version: 'string',
  },
  campaign_results_per_user: {
    campaign_id: 'string',
    variant: 'string',
    user_id: 'string',
    device_id: 'string',
    date: 'timestamp',
    code: 'string',
  },
  attributes: {
    system_of_record_identifier: 'string',
    customer_attribute_identifier: 'string',
    customer_attribute_key: 'string',
    customer_attribute_value: 'string',
    customer_id_type: 'string',
    customer_id: 'string',
    changed_at: 'timestamp',
    removed: 'boolean',
    customer_attribute_elements: 'strings',
  },
} as const satisfies Record<ExportDataType, Record<string, ExportColumnKind>>;

export type ExportColumn<Type extends ExportDataType> = keyof (typeof COLUMNS)[Type];

export function exportColumns(type: ExportDataType, format: ExportFormat = 'csv'): readonly string[] {
  return exportColumnKinds(type, format).map(([name]) => name);
}

/** A column of its own in Parquet, whose columns hold one type; JSON Lines have a Set among all values. */
const IN_PARQUET_ALONE = 'customer_attribute_elements';

/** Returns names and kinds, in the same order: CSV has no lists. */
export function exportColumnKinds(
  type: ExportDataType,
  format: ExportFormat,
): readonly (readonly [name: string, kind: ExportColumnKind])[] {
  const columns: (readonly [string, ExportColumnKind])[] = Object.entries(COLUMNS[type]);
  if (format === 'parquet') return columns;
  return columns.filter(([name, kind]) => kind !== 'strings' || (format === 'jsonl' && name !== IN_PARQUET_ALONE));
}
