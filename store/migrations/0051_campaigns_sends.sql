-- Campaigns, requests to send their messages, and the ledger of attempts: a row for each device that a message was meant for.

create table campaigns (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  api_identifier text,                         -- of a transactional one: its second name
  app_id integer not null,
  name text not null,
  type text not null check (type in ('classic', 'transactional', 'dynamic')),
  status text not null default 'draft'
    check (status in ('draft', 'scheduled', 'wait_sync', 'ongoing', 'finished', 'failed', 'canceled')),
  includes_push boolean not null,
  includes_inapp boolean not null,
  start_date timestamptz,                      -- null: at the launch
  end_date timestamptz,
  adapt_tz boolean not null default false,
  skip_message_limit boolean not null default false,
  is_sensitive boolean not null default false, -- the content of its messages is not kept
  filters json,
  params json not null,
  recurrence json,                             -- of a dynamic one
  notif_limit json,                            -- of a dynamic one
  variants json,                               -- null: one of share 100
  created_by integer references users on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  launched_at timestamptz,
  ended_at timestamptz,
  failure text,
  primary key (entity_id, id),
  unique (entity_id, identifier),
  foreign key (entity_id, app_id) references apps on delete cascade
);

create unique index campaigns_by_api_identifier on campaigns (entity_id, api_identifier) where api_identifier is not null;
create index campaigns_by_app on campaigns (entity_id, app_id);

-- A request to send messages, by POST /api/transac.
create table sends (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  state text not null default 'accepted' check (state in ('accepted', 'running', 'finished', 'failed', 'canceled')),
  generation integer not null default 0,
  run_id text,
  received_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz,
  send_at timestamptz,                         -- null: at once
  request_key bytea,                           -- keyed hash of the sender's own key for the request, which repeats it for 30 days
  body_hash bytea,                             -- of what was asked for under that key
  message_count integer not null,
  next_ordinal integer not null default 0,     -- messages before it have their attempts
  cancel_requested_at timestamptz,             -- what is not sent by then is CANCELED
  created_by integer references users on delete set null,
  primary key (entity_id, id),
  unique (entity_id, identifier)
);

create unique index sends_by_request_key on sends (entity_id, request_key) where request_key is not null;
create index sends_waiting on sends (received_at) where state in ('accepted', 'running');
create index sends_by_age on sends (received_at);

create table send_campaigns (
  entity_id integer not null,
  send_id integer not null,
  ordinal smallint not null,                   -- its place in campaignKey, from 0
  campaign_id integer not null,
  primary key (entity_id, send_id, ordinal),
  foreign key (entity_id, send_id) references sends on delete cascade,
  foreign key (entity_id, campaign_id) references campaigns on delete cascade
);

create index send_campaigns_by_campaign on send_campaigns (entity_id, campaign_id, send_id);

-- What is still to be looked at: a message goes once its attempts are written.
create table send_messages (
  entity_id integer not null,
  send_id integer not null,
  ordinal integer not null,                    -- from 0
  user_id text collate "C",                    -- null: of an erased person
  user_hash bytea,                             -- keyed, of an erased person
  vars json,
  primary key (entity_id, send_id, ordinal)
);

create index send_messages_by_user on send_messages (entity_id, user_id) where user_id is not null;

create sequence attempt_ids;

-- No foreign keys: each row would check them. A row is waiting, then sending, then settled; what was sending when its worker ended is
-- settled as UNKNOWN.
create table attempts (
  entity_id integer not null,
  campaign_id integer not null,
  id bigint not null default nextval('attempt_ids'),
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  due_at timestamptz,                          -- of a waiting one: when it is tried
  expires_at timestamptz,                      -- a push that is not sent by then is EXPIRED
  delivered_at timestamptz,                    -- the device received the push
  opened_at timestamptz,                       -- the person opened it
  inapp_until timestamptz,                     -- the device gets the in-app message until then; null: there is none
  shown_at timestamptz,                        -- the device showed the in-app message
  clicked_at timestamptz,                      -- the person clicked it
  changed_at timestamptz not null default now(),
  app_id integer not null,
  send_id integer,
  message_ordinal integer,
  tries smallint not null default 0,
  is_paced boolean not null default false,     -- due_at is its own moment at the app's send rate
  channel text not null check (channel in ('push', 'inapp', 'both')),
  state text not null check (state in ('waiting', 'sending', 'settled')),
  code text not null,                          -- of a waiting or sending one PENDING
  provider text,
  provider_message_id text,
  variant text,
  device_id text collate "C",                  -- null: the user has no device
  user_id text collate "C",                    -- null: of an erased person
  user_hash bytea,                             -- keyed, of an erased person
  details text,
  content json,                                -- what the device gets; null once a sensitive one is settled
  primary key (entity_id, campaign_id, id)
) with (fillfactor = 80);

create index attempts_by_user on attempts (entity_id, user_id, id) where user_id is not null;
create index attempts_by_device on attempts (entity_id, device_id, id) where device_id is not null;
create index attempts_by_send on attempts (entity_id, send_id, message_ordinal) where send_id is not null;
create index attempts_open on attempts (entity_id, send_id, due_at) where state <> 'settled';
create index attempts_settled on attempts using brin (settled_at) with (pages_per_range = 32, autosummarize = on);
create index attempts_changed on attempts using brin (changed_at) with (pages_per_range = 32, autosummarize = on);
create index attempts_created on attempts using brin (created_at) with (pages_per_range = 32, autosummarize = on);

-- Attempts of a campaign by the UTC day they were made: recounted from the attempts while these are kept.
create table campaign_days (
  entity_id integer not null,
  campaign_id integer not null,
  day date not null,
  variant text not null default '',
  channel text not null,
  code text not null,
  attempts bigint not null,
  delivered bigint not null,
  opened bigint not null,
  shown bigint not null,
  clicked bigint not null,
  primary key (entity_id, campaign_id, day, variant, channel, code),
  foreign key (entity_id, campaign_id) references campaigns on delete cascade
);

-- What a person got of a campaign, from attempts that are no longer kept.
create table campaign_people (
  entity_id integer not null,
  campaign_id integer not null,
  person text collate "C" not null,            -- u and the user's id, or d and the device's
  sent integer not null,
  opened integer not null,
  last_sent_at timestamptz,
  primary key (entity_id, campaign_id, person),
  foreign key (entity_id, campaign_id) references campaigns on delete cascade
);

create index campaign_people_by_person on campaign_people (entity_id, person);

-- Up to when changes of attempts are counted in campaign_days, and the first day that may change still: attempts of earlier days go.
create table report_rollups (
  entity_id integer primary key references entities on delete cascade,
  counted_until timestamptz not null,
  kept_since date not null
);

alter table devices add column first_campaign_received_at timestamptz;
alter table devices add column last_campaign_received_at timestamptz;
alter table devices add column verified_user_id text collate "C";    -- the user that a signed token vouched for on it

alter table apps add column verified_users boolean not null default false;
alter table apps add column quiet_hours json;                        -- {start, end: minutes of the day; timezone}; null: none
alter table apps add column send_rate integer check (send_rate > 0);  -- messages a second; null: no limit

-- When an app with a send rate may send the next message.
create table send_paces (
  entity_id integer not null,
  app_id integer not null,
  next_at timestamptz not null,
  primary key (entity_id, app_id),
  foreign key (entity_id, app_id) references apps on delete cascade
);
