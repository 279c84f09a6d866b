-- Segments: sets of an app's people, by filters over their data, or by a list of ids.

create table segments (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  app_id integer not null,
  name text not null,
  description text,
  filters json,                                -- null: a static segment, a list of ids
  created_by integer references users on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  last_used_at timestamptz,
  refresh_wanted_at timestamptz not null default now(),   -- when the next refresh is due
  generation integer not null default 0,       -- rises with each change of the filters and each refresh that begins: older steps end
  snapshot_at timestamptz,                     -- of the members and the counts; null: there is none yet
  failure text,                                -- why the last refresh ended without a snapshot
  people_count bigint not null default 0,      -- people in the segment
  people_total bigint not null default 0,      -- people of the app
  people_push bigint not null default 0,       -- people in the segment whom a push can reach
  reach_count bigint not null default 0,       -- devices of the segment's people that have the app
  reach_optin bigint not null default 0,       -- of them, those that allow pushes
  reach_token bigint not null default 0,       -- of them, those with a push token
  reach_total bigint not null default 0,       -- devices that have the app
  primary key (entity_id, id),
  unique (entity_id, identifier),
  foreign key (entity_id, app_id) references apps on delete cascade
);

create index segments_to_refresh on segments (refresh_wanted_at);

-- Which segments the filters of a segment name.
create table segment_uses (
  entity_id integer not null,
  segment_id integer not null,
  used_segment_id integer not null,
  primary key (entity_id, segment_id, used_segment_id),
  foreign key (entity_id, segment_id) references segments on delete cascade,
  foreign key (entity_id, used_segment_id) references segments
);

create index segment_uses_by_used on segment_uses (entity_id, used_segment_id);

-- A person as in analytics: u and the user's id, or d and the device's. No foreign key: each row would check it.
create table segment_members (
  entity_id integer not null,
  segment_id integer not null,
  person text collate "C" not null,
  primary key (entity_id, segment_id, person)
);

create index segment_members_by_person on segment_members (entity_id, person);
