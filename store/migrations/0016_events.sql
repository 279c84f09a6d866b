-- What SDKs send: events, sessions, devices and places, and what keeps each call single.

create sequence event_ids;
create sequence session_ids;
create sequence location_ids;

-- Kinds of events that came, for the names that people give them.
create table event_definitions (
  entity_id integer not null,
  app_id integer not null,
  id integer generated always as identity,
  log_type smallint not null check (log_type in (1, 2, 3)),
  name text collate "C" not null,
  display_name text,
  goal boolean not null default false,
  first_seen_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, app_id, log_type, name),
  foreign key (entity_id, app_id) references apps on delete cascade
);

-- One row a message that was taken: a repeat within 90 days is no second event, whatever month its corrected time falls in.
create table event_messages (
  entity_id integer not null,
  app_id integer not null,
  message_hash bytea not null,                 -- the first 16 bytes of SHA-256 of the messageId
  received_at timestamptz not null default now(),
  primary key (entity_id, app_id, message_hash)
);

-- No BRIN: a range's bounds never shrink, and new rows fill the pages of deleted ones. Rows of one batch share an entry.
create index event_messages_by_age on event_messages (received_at);

-- By month. No foreign keys: each event would check them.
create table events (
  entity_id integer not null,
  app_id integer not null,
  happened_at timestamptz not null,
  received_at timestamptz not null default now(),
  id bigint not null default nextval('event_ids'),
  session_id bigint,
  crash_id integer,
  log_type smallint not null,                  -- 1 errors, 2 events, 3 background transitions
  utc_offset smallint,                         -- minutes, of the device's zone at that time
  device_id text collate "C",
  user_id text collate "C",
  name text collate "C" not null,
  detail jsonb,
  primary key (entity_id, app_id, happened_at, id)
) partition by range (happened_at);

-- Without the app: hardly any device has two, and a person is looked for in all of them.
create index events_by_device on events (entity_id, device_id, happened_at) where device_id is not null;
create index events_by_user on events (entity_id, user_id, happened_at) where user_id is not null;
create index events_by_crash on events (entity_id, app_id, crash_id, happened_at) where crash_id is not null;
create index events_received on events using brin (received_at) with (pages_per_range = 32, autosummarize = on);

create table sessions (
  entity_id integer not null,
  app_id integer not null,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  received_at timestamptz not null default now(),   -- of its last change
  id bigint not null default nextval('session_ids'),
  background_seconds integer not null default 0,    -- of the time between start and end
  timeout integer not null,                         -- seconds
  utc_offset smallint,
  subject text collate "C" not null,                -- whose: d and the device's id, or of a call without one u and the user's
  device_id text collate "C",
  user_id text collate "C",
  app_version text, sdk_version text, os_version text, device_type text, device_model text, idiom text,
  country text, lang text, carrier text,
  primary key (entity_id, app_id, started_at, id)
) partition by range (started_at) ;

create index sessions_by_subject on sessions (entity_id, subject, app_id, started_at);
create index sessions_by_user on sessions (entity_id, user_id) where user_id is not null;
create index sessions_received on sessions using brin (received_at) with (pages_per_range = 32, autosummarize = on);

-- The latest session of each subject: nearly every event falls into it, or begins another. Whoever changes a subject's
-- sessions, or its device, holds this row.
create table session_heads (
  entity_id integer not null,
  app_id integer not null,
  subject text collate "C" not null,
  session_id bigint not null,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  backgrounded_at timestamptz,                 -- the app lies in the background since
  primary key (entity_id, app_id, subject)
) with (fillfactor = 70);

create table devices (
  entity_id integer not null,
  app_id integer not null,
  device_id text collate "C" not null,
  current_user_id text collate "C",            -- null: nobody is logged in
  last_user_id text collate "C",
  push_token text,
  opt_in boolean, opt_out boolean, uninstalled boolean,
  number_of_sessions integer not null default 0,
  number_of_crashes integer not null default 0,
  app_version text, os_version text, sdk_version text, device_model text, device_type text,
  country text, lang text, last_city text,
  last_latitude double precision, last_longitude double precision,
  utc_offset smallint,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  received_at timestamptz not null default now(),   -- of its last change
  primary key (entity_id, app_id, device_id)
) with (fillfactor = 70);

create index devices_by_user on devices (entity_id, last_user_id) where last_user_id is not null;
create index devices_received on devices using brin (received_at) with (pages_per_range = 32, autosummarize = on);

create table device_users (
  entity_id integer not null,
  app_id integer not null,
  device_id text collate "C" not null,
  user_id text collate "C" not null,
  last_seen_at timestamptz not null,
  primary key (entity_id, app_id, device_id, user_id)
) with (fillfactor = 70);

create index device_users_by_user on device_users (entity_id, user_id);

create table user_aliases (
  entity_id integer not null,
  previous_id text collate "C" not null,
  user_id text collate "C" not null,
  first_seen_at timestamptz not null default now(),
  primary key (entity_id, previous_id, user_id)
);

create index user_aliases_by_user on user_aliases (entity_id, user_id);

create table locations (
  entity_id integer not null,
  app_id integer not null,
  happened_at timestamptz not null,
  received_at timestamptz not null default now(),
  id bigint not null default nextval('location_ids'),
  session_id bigint,
  latitude double precision not null,
  longitude double precision not null,
  device_id text collate "C",
  user_id text collate "C",
  primary key (entity_id, app_id, happened_at, id)
) partition by range (happened_at);

create index locations_by_device on locations (entity_id, device_id, happened_at) where device_id is not null;
create index locations_by_user on locations (entity_id, user_id, happened_at) where user_id is not null;
create index locations_received on locations using brin (received_at) with (pages_per_range = 32, autosummarize = on);

-- Errors of one kind.
create table crashes (
  entity_id integer not null,
  app_id integer not null,
  id integer generated always as identity,
  identifier text not null,
  fingerprint bytea not null,
  title text not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  occurrences integer not null,
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, app_id, fingerprint)
);

-- What each transaction took in: received = accepted + duplicates + refused.
create table ingested_batches (
  entity_id integer not null,
  id bigint generated always as identity,
  received_at timestamptz not null default now(),
  app_id integer,                              -- null: of calls that told of no app
  accepted integer not null,
  duplicates integer not null,
  refused integer not null,
  primary key (entity_id, received_at, id)
);

create table refused_calls (
  entity_id integer not null,
  id bigint generated always as identity,
  received_at timestamptz not null default now(),
  app_id integer,
  index integer not null,                      -- its place in the batch, from 0
  message_id text,
  message_hash bytea,                          -- as in event_messages
  code text not null,
  message text not null,
  raw text,                                    -- the call, shortened; null of an erased person
  customer_hash bytea,
  primary key (entity_id, received_at, id)
);

-- A call that is sent again is refused once.
create unique index refused_calls_by_message on refused_calls (entity_id, app_id, message_hash) nulls not distinct
  where message_hash is not null;

-- What people ask for by their device. A later release serves them.
create table privacy_requests (
  entity_id integer not null,
  id integer generated always as identity,
  identifier text not null,
  app_id integer not null,
  request_type text not null check (request_type in ('access', 'delete')),
  device_id text collate "C" not null,
  user_id text collate "C",                    -- who was last seen on the device
  received_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier)
);

create index privacy_requests_by_device on privacy_requests (entity_id, device_id);
create index privacy_requests_by_user on privacy_requests (entity_id, user_id) where user_id is not null;

-- Up to when what SDKs sent was last cleared away (store/tracking/event-retention.ts): a day's clearing is done once.
alter table entities add column events_kept_since timestamptz;
