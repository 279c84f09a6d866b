-- GDPR: requests of people for their data or for its deletion, holds, receipts, and tombstones of erased people.

-- A request for access or deletion.
create table gdpr_requests (
  entity_id integer not null references entities on delete cascade,
  id bigint generated always as identity,
  identifier text not null,
  request_type text not null check (request_type in ('access', 'delete')),
  source text not null check (source in ('api', 'sdk', 'restore')),  -- restore: a backup brought an erased person back
  app_id integer,                               -- of one from a device
  requester_kind text not null check (requester_kind in ('user', 'service_token', 'device', 'system')),
  requester_id integer,                         -- a user's or service token's id
  -- From a device, without a user token: its app has a rate, and it waits behind others.
  is_unvouched boolean not null default false,
  skip_email boolean not null default false,
  emails text[] not null default '{}',          -- staff who get its mails
  decided_by integer,                           -- the user who approved or declined it
  decided_at timestamptz,

  -- waiting: for approval; treated: all of its people are.
  state text not null default 'accepted' check (state in ('waiting', 'accepted', 'running', 'treated', 'declined')),
  stage text,                             -- the step of its workflow
  generation integer not null default 0,  -- raised when the sweep resets the job; steps of older generations end
  workflow_run_id text,                   -- firstExecutionRunId of the workflow that claimed the row
  received_at timestamptz not null default now(),
  started_at timestamptz,
  treated_at timestamptz,
  expires_at timestamptz,  -- when it is discarded, with its people and archives; null until it is treated or declined
  -- Of its state and its people's, not of counts: these updates stay HOT.
  updated_at timestamptz not null default now(),

  round integer not null default 1,             -- people on hold come in a later round than the others
  erasing_since timestamptz,  -- of this round: later texts are searched for its people before they are stored
  files_before timestamptz,                     -- files begun before may hold the people of this round
  erased jsonb not null default '{}',  -- in this round: by location, how many rows or files; committed with each batch
  survivors jsonb not null default '{}',        -- by location, as the last look found them
  looked_at timestamptz,
  -- [{place, object, on, key, values}]: filter values that equal an id and stayed.
  kept_values jsonb not null default '[]',
  sync_copies jsonb not null default '{}',  -- by round: outgoing syncs that knew its people, found before their erasure
  fault text,                                   -- why it does not go on, without values
  fault_since timestamptz,
  -- By location that could not be erased {since, reason}; the others go on.
  location_faults jsonb not null default '{}',
  given_up_at timestamptz,                      -- a step killed its process too often; it goes on once staff approve it
  primary key (entity_id, id),
  unique (entity_id, identifier)
) with (fillfactor = 70);

create index gdpr_requests_by_identifier on gdpr_requests (identifier);  -- a link to an archive has no entity
create index gdpr_requests_by_time on gdpr_requests (entity_id, received_at);
create index gdpr_requests_by_update on gdpr_requests (entity_id, updated_at);
create index gdpr_requests_under_way on gdpr_requests (received_at) where state in ('waiting', 'accepted', 'running');
create index gdpr_requests_to_work_off on gdpr_requests (entity_id, id) where state in ('accepted', 'running');
create index gdpr_requests_by_expiry on gdpr_requests (expires_at) where expires_at is not null;
create index gdpr_requests_open_from_devices on gdpr_requests (entity_id, app_id)
  where source = 'sdk' and state in ('waiting', 'accepted', 'running');
create index gdpr_requests_unvouched on gdpr_requests (entity_id, app_id, received_at) where is_unvouched;

-- The people of a request.
create table gdpr_request_people (
  entity_id integer not null,
  request_id bigint not null,
  ordinal integer not null,    -- from 1, in the order of the request
  user_id text collate "C",    -- null: a device without a user
  device_id text collate "C",  -- that asked
  subject bytea,               -- the keyed hash of user_id, else of device_id; null until it is collected
  -- held: on hold; building: the archive is being written.
  state text not null default 'pending' check (state in ('pending', 'held', 'building', 'treated')),
  treated_at timestamptz,
  round integer,               -- in which the person was erased
  archive_key text,
  archive_bytes bigint,
  archive_sha256 bytea,        -- null while the archive is being written
  archive_others bytea[],  -- keyed hashes of other users in the archive, which goes when one is erased; null: not noted
  shown jsonb,                 -- by location, how many records were shown
  message text,                -- instead of an archive; one of our texts, without personal data
  primary key (entity_id, request_id, ordinal),
  foreign key (entity_id, request_id) references gdpr_requests on delete cascade
) with (fillfactor = 70);

create index gdpr_people_by_user on gdpr_request_people (entity_id, user_id) where user_id is not null;
create index gdpr_people_by_device on gdpr_request_people (entity_id, device_id) where device_id is not null;
create index gdpr_request_people_archives on gdpr_request_people (entity_id) where archive_key is not null;

