-- Customer profiles: who has values, and whose changed when.

-- Each customer of whom attribute_values has a row, also one of a removed value; besides those of pending entries of the
-- change log: to look each up here would cost a merge a third of its time, and later it is done once for many merges.
create table customers (
  entity_id integer not null,
  customer_type smallint not null check (customer_type in (0, 1)),   -- as in attribute_values
  customer_id text collate "C" not null,
  primary key (entity_id, customer_id, customer_type)
);

-- What each merge changed: the customers, in the order of the values' key. An index on attribute_values.changed_at
-- would tell the same and end its HOT updates.
create table attribute_change_log (
  entity_id integer not null,
  received_at timestamptz not null default now(),                    -- the transaction's start: changed_at of its values
  id bigint generated always as identity,
  sor_id integer not null,
  customer_type smallint not null,
  customer_ids text[] collate "C" not null,                          -- NULL in the place of one who was erased
  committed_at timestamptz not null default clock_timestamp(),
  pending boolean not null default false,                            -- customers may lack some of these
  primary key (entity_id, received_at, id)
);

create index attribute_change_log_pending on attribute_change_log (entity_id, id) where pending;

-- Compressing would take longer than writing.
alter table attribute_change_log alter column customer_ids set storage external;

-- Runs within COMMIT, after all that the transaction waited for.
create function date_change_log_entry() returns trigger language plpgsql as $$
begin
  update attribute_change_log set committed_at = clock_timestamp()
  where entity_id = new.entity_id and received_at = new.received_at and id = new.id;
  return null;
end $$;

create constraint trigger change_log_entry_is_dated after insert on attribute_change_log
  deferrable initially deferred for each row execute function date_change_log_entry();

insert into customers (entity_id, customer_type, customer_id)
select distinct entity_id, customer_type, customer_id from attribute_values order by entity_id, customer_id, customer_type;

-- The last change of each value is all that a reader of changes asks for.
insert into attribute_change_log (entity_id, received_at, sor_id, customer_type, customer_ids)
select entity_id, changed_at, sor_id, customer_type, array_agg(distinct customer_id)
from attribute_values where changed_at >= now() - interval '40 days'
group by entity_id, changed_at, sor_id, customer_type;
