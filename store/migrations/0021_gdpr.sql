-- Requests of people for their data, or for its deletion; who must not be deleted yet; and what was done, kept for ever.

create table gdpr_requests (
  entity_id integer not null references entities on delete cascade,
  id bigint generated always as identity,
  identifier text not null,
  request_type text not null check (request_type in ('access', 'delete')),
  source text not null check (source in ('api', 'sdk', 'restore')),   -- restore: who came back with a backup is erased again
  app_id integer,                              -- of one from a device
  requester_kind text not null check (requester_kind in ('user', 'service_token', 'device', 'system')),
  requester_id integer,                        -- a user's or service token's id
  skip_email boolean not null default false,
  emails text[] not null default '{}',         -- who is told: people who work with Millrace
  -- waiting: for somebody's approval; treated: all of its people are.
  state text not null default 'accepted' check (state in ('waiting', 'accepted', 'running', 'treated', 'declined')),
  decided_by integer,                          -- the user who approved or declined it
  decided_at timestamptz,
  generation integer not null default 0,       -- raised when a workflow is given up; steps of older ones end
  run_id text,                                 -- firstExecutionRunId of the workflow that claimed the row
  received_at timestamptz not null default now(),
  started_at timestamptz,
  treated_at timestamptz,
  expires_at timestamptz,                      -- when it is discarded, with its people and their archives; null until it is treated or declined
  updated_at timestamptz not null default now(),   -- moved with the request's state and that of its people; not with counts, which stay HOT
  round integer not null default 1,            -- people on hold come in a later round than the others
  stage text,                                  -- what the flow is at
  erased jsonb not null default '{}',          -- in this round: by place, how many rows or files; committed with each batch
  survivors jsonb not null default '{}',       -- by place, as the last look found them
  looked_at timestamptz,
  sync_copies jsonb not null default '{}',     -- by round: the outgoing syncs that knew its people, found before they were erased
  fault text,                                  -- what keeps it, without values
  primary key (entity_id, id),
  unique (entity_id, identifier)
) with (fillfactor = 70);

create index gdpr_requests_by_identifier on gdpr_requests (identifier);   -- a link to an archive has no entity
create index gdpr_requests_by_time on gdpr_requests (entity_id, received_at);
create index gdpr_requests_by_update on gdpr_requests (entity_id, updated_at);
create index gdpr_requests_under_way on gdpr_requests (received_at) where state in ('waiting', 'accepted', 'running');
create index gdpr_requests_by_expiry on gdpr_requests (expires_at) where expires_at is not null;

create table gdpr_request_people (
  entity_id integer not null,
  request_id bigint not null,
  ordinal integer not null,                    -- from 1, in the order in which they were asked for
  user_id text collate "C",                    -- null: of a device nobody used by name
  device_id text collate "C",                  -- from which it was asked
  subject bytea,                               -- the keyed hash of user_id, else of device_id, once it was collected
  -- held: somebody on hold; building: an archive is being written.
  state text not null default 'pending' check (state in ('pending', 'held', 'building', 'treated')),
  treated_at timestamptz,
  round integer,                               -- in which they were erased
  archive_key text,
  archive_bytes bigint,
  archive_sha256 bytea,                        -- of an archive that is being written only the key is there
  shown jsonb,                                 -- by place, how many records were shown
  message text,                                -- instead of an archive; ours, tells of nobody
  primary key (entity_id, request_id, ordinal),
  foreign key (entity_id, request_id) references gdpr_requests on delete cascade
) with (fillfactor = 70);

create index gdpr_people_by_user on gdpr_request_people (entity_id, user_id) where user_id is not null;
create index gdpr_people_by_device on gdpr_request_people (entity_id, device_id) where device_id is not null;

-- What the people of a request under way are known by; gone once they are treated.
create table gdpr_identifiers (
  entity_id integer not null,
  request_id bigint not null,
  kind text not null check (kind in ('user_id', 'device_id', 'push_token')),
  value text collate "C" not null,
  ordinal integer not null,                    -- of whom
  origin text not null check (origin in ('asked', 'alias', 'device')),
  raised boolean not null default false,       -- its tombstone is this request's: no other had raised it
  primary key (entity_id, request_id, kind, value),
  foreign key (entity_id, request_id) references gdpr_requests on delete cascade
);

create index gdpr_identifiers_of_person on gdpr_identifiers (entity_id, request_id, ordinal);

