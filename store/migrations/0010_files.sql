-- Files: lists as CSV or sheets.

-- A file that a user asked for: built by a workflow, fetched by a link.
create table file_jobs (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  kind text not null,
  format text not null check (format in ('csv', 'xls', 'xlsx')),
  query json,                 -- what is in it; null once that named an erased person
  asked_hash bytea not null,  -- keyed: who asked for what, and how it is sent
  email text,                 -- where the link goes; null: to none
  created_by integer references users on delete set null,

  state text not null default 'accepted' check (state in ('accepted', 'running', 'finished', 'failed')),
  stage text,                             -- of a running one that waits for a slot of its worker
  generation integer not null default 0,  -- raised when the sweep resets the job; steps of older generations end
  workflow_run_id text,                   -- firstExecutionRunId of the workflow that claimed the row
  received_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz,
  first_ended_at timestamptz,             -- its seven days count from then, however often it is built again
  failure_status text,
  failure text,

  rows_written bigint not null default 0,
  file_key text,         -- of the finished file, or of the one being written
  file_bytes bigint,
  begun_at timestamptz,  -- when this file was begun: its rows were read after that
  follows integer,  -- another job of the same request, which was under way when an erasure had this one built again
  counted_in text,       -- the round of the erasure whose receipt has counted it

  mail_state text check (mail_state in ('sending', 'sent', 'filed', 'not_sent', 'unknown')),
  mail_tries smallint not null default 0,
  mail_reason text,
  primary key (entity_id, id),
  unique (entity_id, identifier),
  foreign key (entity_id, follows) references file_jobs (entity_id, id) on delete set null (follows)
);

-- The same request while it is under way is the same job.
create unique index file_jobs_under_way on file_jobs (entity_id, asked_hash) where state in ('accepted', 'running');
-- Files that several users share, found by what was asked for, whatever their state.
create index file_jobs_by_request on file_jobs (entity_id, asked_hash, id);
create index file_jobs_waiting on file_jobs (received_at) where state in ('accepted', 'running');
create index file_jobs_by_age on file_jobs (first_ended_at);
create index file_jobs_that_follow on file_jobs (entity_id, follows) where follows is not null;
create index file_jobs_failed on file_jobs (entity_id, ended_at) where state = 'failed';
