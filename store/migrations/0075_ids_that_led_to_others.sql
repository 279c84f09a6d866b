-- Finds the ids that led to others, which are forgotten when their person is erased.
create index gdpr_identifiers_by_via on gdpr_identifiers (entity_id, via) where via is not null;
create index gdpr_left_identifiers_by_via on gdpr_left_identifiers (entity_id, via) where via is not null;
