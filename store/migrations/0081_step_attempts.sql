-- Attempts at steps of jobs, from an attempt on that followed one without an end: a step that kills its process is given up.
create table step_attempts (
  entity_id integer not null references entities on delete cascade,
  kind text not null,                          -- of the job
  job text not null,                           -- its identifier
  activity text not null,                      -- Temporal's run and activity: counts of attempts begin anew with each
  attempt integer not null,                    -- the last one
  process integer,                             -- that has it: an advisory lock stands as long as it lives; null once the attempt ended
  is_alone boolean not null default false,     -- no other suspected step ran beside it
  progress text,                               -- a hash of how far the job was when the attempt began
  deaths smallint not null default 0,          -- of processes in a row, without progress
  begun_at timestamptz not null default now(),
  primary key (entity_id, kind, job, activity)
);

create index step_attempts_by_age on step_attempts (begun_at);

-- Set while Millrace does not go on with a request, since a step of it killed its process too often; it goes on once staff approve it.
alter table gdpr_requests add column given_up_at timestamptz;
