-- A file that held somebody who was erased is gone before its import is: it counts no more as kept.
drop index imports_kept;
create index imports_kept on imports (entity_id) include (sor_id, file_bytes, ended_at)
  where file_key is not null and file_erased_at is null and state in ('accepted', 'running', 'finished');
