-- Internal errors that last: of steps of jobs, of flows that are no jobs, and of requests. A row goes once its step succeeds.
create table internal_errors (
  entity_id integer references entities on delete cascade,   -- null: of upkeep, or of a request without a known caller
  kind text not null,                          -- the kind of the job; else feed, segments, reports, upkeep or request
  job text not null,                           -- identifier of the job; empty where the flow is no job
  step text not null,                          -- name of the step, or method and path of the request
  id text not null,                            -- of the last error: the log has it under this id
  since timestamptz not null default now(),
  last_at timestamptz not null default now(),
  times integer not null default 1,
  unique nulls not distinct (entity_id, kind, job, step)
);

create index internal_errors_by_age on internal_errors (last_at);

-- Apps whose provider refused the last pushes. A row goes once the provider takes a push.
create table provider_refusals (
  entity_id integer not null,
  app_id integer not null,
  provider text not null,
  code text not null,
  since timestamptz not null default now(),
  primary key (entity_id, app_id),
  foreign key (entity_id, app_id) references apps on delete cascade
);

create index imports_failed on imports (entity_id, ended_at) where state = 'failed';
create index file_jobs_failed on file_jobs (entity_id, ended_at) where state = 'failed';
create index campaigns_failed on campaigns (entity_id, ended_at) where status = 'failed';
