-- A run stores its next batch for another connection while the one before it is on its way.
alter table sync_batches
  add column records_before bigint not null default 0,  -- records of the run's earlier batches
  add column records integer not null default 0;  -- 0: stored before this migration; no other is stored behind it
update sync_batches b
set records_before = r.records_read
from sync_runs r where r.entity_id = b.entity_id and r.id = b.run_id;
alter table sync_batches
  alter column records_before drop default,
  alter column records drop default,
  drop constraint sync_batches_pkey,
  add primary key (entity_id, run_id, records_before);
