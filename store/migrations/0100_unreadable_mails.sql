-- Files of the outbox that are no mails, moved to outbox/unreadable/ of the file store. A row goes once its file is gone.
create table unreadable_mails (
  file text primary key,                       -- its key in the file store
  found_at timestamptz not null default now()
);
