-- Since when a request's round erases: texts that came later were searched for its people before they were kept.
alter table gdpr_requests add column erasing_since timestamptz;
