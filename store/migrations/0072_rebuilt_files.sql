-- Files that an erasure has built anew, and files that are deleted after the commit that says so.

alter table file_jobs
  add column begun_at timestamptz,             -- when the file under file_key was begun: what it holds was read after that
  add column first_ended_at timestamptz,       -- its seven days count from then, however often it is built anew
  add column follows integer,                  -- another job of the same request, which was under way when this one was to be built anew
  add column counted_in text,                  -- the round of the erasure whose receipt has counted it
  add foreign key (entity_id, follows) references file_jobs (entity_id, id) on delete set null (follows);

update file_jobs set begun_at = started_at where file_key is not null;
update file_jobs set first_ended_at = ended_at;

drop index file_jobs_by_age;
create index file_jobs_by_age on file_jobs (first_ended_at);
create index file_jobs_that_follow on file_jobs (entity_id, follows) where follows is not null;

-- Files that no row names any more. Whoever notes one deletes it after the commit; the sweep deletes what is left.
create table file_deletions (
  entity_id integer not null references entities on delete cascade,
  file_key text not null,
  noted_at timestamptz not null default now(),
  primary key (entity_id, file_key)
);

alter table gdpr_requests
  add column files_before timestamptz;         -- files begun before then may hold the people of this round
