-- How much an event comes: once an app has as many definitions as it may have, those that came least give way to new ones.
alter table event_definitions
  add column days_seen integer not null default 1,     -- days (UTC) on which it came, as far as servers looked
  add column last_seen_on date not null default (now() at time zone 'UTC')::date;

-- Those that stood before this was counted rank above what came on one day alone.
update event_definitions set days_seen = 2;

-- The kinds of errors of an app that came least.
create index crashes_by_occurrences on crashes (entity_id, app_id, occurrences, id);
