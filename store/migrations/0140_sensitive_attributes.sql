-- Attributes of which staff say that filters over them need the right sor_manage, such as a salary: counts of filters tell single values.
alter table customer_attributes add column is_sensitive boolean not null default false;
