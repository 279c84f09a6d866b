-- CSV imports of attribute values: the job, its progress, its errors.

create table imports (
  entity_id integer not null references entities on delete cascade,
  id bigint generated always as identity,
  identifier text not null,
  jid text not null,
  sor_id integer not null,
  version smallint not null check (version in (2, 3)),
  skip_email boolean not null default false,
  state text not null default 'accepted'
    check (state in ('accepted', 'running', 'finished', 'failed', 'canceled')),
  generation integer not null default 0,       -- raised when a run is given up; steps of older ones end
  run_id text,                                 -- firstExecutionRunId of the workflow that claimed the row
  received_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz,
  file_key text not null,                      -- the pinned, decompressed copy
  file_bytes bigint not null,
  file_sha256 bytea not null,
  source_bytes bigint not null,                -- as it came: compressed or not
  source_sha256 bytea not null,
  source_gzip boolean not null,
  source_defect text,                          -- why the end of the source could not be read, if so
  next_offset bigint not null default 0,       -- where the next batch begins, in bytes of the pinned copy
  next_line bigint not null default 1,
  rows_in bigint not null default 0,
  rows_ok bigint not null default 0,
  rows_ignored bigint not null default 0,
  rows_failed bigint not null default 0,
  errors_by_type jsonb not null default '{}',
  primary key (entity_id, id),
  unique (entity_id, identifier),
  check (rows_in = rows_ok + rows_ignored + rows_failed)
);

create index imports_by_sor on imports (entity_id, sor_id, received_at);
create index imports_under_way on imports (received_at) where state in ('accepted', 'running');
create index imports_by_age on imports (received_at);

-- No foreign key to imports: a file of a million bad rows would check each.
create table import_errors (
  entity_id integer not null,
  import_id bigint not null,
  line bigint not null,                        -- physical line of the record's start; 0: the file as a whole
  error_type text not null,
  outcome text not null check (outcome in ('ignored', 'failed')),
  happened_at timestamptz not null default now(),
  stage text not null,
  message text not null,
  customer_id text collate "C",
  attribute_key text,
  raw text,
  customer_hash bytea,                         -- instead of customer_id and raw where the person was erased
  primary key (entity_id, import_id, line)
);
