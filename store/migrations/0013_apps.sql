-- Apps, their groups, and the keys by which their SDKs send data.

create table apps (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  name text not null,
  package_name text collate "C" not null,
  app_type text not null check (app_type in ('iOS App', 'Android App', 'Web App')),
  store_id text,
  sku text,
  qa boolean not null default false,
  parent_id integer,                           -- two levels: a parent has none
  domains text[] not null default '{}',        -- of a web app
  default_tz text not null default 'Europe/Paris',
  store_fetched boolean not null default false,
  localizations jsonb not null default '[]',   -- {language, original_name, name, description}
  icon jsonb,                                  -- {thumb, medium, large}
  cv_icon jsonb,
  primary_category text,
  secondary_category text,
  statuses jsonb not null default '[]',        -- {cdate, state, version_number}
  fcm_key text,                                -- sealed
  crm_syncable boolean not null default false,
  inbox_days_to_live integer check (inbox_days_to_live > 0),
  message_limit integer check (message_limit > 0),
  message_period integer check (message_period > 0),            -- seconds
  check ((message_limit is null) = (message_period is null)),
  gdpr_emails text[] not null default '{}',
  session_timeout integer not null default 120 check (session_timeout between 15 and 3600),   -- seconds
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, package_name),
  foreign key (entity_id, parent_id) references apps
);

create index apps_by_parent on apps (entity_id, parent_id) where parent_id is not null;

create table app_groups (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  name text not null,
  created_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, name)
);

create table app_group_members (
  entity_id integer not null,
  group_id integer not null,
  app_id integer not null,
  primary key (entity_id, group_id, app_id),
  foreign key (entity_id, group_id) references app_groups on delete cascade,
  foreign key (entity_id, app_id) references apps on delete cascade
);

create index app_group_members_by_app on app_group_members (entity_id, app_id);

-- An app has one SDK SoR at a time.
alter table systems_of_records add column app_id integer;
alter table systems_of_records add check ((type = 'app') = (app_id is not null));
alter table systems_of_records add foreign key (entity_id, app_id) references apps on delete cascade;
create unique index one_sor_of_an_app on systems_of_records (entity_id, app_id) where app_id is not null and deleted_at is null;

-- Apps of one entity may share a value; no other entity may have it. `owner_id` is 0 for these.
alter table key_lookups drop constraint key_lookups_kind_check;
alter table key_lookups add check (kind in ('sor', 'app'));

create table app_api_keys (
  entity_id integer not null,
  id integer generated always as identity,
  app_id integer not null,
  identifier text not null,
  lookup bytea not null references key_lookups,
  api_key text not null,                       -- sealed
  revoked boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, app_id, lookup),
  foreign key (entity_id, app_id) references apps on delete cascade
);

create index app_api_keys_by_value on app_api_keys (entity_id, lookup);
