-- Requests from devices that no user token vouches for: their apps have a rate, and they wait behind other requests.
alter table gdpr_requests add column is_unvouched boolean not null default false;
update gdpr_requests r set is_unvouched = true
where source = 'sdk' and state in ('waiting', 'accepted', 'running')
  and exists (select from gdpr_request_people p where p.entity_id = r.entity_id and p.request_id = r.id and p.user_id is null);
create index gdpr_requests_unvouched on gdpr_requests (entity_id, app_id, received_at) where is_unvouched;
create index gdpr_requests_to_work_off on gdpr_requests (entity_id, id) where state in ('accepted', 'running');
