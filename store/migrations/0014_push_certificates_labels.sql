-- The certificates by which pushes go to an iOS app, and the labels of what people set up.

create table push_certificates (
  entity_id integer not null,
  id integer generated always as identity,
  app_id integer not null,
  identifier text not null,
  fingerprint bytea not null,                  -- SHA-256 of the certificate
  x509_pem text not null,
  pkey_pem text not null,                      -- sealed
  subject text not null,
  uid text,                                    -- of the subject: the bundle id that it is for
  not_before timestamptz not null,
  not_after timestamptz not null,
  revoked boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, app_id, fingerprint),
  foreign key (entity_id, app_id) references apps on delete cascade
);

create table labels (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  name text collate "C" not null,
  created_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, name)
);

-- What bears a label. Whoever deletes a target deletes its rows here.
create table label_targets (
  entity_id integer not null,
  label_id integer not null,
  target_kind text not null check (target_kind in ('event_definition')),
  target_id integer not null,
  primary key (entity_id, label_id, target_kind, target_id),
  foreign key (entity_id, label_id) references labels on delete cascade
);

create index label_targets_by_target on label_targets (entity_id, target_kind, target_id);
