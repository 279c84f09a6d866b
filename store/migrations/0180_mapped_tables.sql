-- Imports of tables with a column for each attribute: a row has several cells, each with its own error.

alter table imports
  add column column_mapping json,                               -- as the caller names the columns, in that order; null: a file of rows
  add column table_layout jsonb;                                -- where the header has them; null until it is read

alter table import_lanes add column cells_empty bigint not null default 0; -- counted in rows_ignored, without an error

alter table import_errors
  add column column_number integer not null default 0,          -- of the cell, from 1; 0: the row as a whole
  add column original_column integer not null default 0,        -- beside original_line
  drop constraint import_errors_pkey,
  add primary key (entity_id, import_id, line, column_number);
