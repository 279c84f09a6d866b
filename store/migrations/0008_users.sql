-- Service tokens: for machines, instead of a person's password. And what managing users and entities needs.

create table service_tokens (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  name text not null,
  token_hash bytea not null unique,            -- SHA-256 of the token; the token itself is nowhere
  rights text[] not null,                      -- what it may do, as far as its creator still may
  created_by integer references users on delete set null,
  created_at timestamptz not null default now(),
  used_at timestamptz,
  expires_at timestamptz not null,
  revoked_at timestamptz,                      -- the row stays: the audit log tells of it
  primary key (entity_id, id),
  unique (entity_id, identifier)
);

create index service_tokens_by_creator on service_tokens (created_by);

alter table audit_log drop constraint audit_log_actor_kind_check;
alter table audit_log add constraint audit_log_actor_kind_check
  check (actor_kind in ('user', 'service_token', 'sor_key', 'system'));

-- The log is read newest first, from any entry on.
drop index audit_log_by_time;
create index audit_log_by_time on audit_log (entity_id, happened_at, id);
drop index audit_log_by_customer;
create index audit_log_by_customer on audit_log (entity_id, customer_hash, happened_at, id)
  where customer_hash is not null;

alter table users drop constraint users_prefered_entity_id_fkey;
alter table users add constraint users_prefered_entity_id_fkey
  foreign key (prefered_entity_id) references entities on delete set null;
create index users_by_prefered_entity on users (prefered_entity_id);
