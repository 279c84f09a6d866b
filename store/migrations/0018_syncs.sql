-- The fields that all records of a run have in common, which a re-drive can map; null: all fields of the source.
alter table sync_runs add column fields_read text[];
