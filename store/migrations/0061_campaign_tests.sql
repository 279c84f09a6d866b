-- A test sends a copy of a campaign, as it was then, to a few people. It counts nowhere, and goes with its last attempt.
alter table campaigns add column test_of text;    -- identifier of the campaign it is a copy of, which may be gone; null: it is none

create index campaigns_of_tests on campaigns (entity_id, id) where test_of is not null;
