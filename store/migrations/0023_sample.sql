-- The sample of fast answers: at most one person in 16, by a hash of the person, in 64 parts by further bits of it, so
-- that an answer can read as many parts as its time allows (store/analytics/sample.ts has the same expressions).

-- Events whose user is in the sample; without a user, whose device is.
create index events_sampled on events (
    entity_id, app_id, (hashtextextended(coalesce('u' || user_id, 'd' || device_id), 1) & 1023), happened_at, id
  ) include (log_type, name, user_id, device_id)
  where hashtextextended(coalesce('u' || user_id, 'd' || device_id), 1) % 16 = 0;

-- Events without a user count for the only user of their device. The last column finds those of a device among all of
-- its events without reading these.
drop index events_by_device;
create index events_by_device on events (entity_id, device_id, happened_at, (user_id is null)) where device_id is not null;

-- Devices with a user in the sample, and users of the devices in it.
create index device_users_sampled_user on device_users (
    entity_id, app_id, (hashtextextended('u' || user_id, 1) & 1023), device_id, user_id
  ) where hashtextextended('u' || user_id, 1) % 16 = 0;
create index device_users_sampled_device on device_users (
    entity_id, app_id, (hashtextextended('d' || device_id, 1) & 1023), device_id, user_id
  ) where hashtextextended('d' || device_id, 1) % 16 = 0;
