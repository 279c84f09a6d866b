-- When the audience of a classic campaign was found: until then its reach is zeros.
ALTER TABLE campaigns ADD COLUMN reach_at timestamptz;
UPDATE campaigns SET reach_at = coalesce(launched_at, updated_at)
WHERE type = 'classic' AND (status IN ('ongoing', 'finished') OR reach_total > 0);
