-- When a user token vouched for the user of a device: a logout that was said before it does not end it.
alter table devices add column verified_at timestamptz;

-- Whose a push token is: it belongs to the device that sent it last. By a hash, since a token may be longer than an index entry.
create index devices_by_push_token on devices (entity_id, app_id, hashtextextended(push_token, 0)) where push_token is not null;
