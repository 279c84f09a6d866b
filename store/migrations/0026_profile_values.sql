-- Its texts take values of people's profiles: only those who may read values see what its messages said.
alter table campaigns add column has_profile_values boolean not null default false;
update campaigns set has_profile_values = true
where params::text like '%*@sor:%' or variants::text like '%*@sor:%';
