-- Syncs: connections to outside systems, the streams that are read from and written to them, and their runs.

-- How an outside source or destination is reached.
create table connections (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  name text not null,
  connector text not null,
  settings jsonb not null,              -- the members that may be shown, as they were given
  secret_names text[] not null,         -- the secret members that are set
  sealed_secrets text,                  -- sealed: these members as a JSON object; null without any
  revision integer not null default 1,  -- raised by each change of settings or secrets
  created_by integer references users on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,               -- the row stays, without settings and secrets, since other rows name it
  primary key (entity_id, id),
  unique (entity_id, identifier)
);

create unique index connections_by_name on connections (entity_id, name) where deleted_at is null;
create index connections_by_creator on connections (created_by);

-- A stream of a connection that is written to attributes or to another connection.
create table syncs (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  name text not null,
  connection_id integer not null,       -- the source
  stream text not null,
  sor_id integer,                       -- the destination: the attributes of a SoR, or
  destination_id integer,               -- a stream of a connection, whose records these of its fields name
  destination_stream text,
  destination_key text[],
  mapping jsonb not null,
  mode text not null check (mode in ('full', 'incremental')),
  cursor_field text,                    -- null if the source keeps its own state
  removes boolean not null default false,
  removal_limit integer not null check (removal_limit between 0 and 100),
  schedule jsonb,
  schema_rule text not null check (schema_rule in ('stop', 'ignore', 'follow')),
  alerts jsonb not null,
  revision integer not null default 1,  -- raised by each change of the above

  cursor text,  -- where the next incremental reading begins: JSON that the connector understands
  known_fields jsonb,                         -- the source's fields, by which a change of them is noticed
  -- The fields that the last readings brought, which may differ each time alike; null: none brought any.
  read_fields jsonb,
  has_copies boolean not null default false,  -- it wrote records into another system; receipts of deletions name it
  failures integer not null default 0,        -- failed runs since the last good one
  paused_at timestamptz,
  paused_reason text,
  scheduled_until timestamptz,                -- the last instant that Temporal's Schedule has
  created_by integer references users on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,                     -- the row stays until its runs are gone
  primary key (entity_id, id),
  unique (entity_id, identifier),
  check ((sor_id is null) <> (destination_id is null)),
  check ((destination_id is null) = (destination_stream is null)
    and (destination_id is null) = (destination_key is null))
);

create unique index syncs_by_name on syncs (entity_id, name) where deleted_at is null;
create index syncs_by_creator on syncs (created_by);
create index syncs_scheduled on syncs (scheduled_until)
  where schedule is not null and paused_at is null and deleted_at is null;

