-- People in the audience of a dynamic campaign while it runs, and what they got of it.
create table campaign_members (
  entity_id integer not null,
  send_id integer not null,
  person text collate "C" not null,            -- u and the user's id, or d and the device's
  is_member boolean not null,                  -- was in the audience at the last look
  notified integer not null,
  last_notified_at timestamptz,
  last_window timestamptz,                     -- the beginning of the window of the last notification
  primary key (entity_id, send_id, person)
);

create index campaign_members_by_person on campaign_members (entity_id, person);

alter table sends add column looked_at timestamptz;              -- of a dynamic campaign: when its audience was last looked at
alter table sends add column looks integer not null default 0;
