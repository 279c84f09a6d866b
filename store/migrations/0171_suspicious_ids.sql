-- Rows, values and records that were taken although their customer id is a word for nothing, or was a number once: undefined, 12345.0.

alter table import_lanes add column suspicious_ids bigint not null default 0;
alter table feed_requests add column suspicious_ids integer;
alter table sync_runs add column suspicious_ids bigint not null default 0;
