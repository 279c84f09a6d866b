-- Who joined and left segments, and how many a day; and revisions of segments.

-- Raised by each change of a segment, so that a change of an older one can be refused.
alter table segments add column revision integer not null default 1;

-- Counts of a segment by day, in UTC.
create table segment_days (
  entity_id integer not null,
  segment_id integer not null,
  day date not null,
  people bigint,                       -- in the last snapshot of the day; null: none
  people_joined bigint not null default 0,
  people_left bigint not null default 0,
  changes_listed integer not null default 0,  -- rows of the day in segment_changes, which has a bound a day
  primary key (entity_id, segment_id, day),
  foreign key (entity_id, segment_id) references segments on delete cascade
);

create index segment_days_by_age on segment_days (day);

-- The people that a refresh, or a change of a list, added to a segment or removed. No foreign key, as segment_members.
create table segment_changes (
  entity_id integer not null,
  segment_id integer not null,
  id bigint generated always as identity,
  changed_at timestamptz not null,
  person text collate "C" not null,  -- as in segment_members
  has_joined boolean not null,       -- false: left
  primary key (entity_id, segment_id, id)
);

create index segment_changes_by_person on segment_changes (entity_id, person);
create index segment_changes_by_age on segment_changes (changed_at);

-- The sample of fast previews (0023): people of session_heads, devices of people in the sample, and devices without a
-- last user, which may be an only user's.
create index session_heads_sampled on session_heads (entity_id, app_id, (hashtextextended(subject, 1) & 1023), subject)
  where hashtextextended(subject, 1) % 16 = 0;
create index devices_sampled on devices (
    entity_id, app_id, (hashtextextended(coalesce('u' || last_user_id, 'd' || device_id), 1) & 1023), device_id
  ) where hashtextextended(coalesce('u' || last_user_id, 'd' || device_id), 1) % 16 = 0;
create index devices_without_user on devices (entity_id, app_id, device_id) where last_user_id is null;
