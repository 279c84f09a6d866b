-- Accounts: entities, users and their rights, tokens, logins, mails with links, and the audit log.

-- An entity owns everything else; the keys of nearly all tables begin with its id.
create table entities (
  id integer generated always as identity primary key,
  identifier text not null unique,
  name text not null,
  description text not null default '',
  active boolean not null default true,
  default_tz text not null default 'Europe/Paris',
  data_retention_in_months integer not null default 25 check (data_retention_in_months between 1 and 120),
  qa_api_key text not null,    -- sealed
  prod_api_key text not null,  -- sealed
  -- The external id that a role in a customer's AWS account requires before it is assumed. It is no secret.
  external_id text not null default replace(gen_random_uuid()::text, '-', ''),
  -- The share of people who get no campaign but transactional ones.
  control_group_percent smallint not null default 0 check (control_group_percent between 0 and 50),
  -- Up to when old calls of SDKs were last deleted (store/tracking/event-retention.ts): once a day.
  events_kept_since timestamptz,
  created_at timestamptz not null default now()
);

-- Deleted entities that still have rows in tables without a foreign key to entities. The sweep deletes these in
-- batches.
create table deleted_entities (
  entity_id integer primary key,
  deleted_at timestamptz not null default now()
);

-- People who log in.
create table users (
  id integer generated always as identity primary key,
  uid text not null unique,
  email text not null,
  first_name text not null default '',
  last_name text not null default '',
  password_hash text not null,  -- argon2id
  superadmin boolean not null default false,
  prefered_entity_id integer references entities on delete set null,
  created_at timestamptz not null default now()
);

create unique index users_by_email on users (lower(email));
create index users_by_prefered_entity on users (prefered_entity_id);

-- The entities of each user, with the rights there.
create table memberships (
  user_id integer not null references users on delete cascade,
  entity_id integer not null references entities on delete cascade,
  rights text[] not null default '{}',
  admin boolean not null default false,
  primary key (user_id, entity_id)
);

create index memberships_by_entity on memberships (entity_id);

-- Sessions of users who have logged in.
create table tokens (
  token_hash bytea primary key,  -- SHA-256 of the token, which is stored nowhere
  user_id integer not null,
  entity_id integer not null,
  created_at timestamptz not null default now(),
  used_at timestamptz not null default now(),
  expires_at timestamptz not null,
  foreign key (user_id, entity_id) references memberships on delete cascade
);

create index tokens_by_expiry on tokens (expires_at);
create index tokens_by_member on tokens (user_id, entity_id);

-- Tokens of machines, used instead of a person's password.
create table service_tokens (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  name text not null,
  token_hash bytea not null unique,  -- SHA-256 of the token, which is stored nowhere
  rights text[] not null,            -- count only while the creator has them, too
  created_by integer references users on delete set null,
  created_at timestamptz not null default now(),
  used_at timestamptz,
  expires_at timestamptz not null,
  revoked_at timestamptz,            -- the row stays, since the audit log names it
  primary key (entity_id, id),
  unique (entity_id, identifier)
);

create index service_tokens_by_creator on service_tokens (created_by);

-- Failures in a window of time: logins by address and by account, invitations by entity, links that were asked for.
create table login_attempts (
  subject bytea primary key,  -- SHA-256 of "address:…" or "account:…"
  window_start timestamptz not null,
  failures integer not null,
  window_seconds integer not null default 900
);

-- Invitations that are neither accepted nor withdrawn.
create table invitations (
  entity_id integer not null references entities on delete cascade,
  id bigint generated always as identity,
  identifier text not null unique,
  email text not null,
  first_name text not null default '',
  last_name text not null default '',
  rights text[] not null,
  admin boolean not null,
  superadmin boolean not null,
  -- A user's id; when the invitation is accepted, this user must still be allowed to give all this.
  invited_by integer not null,
  created_at timestamptz not null default now(),
  token_hash bytea,             -- SHA-256 of the token, which is drawn when the mail goes and stored nowhere
  expires_at timestamptz not null default now() + interval '1 day',
  mail_state text check (mail_state in ('sending', 'sent', 'filed', 'not_sent', 'unknown')),
  mail_tries integer not null default 0,
  mail_reason text,
  tried_at timestamptz,
  sent_at timestamptz,
  primary key (entity_id, id)
);

create unique index invitations_by_email on invitations (entity_id, lower(email));
create unique index invitations_by_token on invitations (token_hash);
create index invitations_by_expiry on invitations (expires_at);

-- Links that set a new password. An account is the same in all entities, so these belong to none. The account of an
-- address is looked up when the mail goes, so that a request takes as long whether there is an account or not.
create table password_resets (
  id bigint primary key generated always as identity,
  identifier text not null unique,
  email text not null,  -- as it was asked for
  user_id integer references users on delete cascade,
  address text,         -- the network address that asked, without a login
  created_at timestamptz not null default now(),
  token_hash bytea,     -- as in invitations
  expires_at timestamptz not null default now() + interval '1 day',
  mail_state text check (mail_state in ('sending', 'sent', 'filed', 'not_sent', 'unknown')),
  mail_tries integer not null default 0,
  mail_reason text,
  tried_at timestamptz,
  sent_at timestamptz
);

create unique index password_resets_by_token on password_resets (token_hash);
create index password_resets_by_user on password_resets (user_id);
create index password_resets_by_expiry on password_resets (expires_at);

-- The owners of API keys, looked up before any entity is known.
create table key_lookups (
  lookup bytea primary key,  -- HMAC-SHA-256 of the key under the server's look-up key
  kind text not null check (kind in ('sor', 'app')),
  entity_id integer not null references entities on delete cascade,
  owner_id integer not null  -- 0 of an app's key: apps of one entity may share one, but no other entity may have it
);

create index key_lookups_by_owner on key_lookups (entity_id, kind, owner_id);

-- Actions of users, keys and the service itself. Append-only.
create table audit_log (
  entity_id integer not null,
  id bigint generated always as identity,
  happened_at timestamptz not null default now(),
  actor_kind text not null check (actor_kind in ('user', 'service_token', 'sor_key', 'system')),
  actor_id integer,
  address text,
  action text not null,        -- read, create, update, delete, import, login, …
  subject_kind text not null,  -- system_of_record, customer, import, …
  subject text,                -- one of our identifiers, never a customer's
  customer_hash bytea,
  details jsonb not null default '{}',
  primary key (entity_id, id)
);

-- The log is read newest first, from any entry on.
create index audit_log_by_time on audit_log (entity_id, happened_at, id);
create index audit_log_by_customer on audit_log (entity_id, customer_hash, happened_at, id)
  where customer_hash is not null;

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only';
end $$;

create trigger audit_log_is_append_only before update or delete on audit_log
  for each row execute function refuse_audit_change();
create trigger audit_log_is_not_truncated before truncate on audit_log
  for each statement execute function refuse_audit_change();
