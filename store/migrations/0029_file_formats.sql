-- How the file of an import is to be read, as set with it; and how it is read, null until that is found out.
alter table imports
  add column file_settings jsonb not null default '{}',
  add column file_format jsonb;
