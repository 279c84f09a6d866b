-- Analytics: funnels and segments.

-- Steps that people go through one after the other.
create table funnels (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  name text not null,
  description text,
  max_duration integer not null,  -- seconds
  steps json not null,            -- as they were given, with apps by their identifiers
  app_ids integer[] not null,     -- the apps of the steps
  created_by integer references users on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  archived_at timestamptz,
  primary key (entity_id, id),
  unique (entity_id, identifier)
);

-- Sets of an app's people, by filters over their data, or by a list of ids.
create table segments (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  app_id integer not null,
  name text not null,
  description text,
  filters json,                            -- null: a static segment, which is a list of ids
  created_by integer references users on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  last_used_at timestamptz,
  refresh_wanted_at timestamptz not null default now(),  -- when the next refresh is due
  refresh_begun_at timestamptz,  -- of the current refresh, null: none; after a lost refresh other segments go first
  generation integer not null default 0,   -- raised by each change of the filters and each refresh; older steps end
  snapshot_at timestamptz,                 -- of the members and the counts; null: none yet
  failure text,                            -- why the last refresh ended without a snapshot
  people_count bigint not null default 0,  -- people in the segment
  people_total bigint not null default 0,  -- people of the app
  people_push bigint not null default 0,   -- people in the segment that a push can reach
  reach_count bigint not null default 0,   -- devices of the segment's people that have the app
  reach_optin bigint not null default 0,   -- of these, devices that allow pushes
  reach_token bigint not null default 0,   -- of these, devices with a push token
  reach_total bigint not null default 0,   -- devices that have the app
  primary key (entity_id, id),
  unique (entity_id, identifier),
  foreign key (entity_id, app_id) references apps on delete cascade
);

create index segments_to_refresh on segments (refresh_wanted_at);

-- The segments that the filters of a segment name.
create table segment_uses (
  entity_id integer not null,
  segment_id integer not null,
  used_segment_id integer not null,
  primary key (entity_id, segment_id, used_segment_id),
  foreign key (entity_id, segment_id) references segments on delete cascade,
  foreign key (entity_id, used_segment_id) references segments
);

create index segment_uses_by_used on segment_uses (entity_id, used_segment_id);

-- The people of each segment's snapshot. No foreign key: each row would check it.
create table segment_members (
  entity_id integer not null,
  segment_id integer not null,
  person text collate "C" not null,  -- u and the user's id, or d and the device's
  primary key (entity_id, segment_id, person)
);

create index segment_members_by_person on segment_members (entity_id, person);
