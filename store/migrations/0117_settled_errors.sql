-- Rows of erased people are not open, as rows that a re-drive has brought are not.
create index import_errors_settled on import_errors (entity_id, import_id) where redriven_by is not null or message = 'erased';
drop index import_errors_redriven;
