-- The customers of a dry run's rows, each with the line of its first row: compared at its end.
create table dry_run_ids (
  entity_id integer not null,
  import_id bigint not null,
  customer_id text collate "C" not null,
  customer_type smallint not null,
  line bigint not null,
  primary key (entity_id, import_id, customer_id, customer_type),
  foreign key (entity_id, import_id) references imports on delete cascade
);

-- How many of them differ only in capitals or composed letters from another id, and the lines of the first ones.
alter table imports add column similar_ids integer, add column similar_id_lines jsonb;
