-- Files that somebody asked for: lists as CSV or sheets, built by a workflow, fetched by a link.

create table file_jobs (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  kind text not null,
  format text not null check (format in ('csv', 'xls', 'xlsx')),
  query_sealed text,                           -- JSON: what is in it; null once it was about an erased person
  asked_hash bytea not null,                   -- keyed: of who asked for what, and by which way it is sent
  email text,                                  -- where the link goes; null: to nobody
  created_by integer references users on delete set null,
  state text not null default 'accepted' check (state in ('accepted', 'running', 'finished', 'failed')),
  generation integer not null default 0,
  run_id text,
  received_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz,
  rows_written bigint not null default 0,
  file_key text,                               -- of the finished file, or of the one being written
  file_bytes bigint,
  failure_status text,
  failure text,
  mail_state text check (mail_state in ('sending', 'sent', 'filed', 'not_sent', 'unknown')),
  mail_tries smallint not null default 0,
  mail_reason text,
  primary key (entity_id, id),
  unique (entity_id, identifier)
);

-- The same export under way is the same job.
create unique index file_jobs_under_way on file_jobs (entity_id, asked_hash) where state in ('accepted', 'running');
create index file_jobs_waiting on file_jobs (received_at) where state in ('accepted', 'running');
create index file_jobs_by_age on file_jobs (ended_at);
