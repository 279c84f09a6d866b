-- Syncs: which stream of a connection goes where, their runs, and what is known of each record.

create table syncs (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  name text not null,
  connection_id integer not null,              -- the source
  stream text not null,
  sor_id integer,                              -- the destination: the attributes of a SoR, or
  destination_id integer,                      -- a stream of a connection, whose records these of its fields name
  destination_stream text,
  destination_key text[],
  mapping jsonb not null,
  mode text not null check (mode in ('full', 'incremental')),
  cursor_field text,                           -- null where the source keeps its own state
  removes boolean not null default false,
  removal_limit integer not null check (removal_limit between 0 and 100),
  schedule jsonb,
  schema_rule text not null check (schema_rule in ('stop', 'ignore', 'follow')),
  alerts jsonb not null,
  revision integer not null default 1,         -- raised by each change of the above
  cursor text,                                 -- where an incremental reading goes on: JSON that the connector understands
  known_fields jsonb,                          -- the source's fields, by which a change of them is noticed
  failures integer not null default 0,         -- runs that failed since the last that didn't
  paused_at timestamptz,
  paused_reason text,
  scheduled_until timestamptz,                 -- the last instant that Temporal's Schedule has been given
  created_by integer references users on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,                      -- the row stays until its runs are gone
  primary key (entity_id, id),
  unique (entity_id, identifier),
  check ((sor_id is null) <> (destination_id is null)),
  check ((destination_id is null) = (destination_stream is null) and (destination_id is null) = (destination_key is null))
);

create unique index syncs_by_name on syncs (entity_id, name) where deleted_at is null;
create index syncs_by_creator on syncs (created_by);
create index syncs_scheduled on syncs (scheduled_until) where schedule is not null and paused_at is null and deleted_at is null;

create table sync_runs (
  entity_id integer not null references entities on delete cascade,
  -- From the imports' own sequence: import_errors holds the errors of both, told apart by this number.
  id bigint not null default nextval(pg_get_serial_sequence('imports', 'id')),
  identifier text not null,
  sync_id integer not null,
  cause text not null check (cause in ('schedule', 'request', 'redrive')),
  requested_by integer,                        -- a user's id
  scheduled_for timestamptz,
  covers timestamptz[] not null default '{}',  -- scheduled times that this run stands for besides its own
  dry_run boolean not null default false,
  dry_run_records integer,                     -- so many are looked at
  fresh boolean not null default false,        -- from the beginning, whatever is known
  removals_confirmed boolean not null default false,
  root_id bigint,                              -- the run whose errors this one re-drives
  state text not null default 'accepted' check (state in ('accepted', 'running', 'finished', 'failed', 'canceled')),
  generation integer not null default 0,       -- raised when a workflow is given up; steps of older ones end
  run_id text,                                 -- firstExecutionRunId of the workflow that claimed the row
  received_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz,
  cursor_before text,
  position text,                               -- all before it is done
  is_begun boolean not null default false,     -- position counts, also where it is null
  is_read boolean not null default false,      -- to the end
  records_read bigint not null default 0,
  records_written bigint not null default 0,
  records_unchanged bigint not null default 0,
  records_ignored bigint not null default 0,
  records_failed bigint not null default 0,
  unnamed bigint not null default 0,           -- of the failed: nobody can tell which record it was
  errors_by_type jsonb not null default '{}',
  bytes bigint not null default 0,
  removed bigint not null default 0,
  removal text check (removal in ('done', 'held', 'skipped')),
  removal_reason text,
  schema_change jsonb,
  unmapped_fields text[] not null default '{}',
  missing_fields text[] not null default '{}', -- that the mapping names, and the source does not tell of
  tries integer not null default 0,            -- of the source, since it last brought something
  fault text,                                  -- why the last one came to nothing
  waits_until timestamptz,
  failure_status text,
  failure text,
  sample jsonb,                                -- of a dry run
  mail_state text check (mail_state in ('sending', 'sent', 'not_sent', 'unknown')),
  mail_tries integer not null default 0,
  mail_reason text,
  alert text,                                  -- what there is to be mailed
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, sync_id, scheduled_for),
  check (records_read = records_written + records_unchanged + records_ignored + records_failed)
) with (fillfactor = 50);                      -- updated with every batch

create unique index one_running_sync_run on sync_runs (entity_id, sync_id) where state = 'running' and not dry_run;
create index sync_runs_of_sync on sync_runs (entity_id, sync_id, id);
create index sync_runs_under_way on sync_runs (received_at) where state in ('accepted', 'running');
create index sync_runs_by_age on sync_runs (ended_at) where ended_at is not null;
create index sync_runs_by_root on sync_runs (entity_id, root_id) where root_id is not null;

-- What a sync last wrote of each record, by a checksum: what is the same is not written again, and what a full reading
-- does not bring any more is known.
create table sync_records (
  entity_id integer not null,
  sync_id integer not null,
  key text collate "C" not null,               -- the customer's id, or of another destination its key fields as a JSON array
  customer_id text collate "C",                -- of another destination, where the sync names the customer
  checksum bytea,                              -- null: the last one could not be written
  run_id bigint not null,                      -- the run that last wrote it, or failed to
  seen_by bigint,                              -- the last run that saw it, of a sync that removes what vanished
  primary key (entity_id, sync_id, key)
) with (fillfactor = 70);

create index sync_records_by_customer on sync_records (entity_id, customer_id) where customer_id is not null;

-- A batch on its way to a destination other than attributes: written first, so that it is the very same that is sent again.
create table sync_batches (
  entity_id integer not null,
  run_id bigint not null,
  identifier text not null,                    -- the destination is told it
  batch text not null,                         -- JSON
  primary key (entity_id, run_id)
);

alter table sync_batches alter column batch set storage external;

create table sync_log (
  entity_id integer not null,
  run_id bigint not null,
  id bigint generated always as identity,
  logged_at timestamptz not null default now(),
  line text not null,
  primary key (entity_id, run_id, id)
);
