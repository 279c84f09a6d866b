-- Attributes whose values are ids of people, such as a member's number, as staff say: erasure removes these values from filters.
alter table customer_attributes add column is_identifier boolean not null default false;

-- Values of filters that equal an id of the request's people and stayed, by the object that holds them: [{place, object, on, key, values}].
alter table gdpr_requests add column kept_values jsonb not null default '[]';
