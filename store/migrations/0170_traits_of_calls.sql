-- Traits of calls in the feed's inbox: of which app they are, and when each was said, in ms since the epoch. Null: values of the JSON feed,
-- which count as said when they were received.

alter table feed_requests add column app_id integer, add column said_at json;
alter table feed_requests add check ((app_id is null) or (done_at is null) = (said_at is not null));
