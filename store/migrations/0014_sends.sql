-- Sends: requests to send messages, the attempts at each device, providers, and reports.

-- How an app sends pushes to each platform. Without a row: by the sandbox, which sends nothing.
create table push_providers (
  entity_id integer not null,
  app_id integer not null,
  platform text not null check (platform in ('ios', 'android', 'web')),
  provider text not null,
  settings jsonb not null default '{}',
  secret_names text[] not null default '{}',  -- of the members in sealed_secrets
  sealed_secrets text,                        -- sealed: JSON of the secret members
  -- The VAPID pair stays when another provider is chosen: browsers subscribed to this pair alone.
  vapid_public_key text,
  vapid_private_key text,                     -- sealed
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (entity_id, app_id, platform),
  check ((vapid_public_key is null) = (vapid_private_key is null)),
  foreign key (entity_id, app_id) references apps on delete cascade
);

-- Apps whose provider refused the last pushes. A row goes once the provider takes a push.
create table provider_refusals (
  entity_id integer not null,
  app_id integer not null,
  provider text not null,
  code text not null,
  since timestamptz not null default now(),
  primary key (entity_id, app_id),
  foreign key (entity_id, app_id) references apps on delete cascade
);

-- A request by POST /api/transac, or a launched campaign, whose audience is in campaign_audience.
create table sends (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  campaign_id integer,  -- of a launched campaign; null: asked for by POST /api/transac

  state text not null default 'accepted' check (state in ('accepted', 'running', 'finished', 'failed', 'canceled')),
  generation integer not null default 0,  -- raised when the sweep resets the job; steps of older generations end
  workflow_run_id text,                   -- firstExecutionRunId of the workflow that claimed the row
  received_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz,

  send_at timestamptz,              -- null: at once
  request_key bytea,                -- keyed hash of the sender's own key for the request, which repeats it for 30 days
  body_hash bytea,                  -- of what was asked for under that key
  message_count integer not null,
  cancel_requested_at timestamptz,  -- messages that are not sent by then are CANCELED

  audience_at timestamptz,   -- when the audience was complete; null: not yet
  -- Raised by each step that begins to find or look at the audience: an older step that is still alive ends.
  audience_round integer not null default 0,
  looked_at timestamptz,     -- of a dynamic campaign: when its audience was last looked at
  looks integer not null default 0,
  next_look_at timestamptz,  -- null: not known yet
  created_by integer references users on delete set null,
  primary key (entity_id, id),
  unique (entity_id, identifier),
  foreign key (entity_id, campaign_id) references campaigns on delete cascade
);

create unique index sends_by_request_key on sends (entity_id, request_key) where request_key is not null;
create unique index sends_by_campaign on sends (entity_id, campaign_id) where campaign_id is not null;
create index sends_waiting on sends (received_at) where state in ('accepted', 'running');
create index sends_by_age on sends (received_at);

-- The campaigns that a request by POST /api/transac names.
create table send_campaigns (
  entity_id integer not null,
  send_id integer not null,
  ordinal smallint not null,  -- in campaignKey, from 0
  campaign_id integer not null,
  primary key (entity_id, send_id, ordinal),
  foreign key (entity_id, send_id) references sends on delete cascade,
  foreign key (entity_id, campaign_id) references campaigns on delete cascade
);

create index send_campaigns_by_campaign on send_campaigns (entity_id, campaign_id, send_id);

-- Messages of a request without attempts so far: a row goes once the attempts are written.
create table send_messages (
  entity_id integer not null,
  send_id integer not null,
  ordinal integer not null,  -- from 0
  user_id text collate "C",  -- null: an erased person
  user_hash bytea,           -- keyed, of an erased person
  vars json,
  primary key (entity_id, send_id, ordinal)
);

create index send_messages_by_user on send_messages (entity_id, user_id) where user_id is not null;

-- Each drawn number stands for the hundred attempts whose ids begin with it.
create sequence attempt_ids increment by 100;

-- The ledger: a row for each device that a message is meant for. It is waiting, then sending, then settled; a row that
-- was sending when its worker ended is settled as UNKNOWN. No foreign keys: each row would check them.
create table attempts (
  entity_id integer not null,
  campaign_id integer not null,
  id bigint not null default nextval('attempt_ids'),
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  due_at timestamptz,                       -- of a waiting one: when it is tried
  expires_at timestamptz,                   -- a push that is not sent by then is EXPIRED
  delivered_at timestamptz,                 -- the device received the push
  opened_at timestamptz,                    -- the person opened it
  inapp_until timestamptz,                  -- the device gets the in-app message until then; null: there is none
  shown_at timestamptz,                     -- the device showed the in-app message
  clicked_at timestamptz,                   -- the person clicked it
  changed_at timestamptz not null default now(),
  app_id integer not null,
  send_id integer,
  message_ordinal integer,
  tries smallint not null default 0,
  is_paced boolean not null default false,  -- due_at is its own moment at the app's send rate
  channel text not null check (channel in ('push', 'inapp', 'both')),
  state text not null check (state in ('waiting', 'sending', 'settled')),
  code text not null,                       -- PENDING until it is settled
  provider text,
  provider_message_id text,
  variant text,
  device_id text collate "C",               -- null: the user has no device
  user_id text collate "C",                 -- null: an erased person
  user_hash bytea,                          -- keyed, of an erased person
  details text,
  content json,                             -- what the device gets; null once a sensitive one is settled
  primary key (entity_id, campaign_id, id)
) with (fillfactor = 80);

create index attempts_by_user on attempts (entity_id, user_id, id) where user_id is not null;
create index attempts_by_device on attempts (entity_id, device_id, id) where device_id is not null;
create index attempts_by_send on attempts (entity_id, send_id, message_ordinal) where send_id is not null;
create index attempts_open on attempts (entity_id, send_id, due_at) where state <> 'settled';
-- In-app messages of sensitive campaigns that were not seen lose their content at the end of their time.
create index attempts_by_inapp_end on attempts (entity_id, campaign_id, inapp_until)
  where inapp_until is not null and content is not null;
create index attempts_settled on attempts using brin (settled_at) with (pages_per_range = 32, autosummarize = on);
create index attempts_changed on attempts using brin (changed_at) with (pages_per_range = 32, autosummarize = on);
create index attempts_created on attempts using brin (created_at) with (pages_per_range = 32, autosummarize = on);

-- When an app with a send rate may send the next message.
create table send_paces (
  entity_id integer not null,
  app_id integer not null,
  next_at timestamptz not null,
  primary key (entity_id, app_id),
  foreign key (entity_id, app_id) references apps on delete cascade
);

-- The checkpoint of an app's outcomes on their way to its connection, in the order of settled_at and id, from the
-- moment on at which the connection was set.
create table outcome_deliveries (
  entity_id integer not null,
  app_id integer not null,
  delivered_at timestamptz not null default now(),
  delivered_id bigint not null default 0,
  sending_at timestamptz,            -- the end of the current batch, which stays the same until it is taken
  sending_id bigint,
  tries integer not null default 0,  -- in a row without success
  failing_since timestamptz,
  waits_until timestamptz,
  failure text,
  primary key (entity_id, app_id),
  foreign key (entity_id, app_id) references apps on delete cascade,
  check ((sending_at is null) = (sending_id is null))
);

-- The checkpoint of reports: changes of attempts up to counted_until are in campaign_days; attempts of days before
-- kept_since are deleted.
create table report_rollups (
  entity_id integer primary key references entities on delete cascade,
  counted_until timestamptz not null,
  kept_since date not null
);
