-- The JSON feed's inbox: one row a request, merged by the workflow feedAttributes.

create table feed_requests (
  entity_id integer not null references entities on delete cascade,
  -- From the imports' own sequence: import_errors holds the errors of both, told apart by this number.
  id bigint not null default nextval(pg_get_serial_sequence('imports', 'id')),
  identifier text not null,                    -- shown as requestId
  sor_id integer not null,
  version smallint not null check (version in (2, 3)),
  received_at timestamptz not null default now(),
  body text,                                   -- the values as a JSON array; gone once they are done
  body_bytes integer not null,
  values_in integer not null,
  values_ok integer,                           -- counts are known once it is done
  values_ignored integer,
  values_failed integer,
  done_at timestamptz,
  primary key (entity_id, id),
  unique (entity_id, identifier),
  check ((done_at is null) = (body is not null)),
  check (done_at is null or values_in = values_ok + values_ignored + values_failed)
);

-- It is read once and gone: compressing it would cost more than writing it.
alter table feed_requests alter column body set storage external;

-- What is still to be merged, in the order of acceptance: short, whatever the table's size.
create index feed_inbox on feed_requests (entity_id, id) include (body_bytes, values_in, received_at) where done_at is null;
create index feed_requests_by_age on feed_requests (done_at) where done_at is not null;
