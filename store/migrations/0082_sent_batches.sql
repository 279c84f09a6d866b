-- How many records of a batch may have left: known once a try to send it has ended in order. Null: any of them.
alter table sync_batches add column sent integer;
-- A canceled run has no ended_at until the outcomes of its last batch are recorded; the sweep records them if nothing else does.
alter table sync_runs add column canceled_at timestamptz;
create index sync_runs_canceled on sync_runs (canceled_at) where state = 'canceled' and ended_at is null;
