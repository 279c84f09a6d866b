-- The people of an entity's control group get no campaign but transactional ones.
alter table entities add column control_group_percent smallint not null default 0 check (control_group_percent between 0 and 50);

-- Of a campaign that held people back, by the UTC day of their attempts: those people, the others, and who of both opened the app since.
create table control_group_days (
  entity_id integer not null,
  campaign_id integer not null,
  day date not null,
  attempts bigint not null,                    -- that were held back, when their day was counted last
  people bigint not null default 0,
  devices bigint not null default 0,
  opened_app bigint not null default 0,
  targeted_people bigint not null default 0,   -- the others
  targeted_opened_app bigint not null default 0,
  due_at timestamptz default now(),            -- when who opened the app is counted next; null: never again
  primary key (entity_id, campaign_id, day),
  foreign key (entity_id, campaign_id) references campaigns on delete cascade
);

create index control_group_days_due on control_group_days (entity_id, due_at) where due_at is not null;
