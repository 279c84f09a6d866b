-- Funnels: steps that people go through one after the other.

create table funnels (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  name text not null,
  description text,
  max_duration integer not null,               -- seconds
  steps json not null,                         -- as they were given, of apps by their identifiers
  app_ids integer[] not null,                  -- the apps of the steps
  created_by integer references users on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  archived_at timestamptz,
  primary key (entity_id, id),
  unique (entity_id, identifier)
);

-- Which labels a thing has is asked for by its kind and id; the index of 0014 serves that.
