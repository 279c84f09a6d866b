-- Raised by each change of an app's settings or groups, so that a change of an older one can be refused.
alter table apps add column revision integer not null default 1;
