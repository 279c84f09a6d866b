-- Finds an event by its id. Ids come with the order of arrival, so a few ranges of pages hold each: entries cost writes
-- hardly anything.
create index events_by_id on events using brin (id) with (pages_per_range = 32, autosummarize = on);
