-- Systems of Records, their attributes, and the values.

create table systems_of_records (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  name text not null,
  type text not null check (type in ('app', 'custom', 'global')),
  disabled boolean not null default false,
  revision integer not null default 0,         -- raised by every change that decides how a row is read
  notify_emails text[] not null default '{}',
  created_by integer references users on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,                      -- its values go in bounded batches afterwards
  primary key (entity_id, id),
  unique (entity_id, identifier)
);

create unique index one_global_sor on systems_of_records (entity_id) where type = 'global';
create index deleted_sors on systems_of_records (deleted_at) where deleted_at is not null;

create table sor_api_keys (
  entity_id integer not null,
  sor_id integer not null,
  lookup bytea not null references key_lookups on delete cascade,
  api_key text not null,                       -- sealed
  created_at timestamptz not null default now(),
  primary key (entity_id, sor_id, lookup),
  foreign key (entity_id, sor_id) references systems_of_records on delete cascade
);

create table customer_attributes (
  entity_id integer not null,
  id integer generated always as identity,
  sor_id integer not null,
  identifier text not null,
  key text collate "C" not null,
  label text not null,
  value_type text not null check (value_type in ('String', 'Number', 'Boolean', 'Date', 'Datetime', 'Set')),
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

-- One row per value that is or was there. A customer's values lie side by side in the key, so reading a
-- person is one range; the key compares bytes. No foreign keys: a million-row import would check each.
-- Half-filled pages leave room for the next version of every row beside the old one (HOT updates).
create table attribute_values (
  entity_id integer not null,
  sor_id integer not null,
  customer_type smallint not null check (customer_type in (0, 1)),   -- 0 user_id, 1 device_id
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
  set_times timestamptz[],                     -- when each element came, in the order of set_elements
  primary key (entity_id, sor_id, customer_id, customer_type, attribute_id)
) with (fillfactor = 50);
