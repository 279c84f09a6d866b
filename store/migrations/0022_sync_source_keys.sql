-- Failed records of a run that only the source's own key identifies.
alter table sync_records
  add column has_other_sources boolean not null default false;  -- records with other source keys have had its key, too
alter table sync_runs add column unidentified bigint not null default 0;
