-- The ids that a call gives itself, each with its type: 'u' or 'd', and the id. A device's request for its data covers
-- the calls of that device, so they have to be known by their type: as texts they would name anybody who is called the
-- same.
alter table refused_calls add column subjects text[];
alter table live_calls add column subjects text[];

update refused_calls set subjects = array_remove(array[
    'd' || coalesce(raw::jsonb #>> '{context,device,id}', raw::jsonb ->> 'anonymousId'),
    'u' || (raw::jsonb ->> 'userId'), 'u' || (raw::jsonb ->> 'previousId')], null)
  -- Of others, such as those with half a surrogate pair, which jsonb refuses, the texts are searched as before.
  where case when raw is json object then raw !~ '\\u' end;

-- They are kept for an hour.
delete from live_calls;
