-- What an SDK says of identity is a claim: whoever has the app has its key. What it may lead to depends on who vouches for it.

alter table user_aliases
  add column app_id integer,                       -- of the call that said so first
  add column device_id text collate "C",           -- which device said so; null: a call of no device, or from before this column
  -- When it was written the earlier id was known from no other device than the one that said so, and as no other user's.
  add column witnessed boolean not null default false,
  add column decision text check (decision in ('confirmed', 'refused')),   -- of staff; null: nobody has decided
  add column decided_by integer,                   -- a user's id
  add column decided_at timestamptz;

-- Of aliases from before nobody knows which device wrote them: those count whose earlier id no device beside the user's has used.
update user_aliases a set witnessed = not exists (
  select from device_users o where o.entity_id = a.entity_id and o.user_id = a.previous_id and not exists (
    select from device_users s
    where s.entity_id = o.entity_id and s.app_id = o.app_id and s.device_id = o.device_id and s.user_id = a.user_id));

-- whole_device: all that a device has sent, under whatever name; of a request from that device.
alter table gdpr_identifiers
  drop constraint gdpr_identifiers_kind_check,
  add constraint gdpr_identifiers_kind_check check (kind in ('user_id', 'device_id', 'push_token', 'whole_device')),
  drop constraint gdpr_identifiers_origin_check,
  add constraint gdpr_identifiers_origin_check check (origin in ('asked', 'alias', 'confirmed', 'device')),   -- confirmed: an alias, by staff
  add column via text collate "C";                 -- the id that led to it; null of one that was asked for

create index user_aliases_by_device on user_aliases (entity_id, device_id) where device_id is not null;

-- What a claim links to people of a request, and is left alone. Stays as long as the request: staff may ask for it by its own id.
create table gdpr_left_identifiers (
  entity_id integer not null,
  request_id bigint not null,
  ordinal integer not null,                        -- of whom
  kind text not null check (kind in ('user_id', 'device_id')),
  value text collate "C" not null,
  via text collate "C",                            -- the id that leads to it; null once that person was erased
  reason text not null check (reason in ('unconfirmed', 'shared', 'too_many')),
  primary key (entity_id, request_id, ordinal, kind, value),
  foreign key (entity_id, request_id) references gdpr_requests on delete cascade
);

create index gdpr_left_identifiers_by_value on gdpr_left_identifiers (entity_id, value);
