-- The house: who may act, the keys of the server, what was done, who was erased.

create table entities (
  id integer generated always as identity primary key,
  identifier text not null unique,
  name text not null,
  description text not null default '',
  active boolean not null default true,
  default_tz text not null default 'Europe/Paris',
  data_retention_in_months integer not null default 25 check (data_retention_in_months between 1 and 120),
  qa_api_key text not null,                    -- sealed
  prod_api_key text not null,                  -- sealed
  created_at timestamptz not null default now()
);

create table users (
  id integer generated always as identity primary key,
  uid text not null unique,
  email text not null,
  first_name text not null default '',
  last_name text not null default '',
  password_hash text not null,                 -- argon2id
  superadmin boolean not null default false,
  prefered_entity_id integer references entities,
  created_at timestamptz not null default now()
);

create unique index users_by_email on users (lower(email));

create table memberships (
  user_id integer not null references users on delete cascade,
  entity_id integer not null references entities on delete cascade,
  rights text[] not null default '{}',
  admin boolean not null default false,
  primary key (user_id, entity_id)
);

create index memberships_by_entity on memberships (entity_id);

create table tokens (
  token_hash bytea primary key,                -- SHA-256 of the token; the token itself is nowhere
  user_id integer not null,
  entity_id integer not null,
  created_at timestamptz not null default now(),
  used_at timestamptz not null default now(),
  expires_at timestamptz not null,
  foreign key (user_id, entity_id) references memberships on delete cascade
);

create index tokens_by_expiry on tokens (expires_at);
create index tokens_by_member on tokens (user_id, entity_id);

create table login_attempts (
  subject bytea primary key,                   -- SHA-256 of "address:…" or "account:…"
  window_start timestamptz not null,
  failures integer not null
);

-- Wrapped under MILLRACE_SECRET_KEY; the same rows lie in the file store.
create table server_keys (
  name text not null,
  id integer not null,
  wrapped text not null,
  created_at timestamptz not null default now(),
  primary key (name, id)
);

-- Finds the owner of a key that a caller shows, before any entity is known.
create table key_lookups (
  lookup bytea primary key,                    -- HMAC-SHA-256 of the key under the server's look-up key
  kind text not null check (kind in ('sor')),
  entity_id integer not null references entities on delete cascade,
  owner_id integer not null
);

create index key_lookups_by_owner on key_lookups (entity_id, kind, owner_id);

-- People who were erased: a keyed hash, under a key that never rotates.
create table tombstones (
  entity_id integer not null references entities on delete cascade,
  customer_hash bytea not null,
  raised_at timestamptz not null default now(),
  primary key (entity_id, customer_hash)
);

create table audit_log (
  entity_id integer not null,
  id bigint generated always as identity,
  happened_at timestamptz not null default now(),
  actor_kind text not null check (actor_kind in ('user', 'sor_key', 'system')),
  actor_id integer,
  address text,
  action text not null,                        -- read, create, update, delete, import, login, …
  subject_kind text not null,                  -- system_of_record, customer, import, …
  subject text,                                -- an identifier of ours, never a customer's
  customer_hash bytea,
  details jsonb not null default '{}',
  primary key (entity_id, id)
);

create index audit_log_by_time on audit_log (entity_id, happened_at);
create index audit_log_by_customer on audit_log (entity_id, customer_hash) where customer_hash is not null;

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only';
end $$;

create trigger audit_log_is_append_only before update or delete on audit_log
  for each row execute function refuse_audit_change();
create trigger audit_log_is_not_truncated before truncate on audit_log
  for each statement execute function refuse_audit_change();
