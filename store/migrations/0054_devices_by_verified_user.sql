-- The devices that a signed token vouched for, by their user: a send looks them up for each of its recipients. App and user lead, so that
-- the primary key is no choice even where nothing was analyzed yet.
create index devices_by_verified_user on devices (entity_id, app_id, verified_user_id) where verified_user_id is not null;
