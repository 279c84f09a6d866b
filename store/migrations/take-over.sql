-- Takes over a database of an older Millrace, from commit a7bb75c on, whose migrations were squashed into those of this
-- folder. Each section below is one of the later old migrations, and runs if the database has not recorded its name.
-- store/core/migrate.ts runs the sections in one transaction, which records the new migrations instead of the old ones.
-- A squashed migration may change until it is released. Then its statement for older databases (alter table … rename
-- column …) goes into a new section at the end, with a name of the same form: it runs for every older database.

-- 0070_file_store.sql
CREATE TABLE file_store (
  id text NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX file_store_one ON file_store ((true));

-- 0072_rebuilt_files.sql
alter table file_jobs
  add column begun_at timestamptz,
  add column first_ended_at timestamptz,
  add column follows integer,
  add column counted_in text,
  add foreign key (entity_id, follows) references file_jobs (entity_id, id) on delete set null (follows);
update file_jobs set begun_at = started_at where file_key is not null;
update file_jobs set first_ended_at = ended_at;
drop index file_jobs_by_age;
create index file_jobs_by_age on file_jobs (first_ended_at);
create index file_jobs_that_follow on file_jobs (entity_id, follows) where follows is not null;
create table file_deletions (
  entity_id integer not null references entities on delete cascade,
  file_key text not null,
  noted_at timestamptz not null default now(),
  primary key (entity_id, file_key)
);
alter table gdpr_requests
  add column files_before timestamptz;

-- 0073_erasure_faults.sql
alter table gdpr_requests
  add column fault_since timestamptz,
  add column location_faults jsonb not null default '{}';
update gdpr_requests set fault_since = updated_at where fault is not null;

-- 0075_ids_that_led_to_others.sql
create index gdpr_identifiers_by_via on gdpr_identifiers (entity_id, via) where via is not null;
create index gdpr_left_identifiers_by_via on gdpr_left_identifiers (entity_id, via) where via is not null;

-- 0076_others_in_archives.sql
alter table gdpr_request_people add column archive_others bytea[];
create index gdpr_request_people_archives on gdpr_request_people (entity_id) where archive_key is not null;

-- 0077_refresh_begun.sql
alter table segments add column refresh_begun_at timestamptz;

-- 0078_identifier_attributes.sql
alter table customer_attributes add column is_identifier boolean not null default false;
alter table gdpr_requests add column kept_values jsonb not null default '[]';

-- 0079_attention.sql
create table internal_errors (
  entity_id integer references entities on delete cascade,
  kind text not null,
  job text not null,
  step text not null,
  id text not null,
  since timestamptz not null default now(),
  last_at timestamptz not null default now(),
  times integer not null default 1,
  unique nulls not distinct (entity_id, kind, job, step)
);
create index internal_errors_by_age on internal_errors (last_at);
create table provider_refusals (
  entity_id integer not null,
  app_id integer not null,
  provider text not null,
  code text not null,
  since timestamptz not null default now(),
  primary key (entity_id, app_id),
  foreign key (entity_id, app_id) references apps on delete cascade
);
create index imports_failed on imports (entity_id, ended_at) where state = 'failed';
create index file_jobs_failed on file_jobs (entity_id, ended_at) where state = 'failed';
create index campaigns_failed on campaigns (entity_id, ended_at) where status = 'failed';

-- 0080_operator_notices.sql
create table operator_notices (
  name text primary key,
  sent_at timestamptz not null
);

-- 0081_step_attempts.sql
create table step_attempts (
  entity_id integer not null references entities on delete cascade,
  kind text not null,
  job text not null,
  activity text not null,
  attempt integer not null,
  process integer,
  is_alone boolean not null default false,
  progress text,
  deaths smallint not null default 0,
  begun_at timestamptz not null default now(),
  primary key (entity_id, kind, job, activity)
);
create index step_attempts_by_age on step_attempts (begun_at);
alter table gdpr_requests add column given_up_at timestamptz;

-- 0082_sent_batches.sql
alter table sync_batches add column sent integer;
alter table sync_runs add column canceled_at timestamptz;
create index sync_runs_canceled on sync_runs (canceled_at) where state = 'canceled' and ended_at is null;

-- 0095_given_up_errors.sql
alter table internal_errors add column given_up boolean not null default false;

-- 0096_waiting_for_slots.sql
alter table imports add column stage text;
alter table sync_runs add column stage text;
alter table export_runs add column stage text;
alter table file_jobs add column stage text;
create table feed_waits (
  entity_id integer primary key references entities on delete cascade,
  since timestamptz not null default now()
);

-- 0100_unreadable_mails.sql
create table unreadable_mails (
  file text primary key,
  found_at timestamptz not null default now()
);

-- 0101_ending_campaigns.sql
create index campaigns_ending on campaigns (entity_id, id) where status in ('canceled', 'failed') and ended_at is null;

-- 0102_deleted_entities.sql
create table deleted_entities (
  entity_id integer primary key,
  deleted_at timestamptz not null default now()
);

-- 0105_subjects_of_calls.sql
alter table refused_calls add column subjects text[];
alter table live_calls add column subjects text[];
update refused_calls set subjects = array_remove(array[
    'd' || coalesce(raw::jsonb #>> '{context,device,id}', raw::jsonb ->> 'anonymousId'),
    'u' || (raw::jsonb ->> 'userId'), 'u' || (raw::jsonb ->> 'previousId')], null)
  -- jsonb refuses some texts, such as those with half a surrogate pair: they are searched as texts, as before.
  where case when raw is json object then raw !~ '\\u' end;
-- These rows are kept for an hour only.
delete from live_calls;

-- 0117_settled_errors.sql
create index import_errors_settled on import_errors (entity_id, import_id) where redriven_by is not null or message = 'erased';
drop index import_errors_redriven;

-- 0118_titles_between_words.sql
-- Titles that were cut within a word may end in a part of an id, which no erasure finds: removes that word.
update crashes set title = regexp_replace(title, '([[:space:],;|"''`<>()\[\]{}=&?])[^[:space:],;|"''`<>()\[\]{}=&?]*$', '\1')
  where length(title) = 256;

-- 0119_said_at.sql
alter table attribute_values add column said_at timestamptz;

-- 0140_sensitive_attributes.sql
alter table customer_attributes add column is_sensitive boolean not null default false;

-- 0150_erasing_since.sql
alter table gdpr_requests add column erasing_since timestamptz;

-- 0151_event_definitions_in_use.sql
alter table event_definitions
  add column days_seen integer not null default 1,
  add column last_seen_on date not null default (now() at time zone 'UTC')::date;
-- Existing definitions rank above definitions of events that came on one day only.
update event_definitions set days_seen = 2;
create index crashes_by_occurrences on crashes (entity_id, app_id, occurrences, id);

-- 0160_unvouched_requests.sql
alter table gdpr_requests add column is_unvouched boolean not null default false;
update gdpr_requests r set is_unvouched = true
where source = 'sdk' and state in ('waiting', 'accepted', 'running')
  and exists (select from gdpr_request_people p where p.entity_id = r.entity_id and p.request_id = r.id and p.user_id is null);
create index gdpr_requests_unvouched on gdpr_requests (entity_id, app_id, received_at) where is_unvouched;
create index gdpr_requests_to_work_off on gdpr_requests (entity_id, id) where state in ('accepted', 'running');

-- 0161_gdpr_digests.sql
alter table gdpr_mails add column digest_id bigint;
alter table gdpr_mails add foreign key (entity_id, digest_id) references gdpr_mails on delete set null (digest_id);
create index gdpr_mails_by_digest on gdpr_mails (entity_id, digest_id) where digest_id is not null;

-- 0163_kept_files.sql
create index imports_kept on imports (entity_id) include (sor_id, file_bytes, ended_at)
  where file_key is not null and state in ('accepted', 'running', 'finished');

-- 0164_kept_files_not_erased.sql
drop index imports_kept;
create index imports_kept on imports (entity_id) include (sor_id, file_bytes, ended_at)
  where file_key is not null and file_erased_at is null and state in ('accepted', 'running', 'finished');

-- 0165_device_said_at.sql
alter table devices
  add column current_user_id_said_at timestamptz,
  add column last_user_id_said_at timestamptz,
  add column push_token_said_at timestamptz,
  add column opt_in_said_at timestamptz,
  add column opt_out_said_at timestamptz,
  add column app_version_said_at timestamptz,
  add column os_version_said_at timestamptz,
  add column sdk_version_said_at timestamptz,
  add column device_model_said_at timestamptz,
  add column device_type_said_at timestamptz,
  add column country_said_at timestamptz,
  add column lang_said_at timestamptz,
  add column last_city_said_at timestamptz,
  add column last_latitude_said_at timestamptz,
  add column last_longitude_said_at timestamptz,
  add column utc_offset_said_at timestamptz,
  add column timezone_said_at timestamptz;

-- 0166_device_logins_and_tokens.sql
alter table devices add column verified_at timestamptz;
create index devices_by_push_token on devices (entity_id, app_id, hashtextextended(push_token, 0)) where push_token is not null;

-- 0170_traits_of_calls.sql
alter table feed_requests add column app_id integer, add column said_at json;
alter table feed_requests add check ((app_id is null) or (done_at is null) = (said_at is not null));

-- 0171_suspicious_ids.sql
alter table import_lanes add column suspicious_ids bigint not null default 0;
alter table feed_requests add column suspicious_ids integer;
alter table sync_runs add column suspicious_ids bigint not null default 0;

-- 0172_failed_traits_live.sql
alter table live_calls drop constraint live_calls_outcome_check;
alter table live_calls add constraint live_calls_outcome_check check (outcome in ('accepted', 'duplicate', 'refused', 'failed'));

-- 0180_mapped_tables.sql
alter table imports
  add column column_mapping json,
  add column table_layout jsonb;
alter table import_lanes add column cells_empty bigint not null default 0;
alter table import_errors
  add column column_number integer not null default 0,
  add column original_column integer not null default 0,
  drop constraint import_errors_pkey,
  add primary key (entity_id, import_id, line, column_number);

-- 0190_odd_cursors.sql
alter table sync_runs
  add odd_cursors integer not null default 0;

-- 0200_cells_without_column.sql
alter table import_lanes add column cells_unnamed bigint not null default 0;
-- An error of a whole line has no column, not even an error of a wrong customer id, which had the customer's column.
update import_errors e set column_number = 0
from imports i
where i.entity_id = e.entity_id and i.id = e.import_id and i.column_mapping is not null
  and e.error_type = 'INVALID_CUSTOMER_ID' and e.customer_hash is null and e.attribute_key is null
  and e.column_number = (i.table_layout ->> 'customer')::integer;

-- 0201_re_drives_said.sql
alter table imports add column said_at timestamptz;

-- 0210_ambiguous_sets.sql
ALTER TABLE export_records ADD COLUMN ambiguous_sets bigint;

-- 0211_buckets_of_exporters.sql
ALTER TABLE data_exporters
  ADD COLUMN server_side_encryption text CHECK (server_side_encryption IN ('AES256', 'aws:kms')),
  ADD COLUMN kms_key_id text,
  ADD COLUMN content_md5 boolean NOT NULL DEFAULT false,
  ADD CHECK (kms_key_id IS NULL OR server_side_encryption = 'aws:kms');

-- 0212_reach_of_campaigns.sql
ALTER TABLE campaigns ADD COLUMN reach_at timestamptz;
UPDATE campaigns SET reach_at = coalesce(launched_at, updated_at)
WHERE type = 'classic' AND (status IN ('ongoing', 'finished') OR reach_total > 0);

-- 0220_guessed_types.sql
alter table customer_attributes add column is_guessed boolean not null default false;
alter table customer_attributes add column widened_from text
  check (widened_from is null or (widened_from in ('Number', 'Boolean', 'Date', 'Datetime') and value_type = 'String'));
update customer_attributes a set is_guessed = true from systems_of_records s
  where s.entity_id = a.entity_id and s.id = a.sor_id and s.type = 'app';
alter table live_calls drop constraint live_calls_outcome_check;
alter table live_calls add constraint live_calls_outcome_check
  check (outcome in ('accepted', 'duplicate', 'refused', 'failed', 'widened'));

-- 0240_folded_ids.sql
create index customers_by_fold on customers
  ((entity_id::text || ' ' || left(normalize(lower(customer_id collate pg_c_utf8), nfc), 256)));
create index device_users_by_fold on device_users
  ((entity_id::text || ' ' || left(normalize(lower(user_id collate pg_c_utf8), nfc), 256)));

-- 0241_dry_run_ids.sql
create table dry_run_ids (
  entity_id integer not null,
  import_id bigint not null,
  customer_id text collate "C" not null,
  customer_type smallint not null,
  line bigint not null,
  primary key (entity_id, import_id, customer_id, customer_type),
  foreign key (entity_id, import_id) references imports on delete cascade
);
alter table imports add column similar_ids integer, add column similar_id_lines jsonb;

-- 0245_erased_errors.sql
alter table import_errors add column is_erased boolean not null default false;
update import_errors set is_erased = true
  where customer_hash is not null or message = 'erased' and customer_id is null and coalesce(raw, '') = '';
drop index import_errors_settled;
create index import_errors_settled on import_errors (entity_id, import_id) where redriven_by is not null or is_erased;
-- Batches under way: marks the records of erased people.
update sync_pinned_batches
  set items = replace(items, '{"kind":"malformed","raw":"","message":"erased"}',
    '{"kind":"malformed","raw":"","message":"erased","isErased":true}')
  where items like '%{"kind":"malformed","raw":"","message":"erased"}%';

-- 0250_workflow_run_ids.sql
alter table imports rename column run_id to workflow_run_id;
alter table sync_runs rename column run_id to workflow_run_id;
alter table export_runs rename column run_id to workflow_run_id;
alter table file_jobs rename column run_id to workflow_run_id;
alter table gdpr_requests rename column run_id to workflow_run_id;
alter table sends rename column run_id to workflow_run_id;
