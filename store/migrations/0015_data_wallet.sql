-- The data wallet of an app: what its users are told about their data, by whom it is had, and what for.
-- Default categories, and the default recipient with its elements, stand in the code (domain/apps/wallet-defaults.ts).
-- Whoever writes holds the app's row, so what is looked up first stays so until the end.

create table wallet_settings (
  entity_id integer not null,
  app_id integer not null,
  languages text[] not null,                   -- ISO 639-1, as they were given
  updated_at timestamptz not null default now(),
  primary key (entity_id, app_id),
  foreign key (entity_id, app_id) references apps on delete cascade
);

-- json and not jsonb: the languages come back in the order in which they came.
create table wallet_texts (
  entity_id integer not null,
  id integer generated always as identity,
  app_id integer not null,
  kind text not null check (kind in ('legal_text', 'data_category', 'purpose')),
  identifier text not null,
  technical_name text collate "C" not null,
  title json not null,                         -- {language: text}
  body json not null,                          -- the same: the text of a legal text, the description of the others
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (entity_id, id),
  unique (entity_id, identifier),
  unique (entity_id, app_id, kind, technical_name),
  foreign key (entity_id, app_id) references apps on delete cascade
);

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

-- What a recipient has of a user. The key to the category is looked at last, since with an app goes all of it, in any order.
create table wallet_elements (
  entity_id integer not null,
  id integer generated always as identity,
  recipient_id integer not null,
  position integer not null,                   -- in the recipient's list
  technical_name text collate "C" not null,
  display_name text not null,
  category_id integer,
  default_category text,                       -- instead: the technical name of a default one
  primary key (entity_id, id),
  unique (entity_id, recipient_id, technical_name),
  check (num_nonnulls(category_id, default_category) = 1),
  foreign key (entity_id, recipient_id) references wallet_recipients on delete cascade,
  foreign key (entity_id, category_id) references wallet_texts deferrable initially deferred
);

create index wallet_elements_by_category on wallet_elements (entity_id, category_id) where category_id is not null;

create table wallet_purpose_elements (
  entity_id integer not null,
  purpose_id integer not null,
  position integer not null,                   -- in the purpose's list
  element_id integer,
  default_element text,                        -- instead: the technical name of one of the default recipient's
  primary key (entity_id, purpose_id, position),
  check (num_nonnulls(element_id, default_element) = 1),
  foreign key (entity_id, purpose_id) references wallet_texts on delete cascade,
  foreign key (entity_id, element_id) references wallet_elements on delete cascade
);

create index wallet_purpose_elements_by_element on wallet_purpose_elements (entity_id, element_id) where element_id is not null;
