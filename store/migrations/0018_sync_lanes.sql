-- Batches of records on their way to attributes. A batch is written down as the source gave it, which commits the source's place
-- behind it; then two sessions merge its records, each those of its own customers.
create table sync_pinned_batches (
  entity_id integer not null,
  run_id bigint not null,
  number integer not null,                     -- of the run's batches, from 1
  records_before bigint not null,              -- of the run, up to it
  position text,                               -- of the source, behind it
  items text not null,                         -- JSON
  primary key (entity_id, run_id, number)
);

alter table sync_pinned_batches alter column items set storage external;

alter table sync_runs
  add column batches_taken integer not null default 0,         -- written down, or merged at once
  add column records_taken bigint not null default 0,          -- of these batches
  add column lanes_done integer[] not null default '{0,0}';    -- the last batch of which each lane has merged its records
update sync_runs set records_taken = records_read;
