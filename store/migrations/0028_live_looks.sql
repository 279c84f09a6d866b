-- The last entry of somebody who follows the live calls of an app: one covers an hour.
create index audit_log_of_live_calls on audit_log (entity_id, subject, actor_kind, actor_id, happened_at)
  where details ->> 'what' = 'live_calls';