-- The ids of the people of a request under way; deleted once they are treated.
create table gdpr_identifiers (
  entity_id integer not null,
  request_id bigint not null,
  -- whole_device: everything that a device has sent, under any name; of a request from that device.
  kind text not null check (kind in ('user_id', 'device_id', 'push_token', 'whole_device')),
  value text collate "C" not null,
  ordinal integer not null,               -- the person's
  origin text not null check (origin in ('asked', 'alias', 'confirmed', 'device')),  -- confirmed: an alias, by staff
  via text collate "C",                   -- the id that led to it; null if it was asked for
  raised boolean not null default false,  -- this request raised its tombstone
  primary key (entity_id, request_id, kind, value),
  foreign key (entity_id, request_id) references gdpr_requests on delete cascade
);

create index gdpr_identifiers_of_person on gdpr_identifiers (entity_id, request_id, ordinal);
-- Ids that led to others are deleted when their person is erased.
create index gdpr_identifiers_by_via on gdpr_identifiers (entity_id, via) where via is not null;

-- Ids that a claim links to people of a request, and that are left alone. They stay as long as the request: staff may
-- make another request by the id itself.
create table gdpr_left_identifiers (
  entity_id integer not null,
  request_id bigint not null,
  ordinal integer not null,  -- the person's
  kind text not null check (kind in ('user_id', 'device_id')),
  value text collate "C" not null,
  via text collate "C",      -- the id that leads to it; null once that person was erased
  reason text not null check (reason in ('unconfirmed', 'shared', 'too_many')),
  primary key (entity_id, request_id, ordinal, kind, value),
  foreign key (entity_id, request_id) references gdpr_requests on delete cascade
);

create index gdpr_left_identifiers_by_value on gdpr_left_identifiers (entity_id, value);
create index gdpr_left_identifiers_by_via on gdpr_left_identifiers (entity_id, via) where via is not null;

-- Mails about requests.
create table gdpr_mails (
  entity_id integer not null,
  id bigint generated always as identity,
  request_id bigint not null,
  kind text not null check (kind in ('waiting', 'held', 'treated', 'near_deadline')),
  identifier text not null,
  digest_id bigint,      -- the mail of an app that covers this one, too: several unvouched requests share a digest
  mail_state text check (mail_state in ('sending', 'sent', 'filed', 'not_sent', 'unknown')),
  mail_tries integer not null default 0,
  mail_reason text,
  tried_at timestamptz,  -- when the last attempt ended
  sent_at timestamptz,
  primary key (entity_id, id),
  unique (entity_id, request_id, kind),
  foreign key (entity_id, request_id) references gdpr_requests on delete cascade,
  foreign key (entity_id, digest_id) references gdpr_mails on delete set null (digest_id)
);

create index gdpr_mails_by_digest on gdpr_mails (entity_id, digest_id) where digest_id is not null;

-- People who must not be deleted as long as the row is there.
create table gdpr_holds (
  entity_id integer not null references entities on delete cascade,
  id bigint generated always as identity,
  identifier text not null,
  customer_type text not null check (customer_type in ('user_id', 'device_id')),
  customer_id text collate "C" not null,
  kind text not null check (kind in ('hold', 'restriction')),
  reason text not null,
  created_by integer,  -- a user's id
  created_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, customer_id, customer_type, kind)
);

-- Signed evidence of what was shown or erased. Append-only, without personal data; stays when the request is gone, and
-- when the entity is.
create table gdpr_receipts (
  entity_id integer not null,
  id bigint generated always as identity,
  identifier text not null,
  request_identifier text not null,
  request_type text not null check (request_type in ('access', 'delete')),
  round integer not null,
  issued_at timestamptz not null default now(),
  subjects bytea[] not null,  -- keyed hashes
  document text not null,     -- JSON, as it was signed
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

-- Lists of people to delete from exported files: they go to the exporters' buckets, under a key of each exporter.
create table export_deletions (
  entity_id integer not null references entities on delete cascade,
  id bigint generated always as identity,
  identifier text not null,
  exporter_id integer not null,
  request_identifier text not null,
  round integer not null,
  part integer not null,           -- from 1: a list is bounded
  erased_at timestamptz not null,  -- rows of these people from before are to be deleted
  people integer not null,         -- how many ids it names
  hmacs jsonb,                     -- {user_id: [hex], device_id: [hex]}; null once it is in the bucket
  state text not null default 'pending' check (state in ('pending', 'notified', 'not_notified')),
  key text,                        -- in the bucket
  sha256 bytea,
  tries integer not null default 0,
  waits_until timestamptz,         -- the next try
  fault text,
  notified_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, exporter_id, request_identifier, round, part)
);

-- Erased people: a keyed hash, under a key that never rotates.
create table tombstones (
  entity_id integer not null references entities on delete cascade,
  customer_hash bytea not null,
  raised_at timestamptz not null default now(),
  primary key (entity_id, customer_hash)
);

-- The same tombstones in the file store, one object for each row. The newest batch that names a person counts.
create table tombstone_batches (
  entity_id integer not null references entities on delete cascade,
  key text collate "C" not null,  -- in the file store
  kind text not null check (kind in ('raised', 'readmitted')),
  made_at timestamptz not null,
  hashes bytea[] not null,
  search_pending boolean not null default false,  -- read back from the file store: its people must be searched for
  primary key (entity_id, key)
);

create index tombstone_batches_to_search on tombstone_batches (entity_id) where search_pending;
