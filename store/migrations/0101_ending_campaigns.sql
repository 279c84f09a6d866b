-- Canceled and failed campaigns whose counts are not final.
create index campaigns_ending on campaigns (entity_id, id) where status in ('canceled', 'failed') and ended_at is null;
