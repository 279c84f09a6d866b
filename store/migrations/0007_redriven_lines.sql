-- A row of an error file that was refused again: the line of the first file that it was to correct, so that the import which
-- brings the row at last settles all of its errors.

alter table import_errors add column original_line bigint;
create index import_errors_by_original_line on import_errors (entity_id, original_line, import_id) where original_line is not null;