create table gdpr_mails (
  entity_id integer not null,
  id bigint generated always as identity,
  request_id bigint not null,
  kind text not null check (kind in ('waiting', 'held', 'treated', 'near_deadline')),
  identifier text not null,
  mail_state text check (mail_state in ('sending', 'sent', 'not_sent', 'unknown')),
  mail_tries integer not null default 0,
  mail_reason text,
  tried_at timestamptz,                        -- when the last attempt was over
  sent_at timestamptz,
  primary key (entity_id, id),
  unique (entity_id, request_id, kind),
  foreign key (entity_id, request_id) references gdpr_requests on delete cascade
);

-- While one of these stands, the person is not deleted.
create table gdpr_holds (
  entity_id integer not null references entities on delete cascade,
  id bigint generated always as identity,
  identifier text not null,
  customer_type text not null check (customer_type in ('user_id', 'device_id')),
  customer_id text collate "C" not null,
  kind text not null check (kind in ('hold', 'restriction')),
  reason text not null,
  created_by integer,                          -- a user's id
  created_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, customer_id, customer_type, kind)
);

-- What was shown or erased, signed. Names nobody; stays when the request is gone, and when the entity is.
create table gdpr_receipts (
  entity_id integer not null,
  id bigint generated always as identity,
  identifier text not null,
  request_identifier text not null,
  request_type text not null check (request_type in ('access', 'delete')),
  round integer not null,
  issued_at timestamptz not null default now(),
  subjects bytea[] not null,                   -- keyed hashes
  document text not null,                      -- JSON, as it was signed
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, request_identifier, round)
);

create index gdpr_receipts_by_subject on gdpr_receipts using gin (subjects);

create function refuse_receipt_change() returns trigger language plpgsql as $$
begin
  raise exception 'receipts are append-only';
end $$;

create trigger gdpr_receipts_are_append_only before update or delete on gdpr_receipts
  for each row execute function refuse_receipt_change();
create trigger gdpr_receipts_are_not_truncated before truncate on gdpr_receipts
  for each statement execute function refuse_receipt_change();

-- Whom to delete from what was exported: lists for the buckets, under a key of each exporter.
alter table data_exporters add column deletion_key text;        -- sealed; null until it is first needed

create table export_deletions (
  entity_id integer not null references entities on delete cascade,
  id bigint generated always as identity,
  identifier text not null,
  exporter_id integer not null,
  request_identifier text not null,
  round integer not null,
  part integer not null,                       -- from 1: a list is bounded
  erased_at timestamptz not null,              -- rows of these people from before it are to go
  people integer not null,                     -- how many ids it names
  hmacs jsonb,                                 -- {user_id: [hex], device_id: [hex]}; null once it lies in the bucket
  state text not null default 'pending' check (state in ('pending', 'notified', 'not_notified')),
  key text,                                    -- in the bucket
  sha256 bytea,
  tries integer not null default 0,
  waits_until timestamptz,                     -- when it is tried again
  fault text,
  notified_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, exporter_id, request_identifier, round, part)
);

-- Tombstones as the file store has them, too: an object for each of these. The newest batch that names somebody counts.
create table tombstone_batches (
  entity_id integer not null references entities on delete cascade,
  key text collate "C" not null,                           -- in the file store
  kind text not null check (kind in ('raised', 'readmitted')),
  made_at timestamptz not null,
  hashes bytea[] not null,
  search_pending boolean not null default false,   -- came back from the file store: who of them came back, too, is to be found yet
  primary key (entity_id, key)
);

create index tombstone_batches_to_search on tombstone_batches (entity_id) where search_pending;

-- Keys are rotated by `npm run keys`.
alter table server_keys
  add column wrapped_by text,                  -- the fingerprint of the secret key that wraps it
  add column rewrapped_from text;              -- as the file store may still have it; null once that has `wrapped`

alter table imports add column file_erased_at timestamptz;      -- the pinned file held somebody who was erased
alter table apps add column gdpr_approval boolean not null default true;   -- deletions asked for from devices wait for somebody's approval

-- What was asked for from devices before it could be served.
insert into gdpr_requests (entity_id, identifier, request_type, source, app_id, requester_kind, emails, state, received_at)
select r.entity_id, r.identifier, r.request_type, 'sdk', r.app_id, 'device', coalesce(a.gdpr_emails, '{}'),
  case r.request_type when 'delete' then 'waiting' else 'accepted' end, r.received_at
from privacy_requests r left join apps a on a.entity_id = r.entity_id and a.id = r.app_id order by r.id;

insert into gdpr_request_people (entity_id, request_id, ordinal, user_id, device_id)
select r.entity_id, q.id, 1, r.user_id, r.device_id
from privacy_requests r join gdpr_requests q on q.entity_id = r.entity_id and q.identifier = r.identifier;

drop table privacy_requests;
