alter table sync_runs add column requests bigint not null default 0;

-- The last HTTP requests of a run's connectors.
create table sync_requests (
  entity_id integer not null,
  run_id bigint not null,
  id bigint generated always as identity,
  sent_at timestamptz not null,
  written_at timestamptz not null default now(),
  method text not null,
  path text not null,            -- of the address, without the query
  status smallint,               -- null: no answer came
  milliseconds integer not null,
  primary key (entity_id, run_id, id)
);
