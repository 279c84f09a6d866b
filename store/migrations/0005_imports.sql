-- Imports: CSV files of attribute values.

-- A file that is imported.
create table imports (
  entity_id integer not null references entities on delete cascade,
  id bigint generated always as identity,
  identifier text not null,
  jid text not null,
  sor_id integer not null,
  version smallint not null check (version in (2, 3)),
  skip_email boolean not null default false,
  dry_run boolean not null default false,
  parent_id bigint,     -- the import whose errors this one re-drives
  root_id bigint,       -- the first import of such a chain
  said_at timestamptz,  -- of a re-drive: when the first import of the chain was accepted; null: received_at

  state text not null default 'accepted'
    check (state in ('accepted', 'running', 'finished', 'failed', 'canceled')),
  stage text,                             -- of a running one that waits for a slot of its worker
  generation integer not null default 0,  -- raised when the sweep resets the job; steps of older generations end
  workflow_run_id text,                   -- firstExecutionRunId of the workflow that claimed the row
  received_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz,

  -- A file that is fetched from an address.
  shown_url text,                   -- without its query
  file_url text,                    -- sealed; null once the file is stored or the import has ended
  request_headers text,             -- sealed; likewise
  fetched_bytes bigint,             -- of the current attempt
  fetch_tries integer not null default 0,
  fetch_fault text,                 -- why the last attempt failed
  fetch_failing_since timestamptz,  -- retries end after a time, not after a number of tries

  -- The stored file: unknown until it is fetched.
  file_key text,               -- the pinned, decompressed copy
  file_bytes bigint,
  file_sha256 bytea,
  file_erased_at timestamptz,  -- it held an erased person
  source_bytes bigint,         -- as it came: compressed or not
  source_sha256 bytea,
  source_gzip boolean,
  source_defect text,          -- why the end of the source could not be read

  -- How it is read.
  file_settings jsonb not null default '{}',   -- as set with the import
  file_format jsonb,                           -- as found; null until then
  columns smallint check (columns in (3, 4)),  -- of a file of rows; null until its header is read
  has_error_columns boolean not null default false,  -- an error file, corrected
  column_mapping json,  -- of a table: as the caller names the columns, in that order; null: a file of rows
  table_layout jsonb,                          -- where the header has them; null until it is read

  -- The result of a dry run: ids that differ only in capitals or composed letters from another id.
  similar_ids integer,
  similar_id_lines jsonb,  -- the first lines with one

  mail_state text check (mail_state in ('sending', 'sent', 'filed', 'not_sent', 'unknown')),
  mail_tries integer not null default 0,
  mail_reason text,
  primary key (entity_id, id),
  unique (entity_id, identifier)
);

create index imports_by_sor on imports (entity_id, sor_id, received_at);
create index imports_under_way on imports (received_at) where state in ('accepted', 'running');
create index imports_by_age on imports (received_at);
create index imports_by_parent on imports (entity_id, parent_id) where parent_id is not null;
create index imports_failed on imports (entity_id, ended_at) where state = 'failed';
-- Files that may still be read, which count for their entity and SoR.
create index imports_kept on imports (entity_id) include (sor_id, file_bytes, ended_at)
  where file_key is not null and file_erased_at is null and state in ('accepted', 'running', 'finished');

-- The progress of an import. Its rows are merged in lanes: each customer's rows in one lane, in the order of the file,
-- and each lane with its own checkpoint and counts. So several sessions work at one file, and none waits for another.
create table import_lanes (
  entity_id integer not null,
  import_id bigint not null,
  lane smallint not null,
  generation integer not null,               -- the import's, or -1 once it has ended, which stops older steps
  next_offset bigint not null default 0,     -- rows of this lane that begin before it are done
  next_line bigint not null default 1,
  rows_in bigint not null default 0,
  rows_ok bigint not null default 0,
  rows_ignored bigint not null default 0,
  rows_failed bigint not null default 0,
  errors_by_type jsonb not null default '{}',
  suspicious_ids bigint not null default 0,  -- rows with an id such as undefined or 12345.0
  cells_empty bigint not null default 0,     -- of a table: counted in rows_ignored, without an error
  cells_unnamed bigint not null default 0,   -- of a table: filled, in a column without a name, in no count of rows
  primary key (entity_id, import_id, lane),
  foreign key (entity_id, import_id) references imports on delete cascade,
  check (rows_in = rows_ok + rows_ignored + rows_failed)
) with (fillfactor = 50);                    -- updated with every batch

-- Rows that were not merged, of imports, feed requests and sync runs, whose ids come from one sequence. No foreign key:
-- a file of a million bad rows would check each.
create table import_errors (
  entity_id integer not null,
  import_id bigint not null,
  line bigint not null,                      -- physical line of the record's start; 0: the file as a whole
  column_number integer not null default 0,  -- of a table's cell, from 1; 0: the row as a whole
  error_type text not null,
  outcome text not null check (outcome in ('ignored', 'failed')),
  happened_at timestamptz not null default now(),
  stage text not null,
  message text not null,
  customer_id text collate "C",
  attribute_key text,
  raw text,
  customer_hash bytea,                       -- of an erased person, instead of customer_id and raw
  is_erased boolean not null default false,
  -- A row of a corrected error file: the line and column of the first file that it corrects, so that the import which
  -- merges it settles all of its errors.
  original_line bigint,
  original_column integer not null default 0,
  redriven_by bigint,                        -- the import that merged the row
  primary key (entity_id, import_id, line, column_number)
);

create index import_errors_settled on import_errors (entity_id, import_id) where redriven_by is not null or is_erased;
create index import_errors_by_original_line on import_errors (entity_id, original_line, import_id)
  where original_line is not null;

-- Sets as a dry run's earlier rows leave them: later rows are checked against these.
create table dry_run_sets (
  entity_id integer not null,
  import_id bigint not null,
  customer_id text collate "C" not null,
  customer_type smallint not null,
  attribute_id integer not null,
  set_elements text[] collate "C" not null,
  set_times timestamptz[] not null,
  primary key (entity_id, import_id, customer_id, customer_type, attribute_id),
  foreign key (entity_id, import_id) references imports on delete cascade
) with (fillfactor = 50);

-- The customers of a dry run, each with the line of its first row: compared at the end to find similar ids.
create table dry_run_ids (
  entity_id integer not null,
  import_id bigint not null,
  customer_id text collate "C" not null,
  customer_type smallint not null,
  line bigint not null,
  primary key (entity_id, import_id, customer_id, customer_type),
  foreign key (entity_id, import_id) references imports on delete cascade
);
