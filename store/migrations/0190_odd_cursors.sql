alter table sync_runs
  add odd_cursors integer not null default 0;  -- records whose cursor value never moves the cursor
