-- Of its first records, what the destination has answered: JSON. They are not sent again.
alter table sync_batches add column outcomes text;
-- How many records of the batch on its way the destination has answered.
alter table sync_runs add column answered integer not null default 0;
-- Of a deleted sync: it wrote records into another system. Receipts of deletions name it.
alter table syncs add column has_copies boolean not null default false;
