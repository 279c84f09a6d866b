-- Jobs: internal errors, steps that kill their process, and alerts of runs.

-- Internal errors that last: of steps of jobs, of flows that are no jobs, and of requests. A row goes once its step
-- succeeds.
create table internal_errors (
  entity_id integer references entities on delete cascade,  -- null: of upkeep, or of a request without a known caller
  kind text not null,                       -- the kind of the job; else feed, segments, reports, upkeep or request
  job text not null,                        -- identifier of the job; empty if the flow is no job
  step text not null,                       -- name of the step, or method and path of the request
  id text not null,                         -- of the last error: the log has it under this id
  since timestamptz not null default now(),
  last_at timestamptz not null default now(),
  times integer not null default 1,
  given_up boolean not null default false,  -- the step is not retried any more
  unique nulls not distinct (entity_id, kind, job, step)
);

create index internal_errors_by_age on internal_errors (last_at);

-- Attempts at steps of jobs, from the first attempt on that follows one without an end: a step that kills its process
-- again and again is given up.
create table step_attempts (
  entity_id integer not null references entities on delete cascade,
  kind text not null,                       -- of the job
  job text not null,                        -- its identifier
  activity text not null,                   -- Temporal's run and activity: each counts its own attempts
  attempt integer not null,                 -- the last one
  process integer,  -- that runs it, which has an advisory lock while it lives; null once the attempt ended
  is_alone boolean not null default false,  -- no other suspected step ran beside it
  progress text,                            -- a hash of the job's progress when the attempt began
  deaths smallint not null default 0,       -- of processes in a row, without progress
  begun_at timestamptz not null default now(),
  primary key (entity_id, kind, job, activity)
);

create index step_attempts_by_age on step_attempts (begun_at);

-- Alerts of runs that go to connections besides the mail, each retried by itself, in the columns of a mail.
create table run_alerts (
  entity_id integer not null,
  id integer generated always as identity,
  sync_run_id integer,
  export_run_id integer,
  connection_id integer not null,
  mail_state text,
  mail_tries integer not null default 0,
  mail_reason text,
  mail_due_at timestamptz,  -- the next try; null: settled
  primary key (entity_id, id),
  unique nulls not distinct (entity_id, sync_run_id, export_run_id, connection_id),
  foreign key (entity_id, sync_run_id) references sync_runs on delete cascade,
  foreign key (entity_id, export_run_id) references export_runs on delete cascade,
  foreign key (entity_id, connection_id) references connections on delete cascade,
  check ((sync_run_id is null) <> (export_run_id is null))
);

create index run_alerts_by_export_run on run_alerts (entity_id, export_run_id) where export_run_id is not null;
create index run_alerts_by_connection on run_alerts (entity_id, connection_id);