-- A run of a sync.
create table sync_runs (
  entity_id integer not null references entities on delete cascade,
  -- From the sequence of imports: import_errors holds the errors of both.
  id bigint not null default nextval(pg_get_serial_sequence('imports', 'id')),
  identifier text not null,
  sync_id integer not null,
  cause text not null check (cause in ('schedule', 'request', 'redrive')),
  requested_by integer,                        -- a user's id
  scheduled_for timestamptz,
  covers timestamptz[] not null default '{}',  -- other scheduled times that this run stands for
  dry_run boolean not null default false,
  dry_run_records integer,                     -- maximum number of records that a dry run reads
  fresh boolean not null default false,        -- from the beginning, without cursor and checksums
  removals_confirmed boolean not null default false,
  root_id bigint,                              -- the run whose errors this one re-drives

  state text not null default 'accepted' check (state in ('accepted', 'running', 'finished', 'failed', 'canceled')),
  stage text,                             -- of a running one that waits for a slot of its worker
  generation integer not null default 0,  -- raised when the sweep resets the job; steps of older generations end
  workflow_run_id text,                   -- firstExecutionRunId of the workflow that claimed the row
  received_at timestamptz not null default now(),
  started_at timestamptz,
  canceled_at timestamptz,
  -- Of a canceled run null until the outcomes of its last batch are recorded, if need be by the sweep.
  ended_at timestamptz,

  cursor_before text,
  position text,                             -- everything before it is done
  is_begun boolean not null default false,   -- position counts, also if it is null
  is_read boolean not null default false,    -- to the end
  share real,  -- how much of the stream is read, from 0 to 1; null if the source can't say
  batches_taken integer not null default 0,  -- pinned, or merged at once
  records_taken bigint not null default 0,   -- of these batches
  lanes_done integer[] not null default '{0,0}',  -- the last batch whose records each lane has merged
  answered integer not null default 0,       -- records of the current batch that the destination has answered

  records_read bigint not null default 0,
  records_written bigint not null default 0,
  records_unchanged bigint not null default 0,
  records_ignored bigint not null default 0,
  records_failed bigint not null default 0,
  unnamed bigint not null default 0,            -- failed records whose key is unknown
  errors_by_type jsonb not null default '{}',
  suspicious_ids bigint not null default 0,     -- records with an id such as undefined or 12345.0
  odd_cursors integer not null default 0,       -- records whose cursor value never moves the cursor
  bytes bigint not null default 0,
  removed bigint not null default 0,
  removal text check (removal in ('done', 'held', 'skipped')),
  removal_reason text,
  schema_change jsonb,
  unmapped_fields text[] not null default '{}',
  missing_fields text[] not null default '{}',  -- named by the mapping, unknown to the source

  tries integer not null default 0,  -- since the source last brought something
  fault text,                        -- why the last try failed
  failing_since timestamptz,         -- since when an outside system holds the run up; null: none does
  waits_until timestamptz,
  failure_status text,
  failure text,
  sample jsonb,                      -- of a dry run
  mail_state text check (mail_state in ('sending', 'sent', 'filed', 'not_sent', 'unknown')),
  mail_tries integer not null default 0,
  mail_reason text,
  mail_due_at timestamptz,           -- the next try; null: settled
  alert text,                        -- the text of the mail
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, sync_id, scheduled_for),
  check (records_read = records_written + records_unchanged + records_ignored + records_failed)
) with (fillfactor = 50);            -- updated with every batch

create unique index one_running_sync_run on sync_runs (entity_id, sync_id) where state = 'running' and not dry_run;
create index sync_runs_of_sync on sync_runs (entity_id, sync_id, id);
create index sync_runs_under_way on sync_runs (received_at) where state in ('accepted', 'running');
create index sync_runs_by_age on sync_runs (ended_at) where ended_at is not null;
create index sync_runs_by_root on sync_runs (entity_id, root_id) where root_id is not null;
create index sync_runs_canceled on sync_runs (canceled_at) where state = 'canceled' and ended_at is null;

-- The records of a sync, each with the checksum of what was last written: unchanged records are not written again, and
-- records that a full reading no longer brings are known.
create table sync_records (
  entity_id integer not null,
  sync_id integer not null,
  key text collate "C" not null,  -- the customer's id, or of another destination its key fields as a JSON array
  customer_id text collate "C",   -- of another destination, if the sync names the customer
  checksum bytea,                 -- null: the last one could not be written
  run_id bigint not null,         -- the run that last wrote it, or failed to
  seen_by bigint,                 -- the last run that saw it, of a sync that removes vanished records
  primary key (entity_id, sync_id, key)
) with (fillfactor = 70);

create index sync_records_by_customer on sync_records (entity_id, customer_id) where customer_id is not null;

-- A batch on its way to a destination other than attributes: stored before it is sent, so that a retry sends the same.
create table sync_batches (
  entity_id integer not null,
  run_id bigint not null,
  identifier text not null,              -- sent to the destination
  batch text storage external not null,  -- JSON
  outcomes text,  -- JSON: the destination's answers for the first records, which are not sent again
  sent integer,  -- how many records may have left, known once a try has ended in order; null: any of them
  primary key (entity_id, run_id)
);

-- A batch on its way to attributes, as the source gave it. Storing it commits the source's cursor behind it; then two
-- sessions merge its records, each the records of its own customers.
create table sync_pinned_batches (
  entity_id integer not null,
  run_id bigint not null,
  number integer not null,               -- of the run's batches, from 1
  records_before bigint not null,        -- records of the run's earlier batches
  position text,                         -- the source's cursor behind it
  items text storage external not null,  -- JSON
  primary key (entity_id, run_id, number)
);

-- Lines that the connector of a run wrote to its log.
create table sync_log (
  entity_id integer not null,
  run_id bigint not null,
  id bigint generated always as identity,
  logged_at timestamptz not null default now(),
  line text not null,
  primary key (entity_id, run_id, id)
);
