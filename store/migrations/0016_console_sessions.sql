-- A session of the console, which a browser keeps as a cookie, ends at this moment, however busy it is. A token of
-- `POST /api/login` has none.
alter table tokens add column ends_at timestamptz;
