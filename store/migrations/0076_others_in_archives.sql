-- Keyed hashes of the other users whose records an archive shows: it goes when one of them is erased. Null: made before this was noted.
alter table gdpr_request_people add column archive_others bytea[];
create index gdpr_request_people_archives on gdpr_request_people (entity_id) where archive_key is not null;
