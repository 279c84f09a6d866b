-- The JSON feed.

-- The inbox: one row for each request, merged by the workflow feedAttributes.
create table feed_requests (
  entity_id integer not null references entities on delete cascade,
  -- From the sequence of imports: import_errors holds the errors of both.
  id bigint not null default nextval(pg_get_serial_sequence('imports', 'id')),
  identifier text not null,    -- shown as requestId
  sor_id integer not null,
  version smallint not null check (version in (2, 3)),
  received_at timestamptz not null default now(),
  -- The values as a JSON array, null once they are done; compressing costs more than writing.
  body text storage external,
  body_bytes integer not null,
  app_id integer,              -- of traits of an app's calls; null: values of the JSON feed
  -- When each trait was said, in ms since the epoch; values of the JSON feed count as said at received_at.
  said_at json,
  values_in integer not null,
  values_ok integer,           -- counts are null until it is done
  values_ignored integer,
  values_failed integer,
  suspicious_ids integer,      -- values with an id such as undefined or 12345.0
  done_at timestamptz,
  primary key (entity_id, id),
  unique (entity_id, identifier),
  check ((done_at is null) = (body is not null)),
  check (done_at is null or values_in = values_ok + values_ignored + values_failed),
  check ((app_id is null) or (done_at is null) = (said_at is not null))
);

-- Requests to merge, in the order of acceptance: short, whatever the table's size.
create index feed_inbox on feed_requests (entity_id, id) include (body_bytes, values_in, received_at)
  where done_at is null;
create index feed_requests_by_age on feed_requests (done_at) where done_at is not null;

-- Entities whose feed waits for a slot of its worker.
create table feed_waits (
  entity_id integer primary key references entities on delete cascade,
  since timestamptz not null default now()
);
