-- How much of what a run reads it has taken, from 0 to 1; null where the source can't tell.
alter table sync_runs add column share real;
