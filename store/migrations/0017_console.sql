-- The sessions of a person, newest first, for the page of a person.
create index sessions_of_user on sessions (entity_id, user_id, started_at) where user_id is not null;
drop index sessions_by_user;
alter index sessions_of_user rename to sessions_by_user;
