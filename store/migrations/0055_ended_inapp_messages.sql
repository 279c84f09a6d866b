-- In-app messages of sensitive campaigns that nobody saw lose their content when their time is over.
create index attempts_by_inapp_end on attempts (entity_id, campaign_id, inapp_until) where inapp_until is not null and content is not null;
