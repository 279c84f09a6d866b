-- An import's rows are merged in lanes: each customer's rows in one lane, in the order of the file, and each lane
-- with a cursor and counts of its own. So several sessions work at one file, and none waits for another.

create table import_lanes (
  entity_id integer not null,
  import_id bigint not null,
  lane smallint not null,
  generation integer not null,                 -- the import's, or -1 once it has ended: a step of another is shut out
  next_offset bigint not null default 0,       -- rows of this lane that begin before it are done
  next_line bigint not null default 1,
  rows_in bigint not null default 0,
  rows_ok bigint not null default 0,
  rows_ignored bigint not null default 0,
  rows_failed bigint not null default 0,
  errors_by_type jsonb not null default '{}',
  primary key (entity_id, import_id, lane),
  foreign key (entity_id, import_id) references imports on delete cascade,
  check (rows_in = rows_ok + rows_ignored + rows_failed)
) with (fillfactor = 50);                      -- updated with every batch

insert into import_lanes (entity_id, import_id, lane, generation, next_offset, next_line, rows_in, rows_ok, rows_ignored,
  rows_failed, errors_by_type)
select entity_id, id, 0, generation, next_offset, next_line, rows_in, rows_ok, rows_ignored, rows_failed, errors_by_type
from imports;

alter table imports
  drop column next_offset, drop column next_line, drop column rows_in, drop column rows_ok, drop column rows_ignored,
  drop column rows_failed, drop column errors_by_type;
