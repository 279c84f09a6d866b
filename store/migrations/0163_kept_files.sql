-- What callers have the service keep: the files of imports that may still be read, by entity and System of Record.
create index imports_kept on imports (entity_id) include (sor_id, file_bytes, ended_at)
  where file_key is not null and state in ('accepted', 'running', 'finished');
