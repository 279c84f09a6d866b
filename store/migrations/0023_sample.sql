-- The sample of fast answers: one person in 16, by a hash of the person (store/analytics/sample.ts has the same
-- expressions). A fast answer reads these indexes, and never all events.

-- Events whose user is in the sample; without a user, whose device is. In order of time, so that new entries come last.
create index events_sampled on events (entity_id, app_id, happened_at, id) include (log_type, name, user_id, device_id)
  where hashtextextended(coalesce('u' || user_id, 'd' || device_id), 1) % 16 = 0;

-- Events without a user count for the only user of their device. The last column finds those of a device among all of
-- its events without reading these.
drop index events_by_device;
create index events_by_device on events (entity_id, device_id, happened_at, (user_id is null)) where device_id is not null;

-- Devices with a user in the sample, and users of the devices in it.
create index device_users_sampled on device_users (entity_id, app_id, device_id, user_id)
  where hashtextextended('u' || user_id, 1) % 16 = 0 or hashtextextended('d' || device_id, 1) % 16 = 0;
