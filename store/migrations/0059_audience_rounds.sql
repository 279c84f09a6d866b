-- Raised by each step that begins to find or look at the audience of a campaign: an older step that lives on ends.
alter table sends add column audience_round integer not null default 0;

-- Of a dynamic campaign: when its audience is looked at next; null: not known yet.
alter table sends add column next_look_at timestamptz;
