-- How an app sends pushes to each platform. Without a row: by the sandbox, which sends nothing.

create table push_providers (
  entity_id integer not null,
  app_id integer not null,
  platform text not null check (platform in ('ios', 'android', 'web')),
  provider text not null,
  settings jsonb not null default '{}',
  secret_names text[] not null default '{}',   -- of the members in sealed_secrets
  sealed_secrets text,                         -- sealed: JSON of the secret members
  -- These stay when another provider is chosen: what browsers subscribed to counts for this pair alone.
  vapid_public_key text,
  vapid_private_key text,                      -- sealed
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (entity_id, app_id, platform),
  check ((vapid_public_key is null) = (vapid_private_key is null)),
  foreign key (entity_id, app_id) references apps on delete cascade
);
