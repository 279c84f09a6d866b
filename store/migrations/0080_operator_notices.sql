-- When superadmins were last mailed about something that concerns the whole service.
create table operator_notices (
  name text primary key,
  sent_at timestamptz not null
);
