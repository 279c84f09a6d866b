-- When a value was said: of two imports of one value the one accepted last wins, whichever commits last. Null: before this was known, and
-- Sets, whose changes apply in the order of their commits.

alter table attribute_values add column said_at timestamptz;
