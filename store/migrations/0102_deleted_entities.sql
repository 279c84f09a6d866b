-- Deleted entities with rows in tables that nothing ties to the entity: the sweep deletes them in batches.
create table deleted_entities (
  entity_id integer primary key,
  deleted_at timestamptz not null default now()
);
