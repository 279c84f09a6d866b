-- Apps: their groups, keys, certificates, labels and data wallets.

-- Mobile and web apps, with their settings.
create table apps (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  name text not null,
  package_name text collate "C" not null,
  app_type text not null check (app_type in ('iOS App', 'Android App', 'Web App')),
  store_id text,
  sku text,
  qa boolean not null default false,
  parent_id integer,                            -- two levels: a parent has none
  domains text[] not null default '{}',         -- of a web app
  default_tz text not null default 'Europe/Paris',
  store_fetched boolean not null default false,
  localizations jsonb not null default '[]',    -- {language, original_name, name, description}
  icon jsonb,                                   -- {thumb, medium, large}
  cv_icon jsonb,
  primary_category text,
  secondary_category text,
  statuses jsonb not null default '[]',         -- {cdate, state, version_number}
  fcm_key text,                                 -- sealed
  crm_syncable boolean not null default false,
  inbox_days_to_live integer check (inbox_days_to_live > 0),
  message_limit integer check (message_limit > 0),
  message_period integer check (message_period > 0),  -- seconds
  send_rate integer check (send_rate > 0),      -- messages a second; null: no limit
  quiet_hours json,                             -- {start, end: minutes of the day; timezone}; null: none
  verified_users boolean not null default false,  -- messages go only to users that a user token vouches for
  outcomes_connection text,  -- identifier of the connection that gets the outcomes of messages; null: none
  gdpr_emails text[] not null default '{}',
  gdpr_approval boolean not null default true,  -- deletions that devices ask for wait for approval by staff
  session_timeout integer not null default 120 check (session_timeout between 15 and 3600),  -- seconds
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, package_name),
  check ((message_limit is null) = (message_period is null)),
  foreign key (entity_id, parent_id) references apps
);

create index apps_by_parent on apps (entity_id, parent_id) where parent_id is not null;

-- Groups of apps that are counted together.
create table app_groups (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  identifier text not null,
  name text not null,
  created_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, name)
);

-- The apps of each group.
create table app_group_members (
  entity_id integer not null,
  group_id integer not null,
  app_id integer not null,
  primary key (entity_id, group_id, app_id),
  foreign key (entity_id, group_id) references app_groups on delete cascade,
  foreign key (entity_id, app_id) references apps on delete cascade
);

create index app_group_members_by_app on app_group_members (entity_id, app_id);

-- Keys by which the SDKs of an app send data.
create table app_api_keys (
  entity_id integer not null,
  id integer generated always as identity,
  app_id integer not null,
  identifier text not null,
  lookup bytea not null references key_lookups,
  api_key text not null,  -- sealed
  revoked boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, app_id, lookup),
  foreign key (entity_id, app_id) references apps on delete cascade
);

create index app_api_keys_by_value on app_api_keys (entity_id, lookup);

-- Keys by which an app's server signs user tokens, which vouch for its users.
create table app_token_keys (
  entity_id integer not null,
  id integer generated always as identity,
  app_id integer not null,
  identifier text not null,  -- the `kid` of the tokens that it signs
  secret text not null,      -- sealed
  created_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  foreign key (entity_id, app_id) references apps on delete cascade
);

create index app_token_keys_by_app on app_token_keys (entity_id, app_id);

-- Certificates by which pushes go to an iOS app.
create table push_certificates (
  entity_id integer not null,
  id integer generated always as identity,
  app_id integer not null,
  identifier text not null,
  fingerprint bytea not null,  -- SHA-256 of the certificate
  x509_pem text not null,
  pkey_pem text not null,      -- sealed
  subject text not null,
  uid text,                    -- of the subject: the bundle id that it is for
  not_before timestamptz not null,
  not_after timestamptz not null,
  revoked boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, app_id, fingerprint),
  foreign key (entity_id, app_id) references apps on delete cascade
);

-- Labels that staff put on objects.
create table labels (
  entity_id integer not null references entities on delete cascade,
  id integer generated always as identity,
  name text collate "C" not null,
  created_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, name)
);

-- The objects with each label. The code that deletes a target deletes its rows here.
create table label_targets (
  entity_id integer not null,
  label_id integer not null,
  target_kind text not null check (target_kind in ('event_definition', 'funnel', 'segment')),
  target_id integer not null,
  primary key (entity_id, label_id, target_kind, target_id),
  foreign key (entity_id, label_id) references labels on delete cascade
);

create index label_targets_by_target on label_targets (entity_id, target_kind, target_id);

-- The data wallet of an app tells its users about their data: who has it, and what for. The default categories, and the
-- default recipient with its elements, are in the code (domain/apps/wallet-defaults.ts). A transaction that writes to
-- these tables locks the app's row first.

-- The languages of each wallet.
create table wallet_settings (
  entity_id integer not null,
  app_id integer not null,
  languages text[] not null,  -- ISO 639-1, as they were given
  updated_at timestamptz not null default now(),
  primary key (entity_id, app_id),
  foreign key (entity_id, app_id) references apps on delete cascade
);

-- Legal texts, categories of data, and purposes. json and not jsonb, which would change the order of the languages.
create table wallet_texts (
  entity_id integer not null,
  id integer generated always as identity,
  app_id integer not null,
  kind text not null check (kind in ('legal_text', 'data_category', 'purpose')),
  identifier text not null,
  technical_name text collate "C" not null,
  title json not null,  -- {language: text}
  body json not null,   -- the same: the text of a legal text, the description of the others
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, app_id, kind, technical_name),
  foreign key (entity_id, app_id) references apps on delete cascade
);

-- Recipients of users' data.
create table wallet_recipients (
  entity_id integer not null,
  id integer generated always as identity,
  app_id integer not null,
  identifier text not null,
  technical_name text collate "C" not null,
  display_name text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, app_id, technical_name),
  foreign key (entity_id, app_id) references apps on delete cascade
);

-- The data that a recipient has of a user. The foreign key to the category is checked at the end of the transaction,
-- since deleting an app deletes all of this in any order.
create table wallet_elements (
  entity_id integer not null,
  id integer generated always as identity,
  recipient_id integer not null,
  position integer not null,  -- in the recipient's list
  technical_name text collate "C" not null,
  display_name text not null,
  category_id integer,
  default_category text,      -- instead: the technical name of a default category
  primary key (entity_id, id),
  unique (entity_id, recipient_id, technical_name),
  check (num_nonnulls(category_id, default_category) = 1),
  foreign key (entity_id, recipient_id) references wallet_recipients on delete cascade,
  foreign key (entity_id, category_id) references wallet_texts deferrable initially deferred
);

create index wallet_elements_by_category on wallet_elements (entity_id, category_id) where category_id is not null;

-- The data that each purpose needs.
create table wallet_purpose_elements (
  entity_id integer not null,
  purpose_id integer not null,
  position integer not null,  -- in the purpose's list
  element_id integer,
  default_element text,       -- instead: the technical name of an element of the default recipient
  primary key (entity_id, purpose_id, position),
  check (num_nonnulls(element_id, default_element) = 1),
  foreign key (entity_id, purpose_id) references wallet_texts on delete cascade,
  foreign key (entity_id, element_id) references wallet_elements on delete cascade
);

create index wallet_purpose_elements_by_element on wallet_purpose_elements (entity_id, element_id)
  where element_id is not null;
