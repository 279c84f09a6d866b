-- Alerts go to connections besides mail: what became of each. Kept as a mail is, in the same columns.

create table run_alerts (
  entity_id integer not null,
  id integer generated always as identity,
  sync_run_id integer,
  export_run_id integer,
  connection_id integer not null,
  mail_state text,
  mail_tries integer not null default 0,
  mail_reason text,
  primary key (entity_id, id),
  unique nulls not distinct (entity_id, sync_run_id, export_run_id, connection_id),
  foreign key (entity_id, sync_run_id) references sync_runs on delete cascade,
  foreign key (entity_id, export_run_id) references export_runs on delete cascade,
  foreign key (entity_id, connection_id) references connections on delete cascade,
  check ((sync_run_id is null) <> (export_run_id is null))
);

create index run_alerts_by_export_run on run_alerts (entity_id, export_run_id) where export_run_id is not null;
create index run_alerts_by_connection on run_alerts (entity_id, connection_id);

alter table data_exporters add column notify_connections text[] not null default '{}';    -- identifiers of connections
