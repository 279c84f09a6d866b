-- Deletions that sources report.
alter table sync_records
  add column source_key bytea,                         -- the first half of the SHA-256 of the source's own key; null: unknown
  add column is_deleted boolean not null default false;  -- in the source, and not yet in the destination
create index sync_records_by_source_key on sync_records (entity_id, sync_id, source_key) where source_key is not null;
create index sync_records_deleted on sync_records (entity_id, sync_id, key) where is_deleted;

alter table sync_runs add column deletions_ignored bigint not null default 0;
