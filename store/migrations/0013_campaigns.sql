-- Campaigns: their definitions, audiences and counts.

-- A campaign of an app.
create table campaigns (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  api_identifier text,                          -- of a transactional one: its second name
  app_id integer not null,
  name text not null,
  type text not null check (type in ('classic', 'transactional', 'dynamic')),
  status text not null default 'draft'
    check (status in ('draft', 'scheduled', 'wait_sync', 'ongoing', 'finished', 'failed', 'canceled')),
  includes_push boolean not null,
  includes_inapp boolean not null,
  start_date timestamptz,                       -- null: at the launch
  end_date timestamptz,
  adapt_tz boolean not null default false,
  skip_message_limit boolean not null default false,
  is_sensitive boolean not null default false,  -- the content of its messages is not kept
  filters json,
  params json not null,
  recurrence json,                              -- of a dynamic one
  notif_limit json,                             -- of a dynamic one
  variants json,                                -- null: one of share 100
  -- A test sends a copy of a campaign to a few people. It counts nowhere, and goes with its last attempt.
  test_of text,                                 -- identifier of the copied campaign, which may be gone; null: no test
  reach_at timestamptz,  -- when the audience of a classic campaign was found; until then its reach is zeros
  reach_count bigint not null default 0,        -- devices of its audience
  reach_optin bigint not null default 0,        -- of these, devices that allow pushes
  reach_total bigint not null default 0,        -- devices that have the app
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

create unique index campaigns_by_api_identifier on campaigns (entity_id, api_identifier)
  where api_identifier is not null;
create index campaigns_by_app on campaigns (entity_id, app_id);
create index campaigns_of_tests on campaigns (entity_id, id) where test_of is not null;
create index campaigns_failed on campaigns (entity_id, ended_at) where status = 'failed';
-- Canceled and failed campaigns whose counts are not final.
create index campaigns_ending on campaigns (entity_id, id) where status in ('canceled', 'failed') and ended_at is null;

-- Devices of a launched campaign without an attempt so far: a row goes once the attempt is written.
create table campaign_audience (
  entity_id integer not null,
  send_id integer not null,
  due_at timestamptz not null,
  person text collate "C" not null,  -- u and the user's id, or d and the device's
  device_id text collate "C" not null,
  primary key (entity_id, send_id, due_at, person, device_id)
);

-- People in the audience of a running dynamic campaign, and their notifications.
create table campaign_members (
  entity_id integer not null,
  send_id integer not null,
  person text collate "C" not null,  -- u and the user's id, or d and the device's
  is_member boolean not null,        -- was in the audience at the last look
  notified integer not null,
  last_notified_at timestamptz,
  last_window timestamptz,           -- the beginning of the window of the last notification
  primary key (entity_id, send_id, person)
);

create index campaign_members_by_person on campaign_members (entity_id, person);

-- Attempts of a campaign by the UTC day of their creation, counted again from the attempts while these are kept.
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

-- What each person got of a campaign, from attempts that are no longer kept. Segments ask for it as long as the
-- campaign lives.
create table campaign_people (
  entity_id integer not null,
  campaign_id integer not null,
  person text collate "C" not null,    -- u and the user's id, or d and the device's
  sent integer not null,
  opened integer not null,
  shown integer not null default 0,    -- in-app messages that the app showed
  clicked integer not null default 0,  -- in-app messages that the person clicked
  last_sent_at timestamptz,
  primary key (entity_id, campaign_id, person),
  foreign key (entity_id, campaign_id) references campaigns on delete cascade
);

create index campaign_people_by_person on campaign_people (entity_id, person);

-- The control group of a campaign by the UTC day of the attempts: people who were held back, the others, and who of
-- both opened the app since.
create table control_group_days (
  entity_id integer not null,
  campaign_id integer not null,
  day date not null,
  attempts bigint not null,                   -- held back, when the day was last counted
  people bigint not null default 0,
  devices bigint not null default 0,
  opened_app bigint not null default 0,
  targeted_people bigint not null default 0,  -- the others
  targeted_opened_app bigint not null default 0,
  due_at timestamptz default now(),           -- when opens of the app are counted next; null: never again
  primary key (entity_id, campaign_id, day),
  foreign key (entity_id, campaign_id) references campaigns on delete cascade
);

create index control_group_days_due on control_group_days (entity_id, due_at) where due_at is not null;
