-- Attributes: Systems of Records (SoRs), their attributes, the customers' values, and the log of changes.

-- Sources of attributes: an app has one, an entity has a global one, staff make others.
create table systems_of_records (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  name text not null,
  type text not null check (type in ('app', 'custom', 'global')),
  app_id integer,
  disabled boolean not null default false,
  revision integer not null default 0,  -- raised by every change that decides how a row is read
  notify_emails text[] not null default '{}',
  created_by integer references users on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,               -- its values are deleted in batches afterwards
  primary key (entity_id, id),
  unique (entity_id, identifier),
  check ((type = 'app') = (app_id is not null)),
  foreign key (entity_id, app_id) references apps on delete cascade
);

create unique index one_global_sor on systems_of_records (entity_id) where type = 'global';
create unique index one_sor_of_an_app on systems_of_records (entity_id, app_id)
  where app_id is not null and deleted_at is null;
create index deleted_sors on systems_of_records (deleted_at) where deleted_at is not null;

-- Keys by which a SoR's owner sends values.
create table sor_api_keys (
  entity_id integer not null,
  sor_id integer not null,
  lookup bytea not null references key_lookups on delete cascade,
  api_key text not null,  -- sealed
  created_at timestamptz not null default now(),
  primary key (entity_id, sor_id, lookup),
  foreign key (entity_id, sor_id) references systems_of_records on delete cascade
);

-- Definitions of attributes.
create table customer_attributes (
  entity_id integer not null,
  id integer generated always as identity,
  sor_id integer not null,
  identifier text not null,
  key text collate "C" not null,
  label text not null,
  value_type text not null check (value_type in ('String', 'Number', 'Boolean', 'Date', 'Datetime', 'Set')),
  -- The value type was guessed from the first value of an SDK's call. Until staff define it, the first value of another
  -- type widens it to String, once. The earlier values stay in the column of `widened_from`; as text they read the
  -- same.
  is_guessed boolean not null default false,
  widened_from text
    check (widened_from is null
      or (widened_from in ('Number', 'Boolean', 'Date', 'Datetime') and value_type = 'String')),
  is_identifier boolean not null default false,  -- its values are ids of people, such as a member's number
  -- Filters over it need the right sor_manage, since counts show single values.
  is_sensitive boolean not null default false,
  disabled boolean not null default false,
  created_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (entity_id, id),
  unique (entity_id, identifier),
  foreign key (entity_id, sor_id) references systems_of_records on delete cascade
);

create unique index customer_attributes_by_key on customer_attributes (entity_id, sor_id, key)
  where deleted_at is null;
create index deleted_attributes on customer_attributes (deleted_at) where deleted_at is not null;

-- Values of customers, removed ones included. A customer's values lie side by side in the key, so reading a person is
-- one range; the key compares bytes. No foreign keys: an import of a million rows would check each. Half-filled pages
-- leave space for the next version of every row beside the old one (HOT updates).
create table attribute_values (
  entity_id integer not null,
  sor_id integer not null,
  customer_type smallint not null check (customer_type in (0, 1)),  -- 0 user_id, 1 device_id
  attribute_id integer not null,
  changed_at timestamptz not null,
  removed_at timestamptz,
  datetime_value timestamptz,
  date_value date,
  boolean_value boolean,
  customer_id text collate "C" not null,
  string_value text collate "C",
  number_value numeric,
  set_elements text[] collate "C",
  set_times timestamptz[],  -- when each element came, in the order of set_elements
  -- When the value was said: the import that was accepted last wins, whichever commits last. Null: unknown, and Sets,
  -- whose changes apply in the order of their commits.
  said_at timestamptz,
  primary key (entity_id, sor_id, customer_id, customer_type, attribute_id)
) with (fillfactor = 50);

-- Customers with a row in attribute_values. Those of pending entries of the change log may be missing: adding them
-- later, once for many merges, saves a third of a merge's time.
create table customers (
  entity_id integer not null,
  customer_type smallint not null check (customer_type in (0, 1)),  -- as in attribute_values
  customer_id text collate "C" not null,
  primary key (entity_id, customer_id, customer_type)
);

-- Ids that differ only in capitals or in composed letters, for privacy requests and dry runs
-- (store/attributes/similar-ids.ts). One expression, so that the planner always takes this index.
create index customers_by_fold on customers
  ((entity_id::text || ' ' || left(normalize(lower(customer_id collate pg_c_utf8), nfc), 256)));

-- The customers that each merge changed, in the order of the values' key. An index on attribute_values.changed_at would
-- say the same and end its HOT updates.
create table attribute_change_log (
  entity_id integer not null,
  received_at timestamptz not null default now(),  -- the transaction's start: changed_at of its values
  id bigint generated always as identity,
  sor_id integer not null,
  customer_type smallint not null,
  -- Compressing takes longer than writing; NULL instead of an erased id.
  customer_ids text[] storage external collate "C" not null,
  committed_at timestamptz not null default clock_timestamp(),
  pending boolean not null default false,  -- customers may lack some of these
  primary key (entity_id, received_at, id)
);

create index attribute_change_log_pending on attribute_change_log (entity_id, id) where pending;

-- Runs within COMMIT, after everything that the transaction waited for.
create function date_change_log_entry() returns trigger language plpgsql as $$
begin
  update attribute_change_log set committed_at = clock_timestamp()
  where entity_id = new.entity_id and received_at = new.received_at and id = new.id;
  return null;
end $$;

create constraint trigger change_log_entry_is_dated after insert on attribute_change_log
  deferrable initially deferred for each row execute function date_change_log_entry();
