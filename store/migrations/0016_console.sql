-- A session of the console, which a browser keeps as a cookie, ends at this moment, however busy it is. A token of
-- `POST /api/login` has none.
alter table tokens add column ends_at timestamptz;

-- Requests of the feed with ignored or failed values, which are few.
create index feed_requests_with_errors on feed_requests (entity_id, id) where values_ignored + values_failed > 0;
