-- Traits that could not be merged show beside refused calls.

alter table live_calls drop constraint live_calls_outcome_check;
alter table live_calls add constraint live_calls_outcome_check check (outcome in ('accepted', 'duplicate', 'refused', 'failed'));
