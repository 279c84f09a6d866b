-- Since when an outside system holds work up: patience is time, not tries. Null: all is well.
alter table sync_runs add column failing_since timestamptz;
alter table export_runs add column failing_since timestamptz;
alter table imports add column fetch_failing_since timestamptz;
