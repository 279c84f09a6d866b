-- Exports: daily files in customers' S3 buckets.

-- What goes to which bucket.
create table data_exporters (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  name text not null,
  type text not null check (type in ('aws_secret_key', 'aws_account_id')),
  bucket_name text not null,
  subfolder text not null default '',  -- without slashes at its ends
  aws_region text not null,
  endpoint text,                       -- of an S3 that is not Amazon's
  aws_account_id text,
  aws_role_name text,
  aws_access_key_id text,              -- sealed
  aws_secret_access_key text,          -- sealed
  -- The header x-amz-server-side-encryption of uploads, with its key; Content-MD5 of uploads and deletes.
  server_side_encryption text check (server_side_encryption in ('AES256', 'aws:kms')),
  kms_key_id text,
  content_md5 boolean not null default false,

  app_ids integer[] not null,
  sor_ids integer[] not null,
  exported_data text[] not null,               -- as they were given
  format text not null default 'csv' check (format in ('csv', 'jsonl', 'parquet')),
  include_headers boolean not null default false,
  encryption_type text,                        -- as it was given; null: none
  encryption_key text,                         -- sealed
  deletion_key text,                           -- sealed; of lists of deletions, null until first needed
  part_bytes bigint not null,                  -- of a file before compression: it ends with the piece that reaches this
  exports_since timestamptz,                   -- where the first window begins; null: with the first row
  notify_emails text[] not null default '{}',  -- empty: its creator
  notify_connections text[] not null default '{}',  -- identifiers of connections that get its alerts

  active boolean not null default false,
  failures integer not null default 0,  -- failed runs since the last good one
  paused_at timestamptz,                -- by failures; activating the exporter ends the pause
  paused_reason text,
  exported_until timestamptz,           -- the end of the last good window; the next one begins here
  revision integer not null default 1,  -- raised by each change of the above that the Schedule follows
  scheduled_until timestamptz,          -- the last instant that Temporal's Schedule has
  initial_run_at timestamptz,           -- when the first and the last good run began
  last_run_at timestamptz,
  created_by integer references users on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,               -- its secrets are gone; the row stays until its runs are
  primary key (entity_id, id),
  unique (entity_id, identifier),
  check (deleted_at is not null or case type
    when 'aws_secret_key' then aws_access_key_id is not null and aws_secret_access_key is not null
    else aws_account_id is not null and aws_role_name is not null end),
  check (deleted_at is not null or (encryption_type is null) = (encryption_key is null)),
  check (kms_key_id is null or server_side_encryption = 'aws:kms')
);

create index data_exporters_by_creator on data_exporters (created_by);

-- A run of an exporter.
create table export_runs (
  entity_id integer not null references entities on delete cascade,
  id bigint generated always as identity,
  identifier text not null,
  exporter_id integer not null,
  cause text not null check (cause in ('schedule', 'request', 'rerun', 'backfill')),
  requested_by integer,                        -- a user's id
  scheduled_for timestamptz,
  covers timestamptz[] not null default '{}',  -- other scheduled times that this run stands for
  rerun_of bigint,                             -- the run whose window this one exports again
  -- The window: of a backfill over the time of events, of all others over received_at. '-infinity': from the first row.
  window_start timestamptz,                    -- null until it is claimed, if the run follows the checkpoint
  window_end timestamptz not null,
  days text,                                   -- of a backfill and its reruns: the local days, 2026-01-01_2026-01-31
  definition jsonb,                            -- the exporter's definition at the claim, without secrets

  state text not null default 'accepted' check (state in ('accepted', 'running', 'finished', 'failed', 'canceled')),
  stage text,                                 -- of a running one that waits for a slot of its worker
  is_covered boolean not null default false,  -- an earlier run had exported all of it: nothing was written
  generation integer not null default 0,      -- raised when the sweep resets the job; steps of older generations end
  workflow_run_id text,                       -- firstExecutionRunId of the workflow that claimed the row
  received_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz,

  attempt integer not null default 0,         -- at its files: each attempt has its own folder in the bucket
  tries integer not null default 0,           -- since the bucket last took something
  fault text,                                 -- why the last try failed
  failing_since timestamptz,                  -- since when an outside system holds the run up; null: none does
  waits_until timestamptz,
  failure_status text,
  failure text,
  manifest_key text,
  manifest_sha256 bytea,
  published_at timestamptz,                   -- when the manifest was in the bucket
  late_rows_found bigint not null default 0,  -- rows that came late into earlier windows, which this run noticed
  is_cleaned boolean not null default false,  -- the bucket has no file of it, or of what it replaced, outside manifests
  mail_state text check (mail_state in ('sending', 'sent', 'filed', 'not_sent', 'unknown')),
  mail_tries integer not null default 0,
  mail_reason text,
  mail_due_at timestamptz,                    -- the next try; null: settled
  alert text,                                 -- the text of the mail
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, exporter_id, scheduled_for)
) with (fillfactor = 70);

create unique index one_running_export on export_runs (entity_id, exporter_id) where state = 'running';
create index export_runs_of_exporter on export_runs (entity_id, exporter_id, id);
create index export_runs_under_way on export_runs (received_at) where state in ('accepted', 'running');
create index export_runs_to_clean on export_runs (entity_id, exporter_id) where attempt > 0 and not is_cleaned;
create index export_runs_by_window on export_runs (entity_id, exporter_id, window_end) where state = 'finished';

-- The progress of a run in each type of data.
create table export_records (
  entity_id integer not null,
  run_id bigint not null,
  data_type text not null,
  identifier text not null,
  ordinal integer not null,  -- in the order in which the run writes them
  expected bigint,           -- rows that were counted before the first was written
  rows bigint not null default 0,
  files integer not null default 0,
  place jsonb,               -- where the next file begins; null: with the first row
  is_done boolean not null default false,
  snapshot text,             -- pg_current_snapshot() before the first row: rows that it does not show came later
  late_rows bigint,          -- how many such rows there were at the last look
  late_checked_at timestamptz,
  ambiguous_sets bigint,     -- Sets of a CSV file whose text reads as other elements; null: not counted
  primary key (entity_id, run_id, data_type),
  unique (entity_id, identifier),
  foreign key (entity_id, run_id) references export_runs on delete cascade
) with (fillfactor = 70);

-- The files of a run.
create table export_files (
  entity_id integer not null,
  run_id bigint not null,
  data_type text not null,
  part integer not null,          -- from 1
  key text not null,
  rows bigint not null,
  bytes bigint not null,          -- as they lie in the bucket
  sha256 bytea not null,
  content_bytes bigint not null,  -- before encryption
  content_sha256 bytea not null,
  bucket_checksum text,           -- as the bucket returned it
  written_at timestamptz not null default now(),
  removed_at timestamptz,         -- a later run of the window replaced it
  primary key (entity_id, run_id, data_type, part),
  foreign key (entity_id, run_id) references export_runs on delete cascade
);
