-- What a running job is at: that it waits for a slot of its worker. Null for any other.
alter table imports add column stage text;
alter table sync_runs add column stage text;
alter table export_runs add column stage text;
alter table file_jobs add column stage text;

-- Entities whose feed waits for a slot of its worker.
create table feed_waits (
  entity_id integer primary key references entities on delete cascade,
  since timestamptz not null default now()
);
