-- Keys by which an app's server vouches for its users, and requests from devices as what they are: a device's word.

create table app_token_keys (
  entity_id integer not null,
  id integer generated always as identity,
  app_id integer not null,
  identifier text not null,                    -- the `kid` of the tokens that it signs
  secret text not null,                        -- sealed
  created_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  foreign key (entity_id, app_id) references apps on delete cascade
);

create index app_token_keys_by_app on app_token_keys (entity_id, app_id);

create index gdpr_requests_open_from_devices on gdpr_requests (entity_id, app_id)
  where source = 'sdk' and state in ('waiting', 'accepted', 'running');

-- Until now a device's last user, which is the device's own word, decided for whom a request is. What has not begun covers the device.
update gdpr_request_people p set user_id = null from gdpr_requests r
where r.entity_id = p.entity_id and r.id = p.request_id
  and r.source = 'sdk' and r.state in ('waiting', 'accepted') and p.device_id is not null and p.subject is null;
