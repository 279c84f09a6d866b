-- Ids that differ only in capitals or in composed letters: found for privacy requests and dry runs (store/attributes/similar-ids.ts).
-- One expression, so that the planner never takes another index for it, whatever it knows of the table.
create index customers_by_fold on customers
  ((entity_id::text || ' ' || left(normalize(lower(customer_id collate pg_c_utf8), nfc), 256)));
create index device_users_by_fold on device_users
  ((entity_id::text || ' ' || left(normalize(lower(user_id collate pg_c_utf8), nfc), 256)));
