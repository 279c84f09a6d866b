-- The zone of a device's clock, by its IANA name: campaigns send at the same time of the day everywhere.
alter table devices add column timezone text;

-- A campaign that was launched to an audience is a send of its own: its messages go to the devices in campaign_audience.
alter table sends add column campaign_id integer;            -- null: asked for by POST /api/transac
alter table sends add column audience_at timestamptz;        -- when its audience was complete; null: not yet
alter table sends add foreign key (entity_id, campaign_id) references campaigns on delete cascade;

create unique index sends_by_campaign on sends (entity_id, campaign_id) where campaign_id is not null;

alter table campaigns add column reach_count bigint not null default 0;    -- devices of its audience
alter table campaigns add column reach_optin bigint not null default 0;    -- of them, those that allow pushes
alter table campaigns add column reach_total bigint not null default 0;    -- devices that have the app

-- Devices that a campaign has still to look at: a row goes once its attempt is written.
create table campaign_audience (
  entity_id integer not null,
  send_id integer not null,
  due_at timestamptz not null,
  person text collate "C" not null,            -- u and the user's id, or d and the device's
  device_id text collate "C" not null,
  primary key (entity_id, send_id, due_at, person, device_id)
);
