-- The step of a job that was given up: it is not tried again by itself.
alter table internal_errors add column given_up boolean not null default false;
