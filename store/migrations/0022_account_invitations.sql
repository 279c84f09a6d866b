-- Who is invited into an entity, and links that set a password anew. Both go by mail; of a link only a hash is kept.

-- A row is an invitation that nobody has accepted or withdrawn.
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
  invited_by integer not null,                 -- a user's id: who must still be allowed to give all this at the acceptance
  created_at timestamptz not null default now(),
  token_hash bytea,                            -- SHA-256 of the token, which is drawn when the mail goes and is nowhere else
  expires_at timestamptz not null default now() + interval '1 day',
  mail_state text check (mail_state in ('sending', 'sent', 'not_sent', 'unknown')),
  mail_tries integer not null default 0,
  mail_reason text,
  tried_at timestamptz,
  sent_at timestamptz,
  primary key (entity_id, id)
);

create unique index invitations_by_email on invitations (entity_id, lower(email));
create unique index invitations_by_token on invitations (token_hash);
create index invitations_by_expiry on invitations (expires_at);

-- An account is the same in all entities, so this belongs to none. The account of an address is looked up when the mail goes: a
-- request takes as long whether there is one or not.
create table password_resets (
  id bigint primary key generated always as identity,
  identifier text not null unique,
  email text not null,                         -- as it was asked for
  user_id integer references users on delete cascade,
  address text,                                -- the network address that asked, without a login
  created_at timestamptz not null default now(),
  token_hash bytea,
  expires_at timestamptz not null default now() + interval '1 day',
  mail_state text check (mail_state in ('sending', 'sent', 'not_sent', 'unknown')),
  mail_tries integer not null default 0,
  mail_reason text,
  tried_at timestamptz,
  sent_at timestamptz
);

create unique index password_resets_by_token on password_resets (token_hash);
create index password_resets_by_user on password_resets (user_id);
create index password_resets_by_expiry on password_resets (expires_at);

-- Beside logins: invitations of an entity, and links that were asked for, each in windows of its own length.
alter table login_attempts add column window_seconds integer not null default 900;
