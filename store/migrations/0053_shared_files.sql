-- Files that everybody of an entity who asks for the same shares: found by what was asked for, whatever their state.

create index file_jobs_by_request on file_jobs (entity_id, asked_hash, id);
