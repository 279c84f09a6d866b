-- What keeps a privacy request: since when, and for a deletion each location that could not be erased.

alter table gdpr_requests
  add column fault_since timestamptz,
  add column location_faults jsonb not null default '{}';   -- by location { since, reason }; the others go on
update gdpr_requests set fault_since = updated_at where fault is not null;
