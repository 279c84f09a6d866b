-- POSTs that came with an Idempotency-Key: which request has it, and the reply that a repeat gets.

create table idempotent_requests (
  entity_id integer not null references entities on delete cascade,
  key_hash bytea not null,                     -- HMAC-SHA-256 of caller, method, path and key
  fingerprint bytea not null,                  -- HMAC-SHA-256 of all that the request says
  holder uuid not null,                        -- drawn by the request that has the key: nobody else keeps a reply
  received_at timestamptz not null default now(),
  leased_until timestamptz not null,           -- until then a request without a reply counts as running
  http_status smallint,                        -- null until the reply is kept, in the transaction of its effect
  reply text,                                  -- the body; null where it holds secrets
  identifier text,                             -- then the object that was created
  primary key (entity_id, key_hash)
);

create index idempotent_requests_by_age on idempotent_requests (received_at);
