-- What became of messages goes to a webhook of the app's owner.

alter table apps add column outcomes_connection text;   -- identifier of a connection; null: none

-- How far an app's outcomes are delivered, in the order of attempts' settled_at and id, from the moment on that a connection was set.
create table outcome_deliveries (
  entity_id integer not null,
  app_id integer not null,
  delivered_at timestamptz not null default now(),
  delivered_id bigint not null default 0,
  sending_at timestamptz,                      -- the end of the batch under way, which stays the same until it is taken
  sending_id bigint,
  tries integer not null default 0,            -- in a row without success
  failing_since timestamptz,
  waits_until timestamptz,
  failure text,
  primary key (entity_id, app_id),
  foreign key (entity_id, app_id) references apps on delete cascade,
  check ((sending_at is null) = (sending_id is null))
);
