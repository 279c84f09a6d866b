-- A run's mail and its alerts are tried again each by itself: when, or null where it is settled.

alter table sync_runs add column mail_due_at timestamptz;
alter table export_runs add column mail_due_at timestamptz;
alter table run_alerts add column mail_due_at timestamptz;

-- What waits for its next try while this migration runs: tries end half an hour after the run.
update sync_runs set mail_due_at = now() where mail_state = 'not_sent' and ended_at > now() - interval '1 hour';
update export_runs set mail_due_at = now() where mail_state = 'not_sent' and ended_at > now() - interval '1 hour';
