-- Tracking: the calls of SDKs, and the events, sessions, devices, locations and crashes that they become.

create sequence event_ids;
create sequence session_ids;
create sequence location_ids;

-- The kinds of events of each app, with the names that staff give them. Once an app has its maximum of definitions, the
-- least frequent ones give way to new ones.
create table event_definitions (
  entity_id integer not null,
  app_id integer not null,
  id integer generated always as identity,
  log_type smallint not null check (log_type in (1, 2, 3)),
  name text collate "C" not null,
  display_name text,
  goal boolean not null default false,
  first_seen_at timestamptz not null default now(),
  days_seen integer not null default 1,  -- days (UTC) on which it came, as far as servers looked
  last_seen_on date not null default (now() at time zone 'UTC')::date,
  primary key (entity_id, id),
  unique (entity_id, app_id, log_type, name),
  foreign key (entity_id, app_id) references apps on delete cascade
);

-- Messages of the last 90 days: a repeat is no second event, whatever month its corrected time falls in.
create table event_messages (
  entity_id integer not null,
  app_id integer not null,
  message_hash bytea not null,  -- the first 16 bytes of SHA-256 of the messageId
  received_at timestamptz not null default now(),
  primary key (entity_id, app_id, message_hash)
);

-- No BRIN: a range's bounds never shrink, and new rows fill the pages of deleted ones. Rows of one batch share an
-- entry.
create index event_messages_by_age on event_messages (received_at);

