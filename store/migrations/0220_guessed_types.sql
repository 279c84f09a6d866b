-- The type of an attribute that the calls of SDKs made was guessed from its first value. Until staff define it, the first value of another
-- type widens it to String, once. The values before stay in the column of the earlier type; as text they read the same.

alter table customer_attributes add column is_guessed boolean not null default false;
alter table customer_attributes add column widened_from text
  check (widened_from is null or (widened_from in ('Number', 'Boolean', 'Date', 'Datetime') and value_type = 'String'));
update customer_attributes a set is_guessed = true from systems_of_records s
  where s.entity_id = a.entity_id and s.id = a.sor_id and s.type = 'app';

alter table live_calls drop constraint live_calls_outcome_check;
alter table live_calls add constraint live_calls_outcome_check
  check (outcome in ('accepted', 'duplicate', 'refused', 'failed', 'widened'));
