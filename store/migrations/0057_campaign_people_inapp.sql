-- In-app messages that the app showed, and the person clicked: segments ask for them as long as the campaign lives.
alter table campaign_people add column shown integer not null default 0;
alter table campaign_people add column clicked integer not null default 0;
