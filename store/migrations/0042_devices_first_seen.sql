-- Counts the devices that an app first saw on a day without reading those of all other days. The column hardly ever changes, so that
-- updates of devices stay within their page.
create index devices_first_seen on devices (entity_id, app_id, first_seen_at);
