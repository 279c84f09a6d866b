-- When each member of a device's row was said: a call that comes late changes those alone that were said before it. Null: never, or, of a
-- member that stands, before this was known; then it counts as said when the device was last seen. `uninstalled` is said by every call, so
-- its time is last_seen_at.

alter table devices
  add column current_user_id_said_at timestamptz,
  add column last_user_id_said_at timestamptz,
  add column push_token_said_at timestamptz,
  add column opt_in_said_at timestamptz,
  add column opt_out_said_at timestamptz,
  add column app_version_said_at timestamptz,
  add column os_version_said_at timestamptz,
  add column sdk_version_said_at timestamptz,
  add column device_model_said_at timestamptz,
  add column device_type_said_at timestamptz,
  add column country_said_at timestamptz,
  add column lang_said_at timestamptz,
  add column last_city_said_at timestamptz,
  add column last_latitude_said_at timestamptz,
  add column last_longitude_said_at timestamptz,
  add column utc_offset_said_at timestamptz,
  add column timezone_said_at timestamptz;