-- Events, partitioned by month. No foreign keys: each event would check them.
create table events (
  entity_id integer not null,
  app_id integer not null,
  happened_at timestamptz not null,
  received_at timestamptz not null default now(),
  id bigint not null default nextval('event_ids'),
  session_id bigint,
  crash_id integer,
  log_type smallint not null,  -- 1 errors, 2 events, 3 background transitions
  utc_offset smallint,         -- minutes, of the device's zone at that time
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

-- Sessions, partitioned by month.
create table sessions (
  entity_id integer not null,
  app_id integer not null,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  received_at timestamptz not null default now(),  -- of its last change
  id bigint not null default nextval('session_ids'),
  background_seconds integer not null default 0,  -- of the time between start and end
  timeout integer not null,           -- seconds
  utc_offset smallint,
  subject text collate "C" not null,  -- d and the device's id; for a call without a device u and the user's id
  device_id text collate "C",
  user_id text collate "C",
  app_version text, sdk_version text, os_version text, device_type text, device_model text, idiom text,
  country text, lang text, carrier text,
  primary key (entity_id, app_id, started_at, id)
) partition by range (started_at);

create index sessions_by_subject on sessions (entity_id, subject, app_id, started_at);
create index sessions_by_user on sessions (entity_id, user_id) where user_id is not null;
create index sessions_received on sessions using brin (received_at) with (pages_per_range = 32, autosummarize = on);

-- The latest session of each subject: nearly every event falls into it, or begins another. A transaction that changes a
-- subject's sessions or device locks this row.
create table session_heads (
  entity_id integer not null,
  app_id integer not null,
  subject text collate "C" not null,
  session_id bigint not null,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  backgrounded_at timestamptz,  -- since when the app is in the background
  primary key (entity_id, app_id, subject)
) with (fillfactor = 70);

-- Devices. Each member has the time when it was said: a late call changes only members that were said before it. Null:
-- never, or unknown, and then it counts as said at last_seen_at. Every call says `uninstalled`: its time is
-- last_seen_at.
create table devices (
  entity_id integer not null,
  app_id integer not null,
  device_id text collate "C" not null,
  current_user_id text collate "C",   -- null: logged out
  last_user_id text collate "C",
  verified_user_id text collate "C",  -- the user that a user token vouched for on it
  verified_at timestamptz,            -- when; a logout that was said before it does not end it
  push_token text,
  opt_in boolean, opt_out boolean, uninstalled boolean,
  number_of_sessions integer not null default 0,
  number_of_crashes integer not null default 0,
  app_version text, os_version text, sdk_version text, device_model text, device_type text,
  country text, lang text, last_city text,
  last_latitude double precision, last_longitude double precision,
  utc_offset smallint,
  timezone text,                      -- IANA name of its clock's zone: campaigns send at the same local time everywhere
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  received_at timestamptz not null default now(),  -- of its last change
  first_campaign_received_at timestamptz,
  last_campaign_received_at timestamptz,
  current_user_id_said_at timestamptz, last_user_id_said_at timestamptz, push_token_said_at timestamptz,
  opt_in_said_at timestamptz, opt_out_said_at timestamptz, app_version_said_at timestamptz,
  os_version_said_at timestamptz, sdk_version_said_at timestamptz, device_model_said_at timestamptz,
  device_type_said_at timestamptz, country_said_at timestamptz, lang_said_at timestamptz,
  last_city_said_at timestamptz, last_latitude_said_at timestamptz, last_longitude_said_at timestamptz,
  utc_offset_said_at timestamptz, timezone_said_at timestamptz,
  primary key (entity_id, app_id, device_id)
) with (fillfactor = 70);

create index devices_by_user on devices (entity_id, last_user_id) where last_user_id is not null;
-- A send looks up each of its recipients. App and user come first, so that the planner does not take the primary key
-- before the first ANALYZE.
create index devices_by_verified_user on devices (entity_id, app_id, verified_user_id)
  where verified_user_id is not null;
-- A push token belongs to the device that sent it last. A hash, since a token may be longer than an index entry.
create index devices_by_push_token on devices (entity_id, app_id, hashtextextended(push_token, 0))
  where push_token is not null;
-- Counts the devices that an app first saw on a day without reading those of all other days. The column hardly ever
-- changes, so updates of devices stay within their page.
create index devices_first_seen on devices (entity_id, app_id, first_seen_at);
create index devices_received on devices using brin (received_at) with (pages_per_range = 32, autosummarize = on);

-- The users of each device.
create table device_users (
  entity_id integer not null,
  app_id integer not null,
  device_id text collate "C" not null,
  user_id text collate "C" not null,
  last_seen_at timestamptz not null,
  primary key (entity_id, app_id, device_id, user_id)
) with (fillfactor = 70);

create index device_users_by_user on device_users (entity_id, user_id);
create index device_users_by_fold on device_users  -- as customers_by_fold
  ((entity_id::text || ' ' || left(normalize(lower(user_id collate pg_c_utf8), nfc), 256)));

-- Earlier ids of users, as SDKs say them. Each is a claim, since every user of an app has its key.
create table user_aliases (
  entity_id integer not null,
  previous_id text collate "C" not null,
  user_id text collate "C" not null,
  app_id integer,              -- of the call that said so first
  device_id text collate "C",  -- of that call; null: it had none, or the row is older than this column
  -- When the claim was made, the earlier id was known from no device but the one that made it, and as no other user's.
  witnessed boolean not null default false,
  decision text check (decision in ('confirmed', 'refused')),  -- of staff; null: none yet
  decided_by integer,          -- a user's id
  decided_at timestamptz,
  first_seen_at timestamptz not null default now(),
  primary key (entity_id, previous_id, user_id)
);

create index user_aliases_by_user on user_aliases (entity_id, user_id);
create index user_aliases_by_device on user_aliases (entity_id, device_id) where device_id is not null;

-- Locations, partitioned by month.
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

-- Kinds of errors; each occurrence is an event.
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

create index crashes_by_occurrences on crashes (entity_id, app_id, occurrences, id);

-- Events, sessions and locations of each app by UTC day, so that a total counts no rows of whole days. A transaction
-- adds a row of its own, so that none waits for another; the sweep folds these into the day's row, whose id is 0. No
-- foreign keys: each transaction would lock its app.
create table tracked_counts (
  entity_id integer not null,
  app_id integer not null,
  day date not null,
  id bigint generated by default as identity,
  events bigint not null default 0,
  sessions bigint not null default 0,
  locations bigint not null default 0,
  primary key (entity_id, app_id, day, id)
);

create index tracked_counts_to_fold on tracked_counts (id) where id > 0;

-- The calls of each transaction: received = accepted + duplicates + refused.
create table ingested_batches (
  entity_id integer not null,
  id bigint generated always as identity,
  received_at timestamptz not null default now(),
  app_id integer,  -- null: calls that named no app
  accepted integer not null,
  duplicates integer not null,
  refused integer not null,
  primary key (entity_id, received_at, id)
);

-- Refused calls, for the owner of the app.
create table refused_calls (
  entity_id integer not null,
  id bigint generated always as identity,
  received_at timestamptz not null default now(),
  app_id integer,
  index integer not null,  -- in the batch, from 0
  message_id text,
  message_hash bytea,      -- as in event_messages
  code text not null,
  message text not null,
  raw text,                -- the call, shortened; null of an erased person
  -- The ids that the call gives itself, each after its type 'u' or 'd': a device's request for its data covers its
  -- calls. Null: the text is searched instead.
  subjects text[],
  customer_hash bytea,     -- of an erased person
  primary key (entity_id, received_at, id)
);

-- A call that is sent again is refused once.
create unique index refused_calls_by_message on refused_calls (entity_id, app_id, message_hash) nulls not distinct
  where message_hash is not null;

-- The last calls of each app, for developers who set up an SDK: 100 of an app, for an hour. A crash of the database may
-- lose them.
create unlogged table live_calls (
  entity_id integer not null references entities on delete cascade,
  id bigint generated always as identity,
  app_id integer,   -- null: the key is shared, and the call named no app
  received_at timestamptz not null,
  outcome text not null check (outcome in ('accepted', 'duplicate', 'refused', 'failed', 'widened')),
  code text,        -- of a refused one
  message text,
  message_id text,
  call text,        -- as it came, shortened
  subjects text[],  -- as in refused_calls
  primary key (entity_id, id)
);

create index live_calls_of_app on live_calls (entity_id, app_id, id);
create index live_calls_by_age on live_calls (received_at);
