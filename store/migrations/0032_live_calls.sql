-- The last calls of each app as they were taken or refused, for those who point an SDK here: 100 of an app, for an hour. They are written
-- apart from what the calls bring, and a crash of the database may lose them.
create unlogged table live_calls (
  entity_id integer not null references entities on delete cascade,
  id bigint generated always as identity,
  app_id integer,                              -- null: the key is shared, and the call told of no app
  received_at timestamptz not null,
  outcome text not null check (outcome in ('accepted', 'duplicate', 'refused')),
  code text,                                   -- of a refused one
  message text,
  message_id text,
  call text,                                   -- as it came, shortened
  primary key (entity_id, id)
);

create index live_calls_of_app on live_calls (entity_id, app_id, id);
create index live_calls_by_age on live_calls (received_at);
