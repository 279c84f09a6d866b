-- What providers said of an app's pushes, by the UTC day on which these were planned: counted with campaign_days.
create table push_outcome_days (
  entity_id integer not null,
  campaign_id integer not null,
  day date not null,
  app_id integer not null,
  provider text not null,
  outcome text not null check (outcome in ('sent', 'gone', 'too_big', 'refused', 'unknown', 'expired')),
  provider_code text not null default '',  -- of a refusal; empty: none, or its person is erased
  attempts bigint not null,
  primary key (entity_id, campaign_id, day, provider, outcome, provider_code),
  foreign key (entity_id, campaign_id) references campaigns on delete cascade
);

create index push_outcome_days_by_app on push_outcome_days (entity_id, app_id, day);
