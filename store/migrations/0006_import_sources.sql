-- Imports from an address, dry runs, re-drives, and the mail at the end.

alter table imports
  -- Unknown until the file of an address is stored.
  alter column file_key drop not null,
  alter column file_bytes drop not null,
  alter column file_sha256 drop not null,
  alter column source_bytes drop not null,
  alter column source_sha256 drop not null,
  alter column source_gzip drop not null,
  add column columns smallint check (columns in (3, 4)),       -- of the file's rows; null until its header is read
  add column has_error_columns boolean not null default false, -- an error file, corrected
  add column shown_url text,                                   -- where the file comes from, without its query
  add column file_url text,                                    -- sealed; gone once the file is stored or the import has ended
  add column request_headers text,                             -- sealed; likewise
  add column fetched_bytes bigint,                             -- of the attempt under way
  add column fetch_tries integer not null default 0,
  add column fetch_fault text,                                 -- why the last attempt came to nothing
  add column dry_run boolean not null default false,
  add column parent_id bigint,                                 -- the import whose errors this one re-drives
  add column root_id bigint,                                   -- the one at the beginning of such a chain
  add column mail_state text check (mail_state in ('sending', 'sent', 'not_sent', 'unknown')),
  add column mail_tries integer not null default 0,
  add column mail_reason text;

-- The import that brought the row after all.
alter table import_errors add column redriven_by bigint;
create index import_errors_redriven on import_errors (entity_id, import_id) where redriven_by is not null;

create index imports_by_parent on imports (entity_id, parent_id) where parent_id is not null;

-- The Sets that a dry run has come by, as the import itself would leave them: what its later rows are checked against.
create table dry_run_sets (
  entity_id integer not null,
  import_id bigint not null,
  customer_id text collate "C" not null,
  customer_type smallint not null,
  attribute_id integer not null,
  set_elements text[] collate "C" not null,
  set_times timestamptz[] not null,
  primary key (entity_id, import_id, customer_id, customer_type, attribute_id),
  foreign key (entity_id, import_id) references imports on delete cascade
) with (fillfactor = 50);
