-- Core: keys of the service, its file store, repeated requests, and limits of mails.

-- Keys of the service, wrapped under MILLRACE_SECRET_KEY. The file store has the same rows. `npm run keys` rotates
-- them.
create table server_keys (
  name text not null,
  id integer not null,
  wrapped text not null,
  wrapped_by text,      -- the fingerprint of the secret key that wraps it
  rewrapped_from text,  -- as the file store may still have it; null once the file store has `wrapped`
  created_at timestamptz not null default now(),
  primary key (name, id)
);

-- The file store that belongs to this database, by the id in its marker (store/core/file-store-marker.ts): one row.
create table file_store (
  id text not null,
  seen_at timestamptz not null default now()
);

create unique index file_store_one on file_store ((true));

-- Files that no row names any more. The process that adds a row deletes the file after its commit; the sweep deletes
-- the files that are left.
create table file_deletions (
  entity_id integer not null references entities on delete cascade,
  file_key text not null,
  noted_at timestamptz not null default now(),
  primary key (entity_id, file_key)
);

-- POSTs with an Idempotency-Key: the request that has the key, and the reply that a repeat gets.
create table idempotent_requests (
  entity_id integer not null references entities on delete cascade,
  key_hash bytea not null,            -- HMAC-SHA-256 of caller, method, path and key
  fingerprint bytea not null,         -- HMAC-SHA-256 of the whole request
  holder uuid not null,               -- drawn by the request that has the key: no other may store a reply
  received_at timestamptz not null default now(),
  leased_until timestamptz not null,  -- until then a request without a reply counts as running
  http_status smallint,               -- null until the reply is stored, in the transaction of its effect
  reply text,                         -- the body; null if it holds secrets
  identifier text,                    -- the created object, if the body is not stored
  primary key (entity_id, key_hash)
);

create index idempotent_requests_by_age on idempotent_requests (received_at);

-- Recipients of an entity's mails on the last day on which it sent any.
create table notify_mails (
  entity_id integer primary key references entities on delete cascade,
  day date not null,  -- UTC
  recipients integer not null
);

-- When superadmins last got a mail about something that concerns the whole service.
create table operator_notices (
  name text primary key,
  sent_at timestamptz not null
);

-- Files of the outbox that are no mails, moved to outbox/unreadable/ of the file store. A row goes once its file is
-- gone.
create table unreadable_mails (
  file text primary key,  -- its key in the file store
  found_at timestamptz not null default now()
);
