-- Campaigns: revisions, who launched them for how many people, and results that say why.

alter table campaigns
  add column revision integer not null default 1,  -- raised by each change of the draft, and by its launch
  add column launched_by integer references users on delete set null,
  add column expected_people integer;              -- confirmed at the launch; null: no number was given

-- The tests of a campaign, by its identifier.
create index campaigns_by_tested on campaigns (entity_id, test_of, id) where test_of is not null;

alter table campaign_days
  add column details text not null default '',  -- why, of the codes that have several reasons
  add column inapp bigint not null default 0,   -- devices that got the in-app message
  drop constraint campaign_days_pkey,
  add primary key (entity_id, campaign_id, day, variant, channel, code, details);

update campaign_days set inapp = attempts where code = 'INAPP_AVAILABLE';
-- Days whose attempts are kept are counted again, with both.
update report_rollups set counted_until = kept_since;
