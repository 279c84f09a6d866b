-- Connections: how an outside source or destination is reached.

create table connections (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  name text not null,
  connector text not null,
  settings jsonb not null,                     -- the members that may be shown, as they were given
  secret_names text[] not null,                -- the secret members that are set
  sealed_secrets text,                         -- those members as a JSON object, sealed; null without any
  revision integer not null default 1,         -- raised by each change of settings or secrets
  created_by integer references users on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,                      -- the row stays, without settings and secrets: others tell of it
  primary key (entity_id, id),
  unique (entity_id, identifier)
);

create unique index connections_by_name on connections (entity_id, name) where deleted_at is null;
create index connections_by_creator on connections (created_by);
