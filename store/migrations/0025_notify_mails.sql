-- How many recipients an entity's mails have had on the last day that it sent any: one row for each entity.
create table notify_mails (
  entity_id integer primary key references entities on delete cascade,
  day date not null,                           -- UTC
  recipients integer not null
);
