CREATE FUNCTION public.date_change_log_entry() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  update attribute_change_log set committed_at = clock_timestamp()
  where entity_id = new.entity_id and received_at = new.received_at and id = new.id;
  return null;
end $$;
CREATE FUNCTION public.refuse_audit_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  raise exception 'the audit log is append-only';
end $$;
CREATE FUNCTION public.refuse_receipt_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  raise exception 'receipts are append-only';
end $$;
CREATE TABLE public.app_api_keys (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    app_id integer NOT NULL,
    identifier text NOT NULL,
    lookup bytea NOT NULL,
    api_key text NOT NULL,
    revoked boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.app_api_keys ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.app_api_keys_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.app_group_members (
    entity_id integer NOT NULL,
    group_id integer NOT NULL,
    app_id integer NOT NULL
);
CREATE TABLE public.app_groups (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    identifier text NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.app_groups ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.app_groups_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.app_token_keys (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    app_id integer NOT NULL,
    identifier text NOT NULL,
    secret text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.app_token_keys ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.app_token_keys_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.apps (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    identifier text NOT NULL,
    name text NOT NULL,
    package_name text NOT NULL COLLATE pg_catalog."C",
    app_type text NOT NULL,
    store_id text,
    sku text,
    qa boolean DEFAULT false NOT NULL,
    parent_id integer,
    domains text[] DEFAULT '{}'::text[] NOT NULL,
    default_tz text DEFAULT 'Europe/Paris'::text NOT NULL,
    store_fetched boolean DEFAULT false NOT NULL,
    localizations jsonb DEFAULT '[]'::jsonb NOT NULL,
    icon jsonb,
    cv_icon jsonb,
    primary_category text,
    secondary_category text,
    statuses jsonb DEFAULT '[]'::jsonb NOT NULL,
    fcm_key text,
    crm_syncable boolean DEFAULT false NOT NULL,
    inbox_days_to_live integer,
    message_limit integer,
    message_period integer,
    gdpr_emails text[] DEFAULT '{}'::text[] NOT NULL,
    session_timeout integer DEFAULT 120 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    gdpr_approval boolean DEFAULT true NOT NULL,
    verified_users boolean DEFAULT false NOT NULL,
    quiet_hours json,
    send_rate integer,
    outcomes_connection text,
    CONSTRAINT apps_app_type_check CHECK ((app_type = ANY (ARRAY['iOS App'::text, 'Android App'::text, 'Web App'::text]))),
    CONSTRAINT apps_check CHECK (((message_limit IS NULL) = (message_period IS NULL))),
    CONSTRAINT apps_inbox_days_to_live_check CHECK ((inbox_days_to_live > 0)),
    CONSTRAINT apps_message_limit_check CHECK ((message_limit > 0)),
    CONSTRAINT apps_message_period_check CHECK ((message_period > 0)),
    CONSTRAINT apps_send_rate_check CHECK ((send_rate > 0)),
    CONSTRAINT apps_session_timeout_check CHECK (((session_timeout >= 15) AND (session_timeout <= 3600)))
);
ALTER TABLE public.apps ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.apps_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE SEQUENCE public.attempt_ids
    START WITH 1
    INCREMENT BY 100
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE public.attempts (
    entity_id integer NOT NULL,
    campaign_id integer NOT NULL,
    id bigint DEFAULT nextval('public.attempt_ids'::regclass) NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    settled_at timestamp with time zone,
    due_at timestamp with time zone,
    expires_at timestamp with time zone,
    delivered_at timestamp with time zone,
    opened_at timestamp with time zone,
    inapp_until timestamp with time zone,
    shown_at timestamp with time zone,
    clicked_at timestamp with time zone,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    app_id integer NOT NULL,
    send_id integer,
    message_ordinal integer,
    tries smallint DEFAULT 0 NOT NULL,
    is_paced boolean DEFAULT false NOT NULL,
    channel text NOT NULL,
    state text NOT NULL,
    code text NOT NULL,
    provider text,
    provider_message_id text,
    variant text,
    device_id text COLLATE pg_catalog."C",
    user_id text COLLATE pg_catalog."C",
    user_hash bytea,
    details text,
    content json,
    CONSTRAINT attempts_channel_check CHECK ((channel = ANY (ARRAY['push'::text, 'inapp'::text, 'both'::text]))),
    CONSTRAINT attempts_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'sending'::text, 'settled'::text])))
)
WITH (fillfactor='80');
CREATE TABLE public.attribute_change_log (
    entity_id integer NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    id bigint NOT NULL,
    sor_id integer NOT NULL,
    customer_type smallint NOT NULL,
    customer_ids text[] NOT NULL COLLATE pg_catalog."C",
    committed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    pending boolean DEFAULT false NOT NULL
);
ALTER TABLE ONLY public.attribute_change_log ALTER COLUMN customer_ids SET STORAGE EXTERNAL;
ALTER TABLE public.attribute_change_log ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.attribute_change_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.attribute_values (
    entity_id integer NOT NULL,
    sor_id integer NOT NULL,
    customer_type smallint NOT NULL,
    attribute_id integer NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    removed_at timestamp with time zone,
    datetime_value timestamp with time zone,
    date_value date,
    boolean_value boolean,
    customer_id text NOT NULL COLLATE pg_catalog."C",
    string_value text COLLATE pg_catalog."C",
    number_value numeric,
    set_elements text[] COLLATE pg_catalog."C",
    set_times timestamp with time zone[],
    said_at timestamp with time zone,
    CONSTRAINT attribute_values_customer_type_check CHECK ((customer_type = ANY (ARRAY[0, 1])))
)
WITH (fillfactor='50');
CREATE TABLE public.audit_log (
    entity_id integer NOT NULL,
    id bigint NOT NULL,
    happened_at timestamp with time zone DEFAULT now() NOT NULL,
    actor_kind text NOT NULL,
    actor_id integer,
    address text,
    action text NOT NULL,
    subject_kind text NOT NULL,
    subject text,
    customer_hash bytea,
    details jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT audit_log_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['user'::text, 'service_token'::text, 'sor_key'::text, 'system'::text])))
);
ALTER TABLE public.audit_log ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.campaign_audience (
    entity_id integer NOT NULL,
    send_id integer NOT NULL,
    due_at timestamp with time zone NOT NULL,
    person text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.campaign_days (
    entity_id integer NOT NULL,
    campaign_id integer NOT NULL,
    day date NOT NULL,
    variant text DEFAULT ''::text NOT NULL,
    channel text NOT NULL,
    code text NOT NULL,
    attempts bigint NOT NULL,
    delivered bigint NOT NULL,
    opened bigint NOT NULL,
    shown bigint NOT NULL,
    clicked bigint NOT NULL
);
CREATE TABLE public.campaign_members (
    entity_id integer NOT NULL,
    send_id integer NOT NULL,
    person text NOT NULL COLLATE pg_catalog."C",
    is_member boolean NOT NULL,
    notified integer NOT NULL,
    last_notified_at timestamp with time zone,
    last_window timestamp with time zone
);
CREATE TABLE public.campaign_people (
    entity_id integer NOT NULL,
    campaign_id integer NOT NULL,
    person text NOT NULL COLLATE pg_catalog."C",
    sent integer NOT NULL,
    opened integer NOT NULL,
    last_sent_at timestamp with time zone,
    shown integer DEFAULT 0 NOT NULL,
    clicked integer DEFAULT 0 NOT NULL
);
CREATE TABLE public.campaigns (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    identifier text NOT NULL,
    api_identifier text,
    app_id integer NOT NULL,
    name text NOT NULL,
    type text NOT NULL,
    status text DEFAULT 'draft'::text NOT NULL,
    includes_push boolean NOT NULL,
    includes_inapp boolean NOT NULL,
    start_date timestamp with time zone,
    end_date timestamp with time zone,
    adapt_tz boolean DEFAULT false NOT NULL,
    skip_message_limit boolean DEFAULT false NOT NULL,
    is_sensitive boolean DEFAULT false NOT NULL,
    filters json,
    params json NOT NULL,
    recurrence json,
    notif_limit json,
    variants json,
    created_by integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    launched_at timestamp with time zone,
    ended_at timestamp with time zone,
    failure text,
    reach_count bigint DEFAULT 0 NOT NULL,
    reach_optin bigint DEFAULT 0 NOT NULL,
    reach_total bigint DEFAULT 0 NOT NULL,
    test_of text,
    reach_at timestamp with time zone,
    CONSTRAINT campaigns_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'scheduled'::text, 'wait_sync'::text, 'ongoing'::text, 'finished'::text, 'failed'::text, 'canceled'::text]))),
    CONSTRAINT campaigns_type_check CHECK ((type = ANY (ARRAY['classic'::text, 'transactional'::text, 'dynamic'::text])))
);
ALTER TABLE public.campaigns ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.campaigns_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.connections (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    identifier text NOT NULL,
    name text NOT NULL,
    connector text NOT NULL,
    settings jsonb NOT NULL,
    secret_names text[] NOT NULL,
    sealed_secrets text,
    revision integer DEFAULT 1 NOT NULL,
    created_by integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone
);
ALTER TABLE public.connections ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.connections_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.control_group_days (
    entity_id integer NOT NULL,
    campaign_id integer NOT NULL,
    day date NOT NULL,
    attempts bigint NOT NULL,
    people bigint DEFAULT 0 NOT NULL,
    devices bigint DEFAULT 0 NOT NULL,
    opened_app bigint DEFAULT 0 NOT NULL,
    targeted_people bigint DEFAULT 0 NOT NULL,
    targeted_opened_app bigint DEFAULT 0 NOT NULL,
    due_at timestamp with time zone DEFAULT now()
);
CREATE TABLE public.crashes (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    id integer NOT NULL,
    identifier text NOT NULL,
    fingerprint bytea NOT NULL,
    title text NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    occurrences integer NOT NULL
);
ALTER TABLE public.crashes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.crashes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.customer_attributes (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    sor_id integer NOT NULL,
    identifier text NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL,
    value_type text NOT NULL,
    disabled boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone,
    is_identifier boolean DEFAULT false NOT NULL,
    is_sensitive boolean DEFAULT false NOT NULL,
    is_guessed boolean DEFAULT false NOT NULL,
    widened_from text,
    CONSTRAINT customer_attributes_check CHECK (((widened_from IS NULL) OR ((widened_from = ANY (ARRAY['Number'::text, 'Boolean'::text, 'Date'::text, 'Datetime'::text])) AND (value_type = 'String'::text)))),
    CONSTRAINT customer_attributes_value_type_check CHECK ((value_type = ANY (ARRAY['String'::text, 'Number'::text, 'Boolean'::text, 'Date'::text, 'Datetime'::text, 'Set'::text])))
);
ALTER TABLE public.customer_attributes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.customer_attributes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.customers (
    entity_id integer NOT NULL,
    customer_type smallint NOT NULL,
    customer_id text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT customers_customer_type_check CHECK ((customer_type = ANY (ARRAY[0, 1])))
);
CREATE TABLE public.data_exporters (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    identifier text NOT NULL,
    name text NOT NULL,
    type text NOT NULL,
    bucket_name text NOT NULL,
    subfolder text DEFAULT ''::text NOT NULL,
    aws_region text NOT NULL,
    endpoint text,
    aws_account_id text,
    aws_role_name text,
    aws_access_key_id text,
    aws_secret_access_key text,
    app_ids integer[] NOT NULL,
    sor_ids integer[] NOT NULL,
    exported_data text[] NOT NULL,
    format text DEFAULT 'csv'::text NOT NULL,
    include_headers boolean DEFAULT false NOT NULL,
    encryption_type text,
    encryption_key text,
    part_bytes bigint NOT NULL,
    exports_since timestamp with time zone,
    notify_emails text[] DEFAULT '{}'::text[] NOT NULL,
    active boolean DEFAULT false NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    paused_at timestamp with time zone,
    paused_reason text,
    exported_until timestamp with time zone,
    revision integer DEFAULT 1 NOT NULL,
    scheduled_until timestamp with time zone,
    initial_run_at timestamp with time zone,
    last_run_at timestamp with time zone,
    created_by integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone,
    deletion_key text,
    notify_connections text[] DEFAULT '{}'::text[] NOT NULL,
    server_side_encryption text,
    kms_key_id text,
    content_md5 boolean DEFAULT false NOT NULL,
    CONSTRAINT data_exporters_check CHECK (((deleted_at IS NOT NULL) OR
CASE type
    WHEN 'aws_secret_key'::text THEN ((aws_access_key_id IS NOT NULL) AND (aws_secret_access_key IS NOT NULL))
    ELSE ((aws_account_id IS NOT NULL) AND (aws_role_name IS NOT NULL))
END)),
    CONSTRAINT data_exporters_check1 CHECK (((deleted_at IS NOT NULL) OR ((encryption_type IS NULL) = (encryption_key IS NULL)))),
    CONSTRAINT data_exporters_check2 CHECK (((kms_key_id IS NULL) OR (server_side_encryption = 'aws:kms'::text))),
    CONSTRAINT data_exporters_format_check CHECK ((format = ANY (ARRAY['csv'::text, 'jsonl'::text, 'parquet'::text]))),
    CONSTRAINT data_exporters_server_side_encryption_check CHECK ((server_side_encryption = ANY (ARRAY['AES256'::text, 'aws:kms'::text]))),
    CONSTRAINT data_exporters_type_check CHECK ((type = ANY (ARRAY['aws_secret_key'::text, 'aws_account_id'::text])))
);
ALTER TABLE public.data_exporters ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.data_exporters_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.deleted_entities (
    entity_id integer NOT NULL,
    deleted_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.device_users (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    device_id text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    last_seen_at timestamp with time zone NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE public.devices (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    device_id text NOT NULL COLLATE pg_catalog."C",
    current_user_id text COLLATE pg_catalog."C",
    last_user_id text COLLATE pg_catalog."C",
    push_token text,
    opt_in boolean,
    opt_out boolean,
    uninstalled boolean,
    number_of_sessions integer DEFAULT 0 NOT NULL,
    number_of_crashes integer DEFAULT 0 NOT NULL,
    app_version text,
    os_version text,
    sdk_version text,
    device_model text,
    device_type text,
    country text,
    lang text,
    last_city text,
    last_latitude double precision,
    last_longitude double precision,
    utc_offset smallint,
    first_seen_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    first_campaign_received_at timestamp with time zone,
    last_campaign_received_at timestamp with time zone,
    verified_user_id text COLLATE pg_catalog."C",
    timezone text,
    current_user_id_said_at timestamp with time zone,
    last_user_id_said_at timestamp with time zone,
    push_token_said_at timestamp with time zone,
    opt_in_said_at timestamp with time zone,
    opt_out_said_at timestamp with time zone,
    app_version_said_at timestamp with time zone,
    os_version_said_at timestamp with time zone,
    sdk_version_said_at timestamp with time zone,
    device_model_said_at timestamp with time zone,
    device_type_said_at timestamp with time zone,
    country_said_at timestamp with time zone,
    lang_said_at timestamp with time zone,
    last_city_said_at timestamp with time zone,
    last_latitude_said_at timestamp with time zone,
    last_longitude_said_at timestamp with time zone,
    utc_offset_said_at timestamp with time zone,
    timezone_said_at timestamp with time zone,
    verified_at timestamp with time zone
)
WITH (fillfactor='70');
CREATE TABLE public.dry_run_ids (
    entity_id integer NOT NULL,
    import_id bigint NOT NULL,
    customer_id text NOT NULL COLLATE pg_catalog."C",
    customer_type smallint NOT NULL,
    line bigint NOT NULL
);
CREATE TABLE public.dry_run_sets (
    entity_id integer NOT NULL,
    import_id bigint NOT NULL,
    customer_id text NOT NULL COLLATE pg_catalog."C",
    customer_type smallint NOT NULL,
    attribute_id integer NOT NULL,
    set_elements text[] NOT NULL COLLATE pg_catalog."C",
    set_times timestamp with time zone[] NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.entities (
    id integer NOT NULL,
    identifier text NOT NULL,
    name text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    active boolean DEFAULT true NOT NULL,
    default_tz text DEFAULT 'Europe/Paris'::text NOT NULL,
    data_retention_in_months integer DEFAULT 25 NOT NULL,
    qa_api_key text NOT NULL,
    prod_api_key text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    events_kept_since timestamp with time zone,
    external_id text DEFAULT replace((gen_random_uuid())::text, '-'::text, ''::text) NOT NULL,
    control_group_percent smallint DEFAULT 0 NOT NULL,
    CONSTRAINT entities_control_group_percent_check CHECK (((control_group_percent >= 0) AND (control_group_percent <= 50))),
    CONSTRAINT entities_data_retention_in_months_check CHECK (((data_retention_in_months >= 1) AND (data_retention_in_months <= 120)))
);
ALTER TABLE public.entities ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.entities_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.event_definitions (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    id integer NOT NULL,
    log_type smallint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    display_name text,
    goal boolean DEFAULT false NOT NULL,
    first_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    days_seen integer DEFAULT 1 NOT NULL,
    last_seen_on date DEFAULT ((now() AT TIME ZONE 'UTC'::text))::date NOT NULL,
    CONSTRAINT event_definitions_log_type_check CHECK ((log_type = ANY (ARRAY[1, 2, 3])))
);
ALTER TABLE public.event_definitions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.event_definitions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE SEQUENCE public.event_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE public.event_messages (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    message_hash bytea NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.events (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    happened_at timestamp with time zone NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    id bigint DEFAULT nextval('public.event_ids'::regclass) NOT NULL,
    session_id bigint,
    crash_id integer,
    log_type smallint NOT NULL,
    utc_offset smallint,
    device_id text COLLATE pg_catalog."C",
    user_id text COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    detail jsonb
)
PARTITION BY RANGE (happened_at);
CREATE TABLE public.events_2026_11 (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    happened_at timestamp with time zone NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    id bigint DEFAULT nextval('public.event_ids'::regclass) NOT NULL,
    session_id bigint,
    crash_id integer,
    log_type smallint NOT NULL,
    utc_offset smallint,
    device_id text COLLATE pg_catalog."C",
    user_id text COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    detail jsonb
)
WITH (fillfactor='100');
CREATE TABLE public.export_deletions (
    entity_id integer NOT NULL,
    id bigint NOT NULL,
    identifier text NOT NULL,
    exporter_id integer NOT NULL,
    request_identifier text NOT NULL,
    round integer NOT NULL,
    part integer NOT NULL,
    erased_at timestamp with time zone NOT NULL,
    people integer NOT NULL,
    hmacs jsonb,
    state text DEFAULT 'pending'::text NOT NULL,
    key text,
    sha256 bytea,
    tries integer DEFAULT 0 NOT NULL,
    waits_until timestamp with time zone,
    fault text,
    notified_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT export_deletions_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'notified'::text, 'not_notified'::text])))
);
ALTER TABLE public.export_deletions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.export_deletions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.export_files (
    entity_id integer NOT NULL,
    run_id bigint NOT NULL,
    data_type text NOT NULL,
    part integer NOT NULL,
    key text NOT NULL,
    rows bigint NOT NULL,
    bytes bigint NOT NULL,
    sha256 bytea NOT NULL,
    content_bytes bigint NOT NULL,
    content_sha256 bytea NOT NULL,
    bucket_checksum text,
    written_at timestamp with time zone DEFAULT now() NOT NULL,
    removed_at timestamp with time zone
);
CREATE TABLE public.export_records (
    entity_id integer NOT NULL,
    run_id bigint NOT NULL,
    data_type text NOT NULL,
    identifier text NOT NULL,
    ordinal integer NOT NULL,
    expected bigint,
    rows bigint DEFAULT 0 NOT NULL,
    files integer DEFAULT 0 NOT NULL,
    place jsonb,
    is_done boolean DEFAULT false NOT NULL,
    snapshot text,
    late_rows bigint,
    late_checked_at timestamp with time zone,
    ambiguous_sets bigint
)
WITH (fillfactor='70');
CREATE TABLE public.export_runs (
    entity_id integer NOT NULL,
    id bigint NOT NULL,
    identifier text NOT NULL,
    exporter_id integer NOT NULL,
    cause text NOT NULL,
    requested_by integer,
    scheduled_for timestamp with time zone,
    covers timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
    rerun_of bigint,
    window_start timestamp with time zone,
    window_end timestamp with time zone NOT NULL,
    days text,
    definition jsonb,
    state text DEFAULT 'accepted'::text NOT NULL,
    is_covered boolean DEFAULT false NOT NULL,
    generation integer DEFAULT 0 NOT NULL,
    run_id text,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    attempt integer DEFAULT 0 NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    fault text,
    waits_until timestamp with time zone,
    failure_status text,
    failure text,
    manifest_key text,
    manifest_sha256 bytea,
    published_at timestamp with time zone,
    late_rows_found bigint DEFAULT 0 NOT NULL,
    is_cleaned boolean DEFAULT false NOT NULL,
    mail_state text,
    mail_tries integer DEFAULT 0 NOT NULL,
    mail_reason text,
    alert text,
    failing_since timestamp with time zone,
    mail_due_at timestamp with time zone,
    stage text,
    CONSTRAINT export_runs_cause_check CHECK ((cause = ANY (ARRAY['schedule'::text, 'request'::text, 'rerun'::text, 'backfill'::text]))),
    CONSTRAINT export_runs_mail_state_check CHECK ((mail_state = ANY (ARRAY['sending'::text, 'sent'::text, 'filed'::text, 'not_sent'::text, 'unknown'::text]))),
    CONSTRAINT export_runs_state_check CHECK ((state = ANY (ARRAY['accepted'::text, 'running'::text, 'finished'::text, 'failed'::text, 'canceled'::text])))
)
WITH (fillfactor='70');
ALTER TABLE public.export_runs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.export_runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.feed_requests (
    entity_id integer NOT NULL,
    id bigint DEFAULT nextval((pg_get_serial_sequence('imports'::text, 'id'::text))::regclass) NOT NULL,
    identifier text NOT NULL,
    sor_id integer NOT NULL,
    version smallint NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    body text,
    body_bytes integer NOT NULL,
    values_in integer NOT NULL,
    values_ok integer,
    values_ignored integer,
    values_failed integer,
    done_at timestamp with time zone,
    app_id integer,
    said_at json,
    suspicious_ids integer,
    CONSTRAINT feed_requests_check CHECK (((done_at IS NULL) = (body IS NOT NULL))),
    CONSTRAINT feed_requests_check1 CHECK (((done_at IS NULL) OR (values_in = ((values_ok + values_ignored) + values_failed)))),
    CONSTRAINT feed_requests_check2 CHECK (((app_id IS NULL) OR ((done_at IS NULL) = (said_at IS NOT NULL)))),
    CONSTRAINT feed_requests_version_check CHECK ((version = ANY (ARRAY[2, 3])))
);
ALTER TABLE ONLY public.feed_requests ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE public.feed_waits (
    entity_id integer NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.file_deletions (
    entity_id integer NOT NULL,
    file_key text NOT NULL,
    noted_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.file_jobs (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    identifier text NOT NULL,
    kind text NOT NULL,
    format text NOT NULL,
    query json,
    asked_hash bytea NOT NULL,
    email text,
    created_by integer,
    state text DEFAULT 'accepted'::text NOT NULL,
    generation integer DEFAULT 0 NOT NULL,
    run_id text,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    rows_written bigint DEFAULT 0 NOT NULL,
    file_key text,
    file_bytes bigint,
    failure_status text,
    failure text,
    mail_state text,
    mail_tries smallint DEFAULT 0 NOT NULL,
    mail_reason text,
    begun_at timestamp with time zone,
    first_ended_at timestamp with time zone,
    follows integer,
    counted_in text,
    stage text,
    CONSTRAINT file_jobs_format_check CHECK ((format = ANY (ARRAY['csv'::text, 'xls'::text, 'xlsx'::text]))),
    CONSTRAINT file_jobs_mail_state_check CHECK ((mail_state = ANY (ARRAY['sending'::text, 'sent'::text, 'filed'::text, 'not_sent'::text, 'unknown'::text]))),
    CONSTRAINT file_jobs_state_check CHECK ((state = ANY (ARRAY['accepted'::text, 'running'::text, 'finished'::text, 'failed'::text])))
);
ALTER TABLE public.file_jobs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.file_jobs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.file_store (
    id text NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.funnels (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    identifier text NOT NULL,
    name text NOT NULL,
    description text,
    max_duration integer NOT NULL,
    steps json NOT NULL,
    app_ids integer[] NOT NULL,
    created_by integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    archived_at timestamp with time zone
);
ALTER TABLE public.funnels ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.funnels_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gdpr_holds (
    entity_id integer NOT NULL,
    id bigint NOT NULL,
    identifier text NOT NULL,
    customer_type text NOT NULL,
    customer_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    reason text NOT NULL,
    created_by integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT gdpr_holds_customer_type_check CHECK ((customer_type = ANY (ARRAY['user_id'::text, 'device_id'::text]))),
    CONSTRAINT gdpr_holds_kind_check CHECK ((kind = ANY (ARRAY['hold'::text, 'restriction'::text])))
);
ALTER TABLE public.gdpr_holds ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.gdpr_holds_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gdpr_identifiers (
    entity_id integer NOT NULL,
    request_id bigint NOT NULL,
    kind text NOT NULL,
    value text NOT NULL COLLATE pg_catalog."C",
    ordinal integer NOT NULL,
    origin text NOT NULL,
    raised boolean DEFAULT false NOT NULL,
    via text COLLATE pg_catalog."C",
    CONSTRAINT gdpr_identifiers_kind_check CHECK ((kind = ANY (ARRAY['user_id'::text, 'device_id'::text, 'push_token'::text, 'whole_device'::text]))),
    CONSTRAINT gdpr_identifiers_origin_check CHECK ((origin = ANY (ARRAY['asked'::text, 'alias'::text, 'confirmed'::text, 'device'::text])))
);
CREATE TABLE public.gdpr_left_identifiers (
    entity_id integer NOT NULL,
    request_id bigint NOT NULL,
    ordinal integer NOT NULL,
    kind text NOT NULL,
    value text NOT NULL COLLATE pg_catalog."C",
    via text COLLATE pg_catalog."C",
    reason text NOT NULL,
    CONSTRAINT gdpr_left_identifiers_kind_check CHECK ((kind = ANY (ARRAY['user_id'::text, 'device_id'::text]))),
    CONSTRAINT gdpr_left_identifiers_reason_check CHECK ((reason = ANY (ARRAY['unconfirmed'::text, 'shared'::text, 'too_many'::text])))
);
CREATE TABLE public.gdpr_mails (
    entity_id integer NOT NULL,
    id bigint NOT NULL,
    request_id bigint NOT NULL,
    kind text NOT NULL,
    identifier text NOT NULL,
    mail_state text,
    mail_tries integer DEFAULT 0 NOT NULL,
    mail_reason text,
    tried_at timestamp with time zone,
    sent_at timestamp with time zone,
    digest_id bigint,
    CONSTRAINT gdpr_mails_kind_check CHECK ((kind = ANY (ARRAY['waiting'::text, 'held'::text, 'treated'::text, 'near_deadline'::text]))),
    CONSTRAINT gdpr_mails_mail_state_check CHECK ((mail_state = ANY (ARRAY['sending'::text, 'sent'::text, 'filed'::text, 'not_sent'::text, 'unknown'::text])))
);
ALTER TABLE public.gdpr_mails ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.gdpr_mails_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gdpr_receipts (
    entity_id integer NOT NULL,
    id bigint NOT NULL,
    identifier text NOT NULL,
    request_identifier text NOT NULL,
    request_type text NOT NULL,
    round integer NOT NULL,
    issued_at timestamp with time zone DEFAULT now() NOT NULL,
    subjects bytea[] NOT NULL,
    document text NOT NULL,
    CONSTRAINT gdpr_receipts_request_type_check CHECK ((request_type = ANY (ARRAY['access'::text, 'delete'::text])))
);
ALTER TABLE public.gdpr_receipts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.gdpr_receipts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.gdpr_request_people (
    entity_id integer NOT NULL,
    request_id bigint NOT NULL,
    ordinal integer NOT NULL,
    user_id text COLLATE pg_catalog."C",
    device_id text COLLATE pg_catalog."C",
    subject bytea,
    state text DEFAULT 'pending'::text NOT NULL,
    treated_at timestamp with time zone,
    round integer,
    archive_key text,
    archive_bytes bigint,
    archive_sha256 bytea,
    shown jsonb,
    message text,
    archive_others bytea[],
    CONSTRAINT gdpr_request_people_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'held'::text, 'building'::text, 'treated'::text])))
)
WITH (fillfactor='70');
CREATE TABLE public.gdpr_requests (
    entity_id integer NOT NULL,
    id bigint NOT NULL,
    identifier text NOT NULL,
    request_type text NOT NULL,
    source text NOT NULL,
    app_id integer,
    requester_kind text NOT NULL,
    requester_id integer,
    skip_email boolean DEFAULT false NOT NULL,
    emails text[] DEFAULT '{}'::text[] NOT NULL,
    state text DEFAULT 'accepted'::text NOT NULL,
    decided_by integer,
    decided_at timestamp with time zone,
    generation integer DEFAULT 0 NOT NULL,
    run_id text,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    treated_at timestamp with time zone,
    expires_at timestamp with time zone,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    round integer DEFAULT 1 NOT NULL,
    stage text,
    erased jsonb DEFAULT '{}'::jsonb NOT NULL,
    survivors jsonb DEFAULT '{}'::jsonb NOT NULL,
    looked_at timestamp with time zone,
    sync_copies jsonb DEFAULT '{}'::jsonb NOT NULL,
    fault text,
    files_before timestamp with time zone,
    fault_since timestamp with time zone,
    location_faults jsonb DEFAULT '{}'::jsonb NOT NULL,
    kept_values jsonb DEFAULT '[]'::jsonb NOT NULL,
    given_up_at timestamp with time zone,
    erasing_since timestamp with time zone,
    is_unvouched boolean DEFAULT false NOT NULL,
    CONSTRAINT gdpr_requests_request_type_check CHECK ((request_type = ANY (ARRAY['access'::text, 'delete'::text]))),
    CONSTRAINT gdpr_requests_requester_kind_check CHECK ((requester_kind = ANY (ARRAY['user'::text, 'service_token'::text, 'device'::text, 'system'::text]))),
    CONSTRAINT gdpr_requests_source_check CHECK ((source = ANY (ARRAY['api'::text, 'sdk'::text, 'restore'::text]))),
    CONSTRAINT gdpr_requests_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'accepted'::text, 'running'::text, 'treated'::text, 'declined'::text])))
)
WITH (fillfactor='70');
ALTER TABLE public.gdpr_requests ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.gdpr_requests_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.idempotent_requests (
    entity_id integer NOT NULL,
    key_hash bytea NOT NULL,
    fingerprint bytea NOT NULL,
    holder uuid NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    leased_until timestamp with time zone NOT NULL,
    http_status smallint,
    reply text,
    identifier text
);
CREATE TABLE public.import_errors (
    entity_id integer NOT NULL,
    import_id bigint NOT NULL,
    line bigint NOT NULL,
    error_type text NOT NULL,
    outcome text NOT NULL,
    happened_at timestamp with time zone DEFAULT now() NOT NULL,
    stage text NOT NULL,
    message text NOT NULL,
    customer_id text COLLATE pg_catalog."C",
    attribute_key text,
    raw text,
    customer_hash bytea,
    redriven_by bigint,
    original_line bigint,
    column_number integer DEFAULT 0 NOT NULL,
    original_column integer DEFAULT 0 NOT NULL,
    is_erased boolean DEFAULT false NOT NULL,
    CONSTRAINT import_errors_outcome_check CHECK ((outcome = ANY (ARRAY['ignored'::text, 'failed'::text])))
);
CREATE TABLE public.import_lanes (
    entity_id integer NOT NULL,
    import_id bigint NOT NULL,
    lane smallint NOT NULL,
    generation integer NOT NULL,
    next_offset bigint DEFAULT 0 NOT NULL,
    next_line bigint DEFAULT 1 NOT NULL,
    rows_in bigint DEFAULT 0 NOT NULL,
    rows_ok bigint DEFAULT 0 NOT NULL,
    rows_ignored bigint DEFAULT 0 NOT NULL,
    rows_failed bigint DEFAULT 0 NOT NULL,
    errors_by_type jsonb DEFAULT '{}'::jsonb NOT NULL,
    suspicious_ids bigint DEFAULT 0 NOT NULL,
    cells_empty bigint DEFAULT 0 NOT NULL,
    cells_unnamed bigint DEFAULT 0 NOT NULL,
    CONSTRAINT import_lanes_check CHECK ((rows_in = ((rows_ok + rows_ignored) + rows_failed)))
)
WITH (fillfactor='50');
CREATE TABLE public.imports (
    entity_id integer NOT NULL,
    id bigint NOT NULL,
    identifier text NOT NULL,
    jid text NOT NULL,
    sor_id integer NOT NULL,
    version smallint NOT NULL,
    skip_email boolean DEFAULT false NOT NULL,
    state text DEFAULT 'accepted'::text NOT NULL,
    generation integer DEFAULT 0 NOT NULL,
    run_id text,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    file_key text,
    file_bytes bigint,
    file_sha256 bytea,
    source_bytes bigint,
    source_sha256 bytea,
    source_gzip boolean,
    source_defect text,
    columns smallint,
    has_error_columns boolean DEFAULT false NOT NULL,
    shown_url text,
    file_url text,
    request_headers text,
    fetched_bytes bigint,
    fetch_tries integer DEFAULT 0 NOT NULL,
    fetch_fault text,
    dry_run boolean DEFAULT false NOT NULL,
    parent_id bigint,
    root_id bigint,
    mail_state text,
    mail_tries integer DEFAULT 0 NOT NULL,
    mail_reason text,
    file_erased_at timestamp with time zone,
    fetch_failing_since timestamp with time zone,
    file_settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    file_format jsonb,
    stage text,
    column_mapping json,
    table_layout jsonb,
    said_at timestamp with time zone,
    similar_ids integer,
    similar_id_lines jsonb,
    CONSTRAINT imports_columns_check CHECK ((columns = ANY (ARRAY[3, 4]))),
    CONSTRAINT imports_mail_state_check CHECK ((mail_state = ANY (ARRAY['sending'::text, 'sent'::text, 'filed'::text, 'not_sent'::text, 'unknown'::text]))),
    CONSTRAINT imports_state_check CHECK ((state = ANY (ARRAY['accepted'::text, 'running'::text, 'finished'::text, 'failed'::text, 'canceled'::text]))),
    CONSTRAINT imports_version_check CHECK ((version = ANY (ARRAY[2, 3])))
);
ALTER TABLE public.imports ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.imports_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ingested_batches (
    entity_id integer NOT NULL,
    id bigint NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    app_id integer,
    accepted integer NOT NULL,
    duplicates integer NOT NULL,
    refused integer NOT NULL
);
ALTER TABLE public.ingested_batches ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.ingested_batches_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.internal_errors (
    entity_id integer,
    kind text NOT NULL,
    job text NOT NULL,
    step text NOT NULL,
    id text NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    last_at timestamp with time zone DEFAULT now() NOT NULL,
    times integer DEFAULT 1 NOT NULL,
    given_up boolean DEFAULT false NOT NULL
);
CREATE TABLE public.invitations (
    entity_id integer NOT NULL,
    id bigint NOT NULL,
    identifier text NOT NULL,
    email text NOT NULL,
    first_name text DEFAULT ''::text NOT NULL,
    last_name text DEFAULT ''::text NOT NULL,
    rights text[] NOT NULL,
    admin boolean NOT NULL,
    superadmin boolean NOT NULL,
    invited_by integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    token_hash bytea,
    expires_at timestamp with time zone DEFAULT (now() + '1 day'::interval) NOT NULL,
    mail_state text,
    mail_tries integer DEFAULT 0 NOT NULL,
    mail_reason text,
    tried_at timestamp with time zone,
    sent_at timestamp with time zone,
    CONSTRAINT invitations_mail_state_check CHECK ((mail_state = ANY (ARRAY['sending'::text, 'sent'::text, 'filed'::text, 'not_sent'::text, 'unknown'::text])))
);
ALTER TABLE public.invitations ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.invitations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.key_lookups (
    lookup bytea NOT NULL,
    kind text NOT NULL,
    entity_id integer NOT NULL,
    owner_id integer NOT NULL,
    CONSTRAINT key_lookups_kind_check CHECK ((kind = ANY (ARRAY['sor'::text, 'app'::text])))
);
CREATE TABLE public.label_targets (
    entity_id integer NOT NULL,
    label_id integer NOT NULL,
    target_kind text NOT NULL,
    target_id integer NOT NULL,
    CONSTRAINT label_targets_target_kind_check CHECK ((target_kind = ANY (ARRAY['event_definition'::text, 'funnel'::text, 'segment'::text])))
);
CREATE TABLE public.labels (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.labels ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.labels_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE UNLOGGED TABLE public.live_calls (
    entity_id integer NOT NULL,
    id bigint NOT NULL,
    app_id integer,
    received_at timestamp with time zone NOT NULL,
    outcome text NOT NULL,
    code text,
    message text,
    message_id text,
    call text,
    subjects text[],
    CONSTRAINT live_calls_outcome_check CHECK ((outcome = ANY (ARRAY['accepted'::text, 'duplicate'::text, 'refused'::text, 'failed'::text, 'widened'::text])))
);
ALTER TABLE public.live_calls ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.live_calls_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE SEQUENCE public.location_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE public.locations (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    happened_at timestamp with time zone NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    id bigint DEFAULT nextval('public.location_ids'::regclass) NOT NULL,
    session_id bigint,
    latitude double precision NOT NULL,
    longitude double precision NOT NULL,
    device_id text COLLATE pg_catalog."C",
    user_id text COLLATE pg_catalog."C"
)
PARTITION BY RANGE (happened_at);
CREATE TABLE public.locations_2026_11 (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    happened_at timestamp with time zone NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    id bigint DEFAULT nextval('public.location_ids'::regclass) NOT NULL,
    session_id bigint,
    latitude double precision NOT NULL,
    longitude double precision NOT NULL,
    device_id text COLLATE pg_catalog."C",
    user_id text COLLATE pg_catalog."C"
)
WITH (fillfactor='100');
CREATE TABLE public.login_attempts (
    subject bytea NOT NULL,
    window_start timestamp with time zone NOT NULL,
    failures integer NOT NULL,
    window_seconds integer DEFAULT 900 NOT NULL
);
CREATE TABLE public.memberships (
    user_id integer NOT NULL,
    entity_id integer NOT NULL,
    rights text[] DEFAULT '{}'::text[] NOT NULL,
    admin boolean DEFAULT false NOT NULL
);
CREATE TABLE public.notify_mails (
    entity_id integer NOT NULL,
    day date NOT NULL,
    recipients integer NOT NULL
);
CREATE TABLE public.operator_notices (
    name text NOT NULL,
    sent_at timestamp with time zone NOT NULL
);
CREATE TABLE public.outcome_deliveries (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    delivered_at timestamp with time zone DEFAULT now() NOT NULL,
    delivered_id bigint DEFAULT 0 NOT NULL,
    sending_at timestamp with time zone,
    sending_id bigint,
    tries integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    waits_until timestamp with time zone,
    failure text,
    CONSTRAINT outcome_deliveries_check CHECK (((sending_at IS NULL) = (sending_id IS NULL)))
);
CREATE TABLE public.password_resets (
    id bigint NOT NULL,
    identifier text NOT NULL,
    email text NOT NULL,
    user_id integer,
    address text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    token_hash bytea,
    expires_at timestamp with time zone DEFAULT (now() + '1 day'::interval) NOT NULL,
    mail_state text,
    mail_tries integer DEFAULT 0 NOT NULL,
    mail_reason text,
    tried_at timestamp with time zone,
    sent_at timestamp with time zone,
    CONSTRAINT password_resets_mail_state_check CHECK ((mail_state = ANY (ARRAY['sending'::text, 'sent'::text, 'filed'::text, 'not_sent'::text, 'unknown'::text])))
);
ALTER TABLE public.password_resets ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.password_resets_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.provider_refusals (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    provider text NOT NULL,
    code text NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.push_certificates (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    app_id integer NOT NULL,
    identifier text NOT NULL,
    fingerprint bytea NOT NULL,
    x509_pem text NOT NULL,
    pkey_pem text NOT NULL,
    subject text NOT NULL,
    uid text,
    not_before timestamp with time zone NOT NULL,
    not_after timestamp with time zone NOT NULL,
    revoked boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.push_certificates ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.push_certificates_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.push_providers (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    platform text NOT NULL,
    provider text NOT NULL,
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    secret_names text[] DEFAULT '{}'::text[] NOT NULL,
    sealed_secrets text,
    vapid_public_key text,
    vapid_private_key text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT push_providers_check CHECK (((vapid_public_key IS NULL) = (vapid_private_key IS NULL))),
    CONSTRAINT push_providers_platform_check CHECK ((platform = ANY (ARRAY['ios'::text, 'android'::text, 'web'::text])))
);
CREATE TABLE public.refused_calls (
    entity_id integer NOT NULL,
    id bigint NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    app_id integer,
    index integer NOT NULL,
    message_id text,
    message_hash bytea,
    code text NOT NULL,
    message text NOT NULL,
    raw text,
    customer_hash bytea,
    subjects text[]
);
ALTER TABLE public.refused_calls ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.refused_calls_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.report_rollups (
    entity_id integer NOT NULL,
    counted_until timestamp with time zone NOT NULL,
    kept_since date NOT NULL
);
CREATE TABLE public.run_alerts (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    sync_run_id integer,
    export_run_id integer,
    connection_id integer NOT NULL,
    mail_state text,
    mail_tries integer DEFAULT 0 NOT NULL,
    mail_reason text,
    mail_due_at timestamp with time zone,
    CONSTRAINT run_alerts_check CHECK (((sync_run_id IS NULL) <> (export_run_id IS NULL)))
);
ALTER TABLE public.run_alerts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.run_alerts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.schema_migrations (
    file text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.segment_members (
    entity_id integer NOT NULL,
    segment_id integer NOT NULL,
    person text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.segment_uses (
    entity_id integer NOT NULL,
    segment_id integer NOT NULL,
    used_segment_id integer NOT NULL
);
CREATE TABLE public.segments (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    identifier text NOT NULL,
    app_id integer NOT NULL,
    name text NOT NULL,
    description text,
    filters json,
    created_by integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    last_used_at timestamp with time zone,
    refresh_wanted_at timestamp with time zone DEFAULT now() NOT NULL,
    generation integer DEFAULT 0 NOT NULL,
    snapshot_at timestamp with time zone,
    failure text,
    people_count bigint DEFAULT 0 NOT NULL,
    people_total bigint DEFAULT 0 NOT NULL,
    people_push bigint DEFAULT 0 NOT NULL,
    reach_count bigint DEFAULT 0 NOT NULL,
    reach_optin bigint DEFAULT 0 NOT NULL,
    reach_token bigint DEFAULT 0 NOT NULL,
    reach_total bigint DEFAULT 0 NOT NULL,
    refresh_begun_at timestamp with time zone
);
ALTER TABLE public.segments ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.segments_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.send_campaigns (
    entity_id integer NOT NULL,
    send_id integer NOT NULL,
    ordinal smallint NOT NULL,
    campaign_id integer NOT NULL
);
CREATE TABLE public.send_messages (
    entity_id integer NOT NULL,
    send_id integer NOT NULL,
    ordinal integer NOT NULL,
    user_id text COLLATE pg_catalog."C",
    user_hash bytea,
    vars json
);
CREATE TABLE public.send_paces (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    next_at timestamp with time zone NOT NULL
);
CREATE TABLE public.sends (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    identifier text NOT NULL,
    state text DEFAULT 'accepted'::text NOT NULL,
    generation integer DEFAULT 0 NOT NULL,
    run_id text,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    send_at timestamp with time zone,
    request_key bytea,
    body_hash bytea,
    message_count integer NOT NULL,
    cancel_requested_at timestamp with time zone,
    created_by integer,
    campaign_id integer,
    audience_at timestamp with time zone,
    looked_at timestamp with time zone,
    looks integer DEFAULT 0 NOT NULL,
    audience_round integer DEFAULT 0 NOT NULL,
    next_look_at timestamp with time zone,
    CONSTRAINT sends_state_check CHECK ((state = ANY (ARRAY['accepted'::text, 'running'::text, 'finished'::text, 'failed'::text, 'canceled'::text])))
);
ALTER TABLE public.sends ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.sends_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.server_keys (
    name text NOT NULL,
    id integer NOT NULL,
    wrapped text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    wrapped_by text,
    rewrapped_from text
);
CREATE TABLE public.service_tokens (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    identifier text NOT NULL,
    name text NOT NULL,
    token_hash bytea NOT NULL,
    rights text[] NOT NULL,
    created_by integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    used_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone
);
ALTER TABLE public.service_tokens ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.service_tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.session_heads (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    subject text NOT NULL COLLATE pg_catalog."C",
    session_id bigint NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    backgrounded_at timestamp with time zone
)
WITH (fillfactor='70');
CREATE SEQUENCE public.session_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE public.sessions (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    id bigint DEFAULT nextval('public.session_ids'::regclass) NOT NULL,
    background_seconds integer DEFAULT 0 NOT NULL,
    timeout integer NOT NULL,
    utc_offset smallint,
    subject text NOT NULL COLLATE pg_catalog."C",
    device_id text COLLATE pg_catalog."C",
    user_id text COLLATE pg_catalog."C",
    app_version text,
    sdk_version text,
    os_version text,
    device_type text,
    device_model text,
    idiom text,
    country text,
    lang text,
    carrier text
)
PARTITION BY RANGE (started_at);
CREATE TABLE public.sessions_2026_11 (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    id bigint DEFAULT nextval('public.session_ids'::regclass) NOT NULL,
    background_seconds integer DEFAULT 0 NOT NULL,
    timeout integer NOT NULL,
    utc_offset smallint,
    subject text NOT NULL COLLATE pg_catalog."C",
    device_id text COLLATE pg_catalog."C",
    user_id text COLLATE pg_catalog."C",
    app_version text,
    sdk_version text,
    os_version text,
    device_type text,
    device_model text,
    idiom text,
    country text,
    lang text,
    carrier text
)
WITH (fillfactor='70');
CREATE TABLE public.sor_api_keys (
    entity_id integer NOT NULL,
    sor_id integer NOT NULL,
    lookup bytea NOT NULL,
    api_key text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.step_attempts (
    entity_id integer NOT NULL,
    kind text NOT NULL,
    job text NOT NULL,
    activity text NOT NULL,
    attempt integer NOT NULL,
    process integer,
    is_alone boolean DEFAULT false NOT NULL,
    progress text,
    deaths smallint DEFAULT 0 NOT NULL,
    begun_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.sync_batches (
    entity_id integer NOT NULL,
    run_id bigint NOT NULL,
    identifier text NOT NULL,
    batch text NOT NULL,
    outcomes text,
    sent integer
);
ALTER TABLE ONLY public.sync_batches ALTER COLUMN batch SET STORAGE EXTERNAL;
CREATE TABLE public.sync_log (
    entity_id integer NOT NULL,
    run_id bigint NOT NULL,
    id bigint NOT NULL,
    logged_at timestamp with time zone DEFAULT now() NOT NULL,
    line text NOT NULL
);
ALTER TABLE public.sync_log ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.sync_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sync_pinned_batches (
    entity_id integer NOT NULL,
    run_id bigint NOT NULL,
    number integer NOT NULL,
    records_before bigint NOT NULL,
    "position" text,
    items text NOT NULL
);
ALTER TABLE ONLY public.sync_pinned_batches ALTER COLUMN items SET STORAGE EXTERNAL;
CREATE TABLE public.sync_records (
    entity_id integer NOT NULL,
    sync_id integer NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    customer_id text COLLATE pg_catalog."C",
    checksum bytea,
    run_id bigint NOT NULL,
    seen_by bigint
)
WITH (fillfactor='70');
CREATE TABLE public.sync_runs (
    entity_id integer NOT NULL,
    id bigint DEFAULT nextval((pg_get_serial_sequence('imports'::text, 'id'::text))::regclass) NOT NULL,
    identifier text NOT NULL,
    sync_id integer NOT NULL,
    cause text NOT NULL,
    requested_by integer,
    scheduled_for timestamp with time zone,
    covers timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
    dry_run boolean DEFAULT false NOT NULL,
    dry_run_records integer,
    fresh boolean DEFAULT false NOT NULL,
    removals_confirmed boolean DEFAULT false NOT NULL,
    root_id bigint,
    state text DEFAULT 'accepted'::text NOT NULL,
    generation integer DEFAULT 0 NOT NULL,
    run_id text,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    cursor_before text,
    "position" text,
    is_begun boolean DEFAULT false NOT NULL,
    is_read boolean DEFAULT false NOT NULL,
    records_read bigint DEFAULT 0 NOT NULL,
    records_written bigint DEFAULT 0 NOT NULL,
    records_unchanged bigint DEFAULT 0 NOT NULL,
    records_ignored bigint DEFAULT 0 NOT NULL,
    records_failed bigint DEFAULT 0 NOT NULL,
    unnamed bigint DEFAULT 0 NOT NULL,
    errors_by_type jsonb DEFAULT '{}'::jsonb NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    removed bigint DEFAULT 0 NOT NULL,
    removal text,
    removal_reason text,
    schema_change jsonb,
    unmapped_fields text[] DEFAULT '{}'::text[] NOT NULL,
    missing_fields text[] DEFAULT '{}'::text[] NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    fault text,
    waits_until timestamp with time zone,
    failure_status text,
    failure text,
    sample jsonb,
    mail_state text,
    mail_tries integer DEFAULT 0 NOT NULL,
    mail_reason text,
    alert text,
    batches_taken integer DEFAULT 0 NOT NULL,
    records_taken bigint DEFAULT 0 NOT NULL,
    lanes_done integer[] DEFAULT '{0,0}'::integer[] NOT NULL,
    failing_since timestamp with time zone,
    answered integer DEFAULT 0 NOT NULL,
    share real,
    mail_due_at timestamp with time zone,
    canceled_at timestamp with time zone,
    stage text,
    suspicious_ids bigint DEFAULT 0 NOT NULL,
    odd_cursors integer DEFAULT 0 NOT NULL,
    CONSTRAINT sync_runs_cause_check CHECK ((cause = ANY (ARRAY['schedule'::text, 'request'::text, 'redrive'::text]))),
    CONSTRAINT sync_runs_check CHECK ((records_read = (((records_written + records_unchanged) + records_ignored) + records_failed))),
    CONSTRAINT sync_runs_mail_state_check CHECK ((mail_state = ANY (ARRAY['sending'::text, 'sent'::text, 'filed'::text, 'not_sent'::text, 'unknown'::text]))),
    CONSTRAINT sync_runs_removal_check CHECK ((removal = ANY (ARRAY['done'::text, 'held'::text, 'skipped'::text]))),
    CONSTRAINT sync_runs_state_check CHECK ((state = ANY (ARRAY['accepted'::text, 'running'::text, 'finished'::text, 'failed'::text, 'canceled'::text])))
)
WITH (fillfactor='50');
CREATE TABLE public.syncs (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    identifier text NOT NULL,
    name text NOT NULL,
    connection_id integer NOT NULL,
    stream text NOT NULL,
    sor_id integer,
    destination_id integer,
    destination_stream text,
    destination_key text[],
    mapping jsonb NOT NULL,
    mode text NOT NULL,
    cursor_field text,
    removes boolean DEFAULT false NOT NULL,
    removal_limit integer NOT NULL,
    schedule jsonb,
    schema_rule text NOT NULL,
    alerts jsonb NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    cursor text,
    known_fields jsonb,
    failures integer DEFAULT 0 NOT NULL,
    paused_at timestamp with time zone,
    paused_reason text,
    scheduled_until timestamp with time zone,
    created_by integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone,
    read_fields jsonb,
    has_copies boolean DEFAULT false NOT NULL,
    CONSTRAINT syncs_check CHECK (((sor_id IS NULL) <> (destination_id IS NULL))),
    CONSTRAINT syncs_check1 CHECK ((((destination_id IS NULL) = (destination_stream IS NULL)) AND ((destination_id IS NULL) = (destination_key IS NULL)))),
    CONSTRAINT syncs_mode_check CHECK ((mode = ANY (ARRAY['full'::text, 'incremental'::text]))),
    CONSTRAINT syncs_removal_limit_check CHECK (((removal_limit >= 0) AND (removal_limit <= 100))),
    CONSTRAINT syncs_schema_rule_check CHECK ((schema_rule = ANY (ARRAY['stop'::text, 'ignore'::text, 'follow'::text])))
);
ALTER TABLE public.syncs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.syncs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.systems_of_records (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    identifier text NOT NULL,
    name text NOT NULL,
    type text NOT NULL,
    disabled boolean DEFAULT false NOT NULL,
    revision integer DEFAULT 0 NOT NULL,
    notify_emails text[] DEFAULT '{}'::text[] NOT NULL,
    created_by integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone,
    app_id integer,
    CONSTRAINT systems_of_records_check CHECK (((type = 'app'::text) = (app_id IS NOT NULL))),
    CONSTRAINT systems_of_records_type_check CHECK ((type = ANY (ARRAY['app'::text, 'custom'::text, 'global'::text])))
);
ALTER TABLE public.systems_of_records ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.systems_of_records_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.tokens (
    token_hash bytea NOT NULL,
    user_id integer NOT NULL,
    entity_id integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    used_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
CREATE TABLE public.tombstone_batches (
    entity_id integer NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    made_at timestamp with time zone NOT NULL,
    hashes bytea[] NOT NULL,
    search_pending boolean DEFAULT false NOT NULL,
    CONSTRAINT tombstone_batches_kind_check CHECK ((kind = ANY (ARRAY['raised'::text, 'readmitted'::text])))
);
CREATE TABLE public.tombstones (
    entity_id integer NOT NULL,
    customer_hash bytea NOT NULL,
    raised_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.tracked_counts (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    day date NOT NULL,
    id bigint NOT NULL,
    events bigint DEFAULT 0 NOT NULL,
    sessions bigint DEFAULT 0 NOT NULL,
    locations bigint DEFAULT 0 NOT NULL
);
ALTER TABLE public.tracked_counts ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tracked_counts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.unreadable_mails (
    file text NOT NULL,
    found_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.user_aliases (
    entity_id integer NOT NULL,
    previous_id text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    first_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    app_id integer,
    device_id text COLLATE pg_catalog."C",
    witnessed boolean DEFAULT false NOT NULL,
    decision text,
    decided_by integer,
    decided_at timestamp with time zone,
    CONSTRAINT user_aliases_decision_check CHECK ((decision = ANY (ARRAY['confirmed'::text, 'refused'::text])))
);
CREATE TABLE public.users (
    id integer NOT NULL,
    uid text NOT NULL,
    email text NOT NULL,
    first_name text DEFAULT ''::text NOT NULL,
    last_name text DEFAULT ''::text NOT NULL,
    password_hash text NOT NULL,
    superadmin boolean DEFAULT false NOT NULL,
    prefered_entity_id integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.users ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.users_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.wallet_elements (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    recipient_id integer NOT NULL,
    "position" integer NOT NULL,
    technical_name text NOT NULL COLLATE pg_catalog."C",
    display_name text NOT NULL,
    category_id integer,
    default_category text,
    CONSTRAINT wallet_elements_check CHECK ((num_nonnulls(category_id, default_category) = 1))
);
ALTER TABLE public.wallet_elements ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.wallet_elements_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.wallet_purpose_elements (
    entity_id integer NOT NULL,
    purpose_id integer NOT NULL,
    "position" integer NOT NULL,
    element_id integer,
    default_element text,
    CONSTRAINT wallet_purpose_elements_check CHECK ((num_nonnulls(element_id, default_element) = 1))
);
CREATE TABLE public.wallet_recipients (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    app_id integer NOT NULL,
    identifier text NOT NULL,
    technical_name text NOT NULL COLLATE pg_catalog."C",
    display_name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.wallet_recipients ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.wallet_recipients_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.wallet_settings (
    entity_id integer NOT NULL,
    app_id integer NOT NULL,
    languages text[] NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.wallet_texts (
    entity_id integer NOT NULL,
    id integer NOT NULL,
    app_id integer NOT NULL,
    kind text NOT NULL,
    identifier text NOT NULL,
    technical_name text NOT NULL COLLATE pg_catalog."C",
    title json NOT NULL,
    body json NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT wallet_texts_kind_check CHECK ((kind = ANY (ARRAY['legal_text'::text, 'data_category'::text, 'purpose'::text])))
);
ALTER TABLE public.wallet_texts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.wallet_texts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE ONLY public.events ATTACH PARTITION public.events_2026_11 FOR VALUES FROM ('2026-11-01 00:00:00+00') TO ('2026-12-01 00:00:00+00');
ALTER TABLE ONLY public.locations ATTACH PARTITION public.locations_2026_11 FOR VALUES FROM ('2026-11-01 00:00:00+00') TO ('2026-12-01 00:00:00+00');
ALTER TABLE ONLY public.sessions ATTACH PARTITION public.sessions_2026_11 FOR VALUES FROM ('2026-11-01 00:00:00+00') TO ('2026-12-01 00:00:00+00');
INSERT INTO public.app_api_keys OVERRIDING SYSTEM VALUE VALUES (1, 2, 1, 'x', '\x78', 'x', false, '2026-11-26 18:22:08.097946+00', '2026-11-26 18:22:08.097946+00');
INSERT INTO public.app_group_members VALUES (1, 1, 1);
INSERT INTO public.app_groups OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', 'x', '2026-11-26 18:22:08.037213+00');
INSERT INTO public.app_token_keys OVERRIDING SYSTEM VALUE VALUES (1, 2, 1, 'x', 'x', '2026-11-26 18:22:08.098918+00');
INSERT INTO public.apps OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', 'x', 'x', 'iOS App', 'x', 'x', false, NULL, '{}', 'Europe/Paris', false, '[]', '{"a": 1}', '{"a": 1}', 'x', 'x', '[]', 'x', false, 1, 1, 1, '{}', 120, '2026-11-26 18:22:08.038581+00', '2026-11-26 18:22:08.038581+00', true, false, '{"a": 1}', 1, 'x');
INSERT INTO public.attempts VALUES (1, 1, 1, '2026-11-26 18:22:08.039198+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-26 18:22:08.039198+00', 1, 1, 1, 0, false, 'push', 'waiting', 'x', 'x', 'x', 'x', 'x', 'x', '\x78', 'x', '{"a": 1}');
INSERT INTO public.attribute_change_log OVERRIDING SYSTEM VALUE VALUES (1, '2026-11-26 18:22:08.039974+00', 1, 1, 1, '{x}', '2026-11-26 18:22:08.040541+00', false);
INSERT INTO public.attribute_values VALUES (1, 1, 0, 1, '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20', true, 'x', 'x', 1.5, '{x}', '{"2026-11-20 12:00:00+00"}', '2026-11-20 12:00:00+00');
INSERT INTO public.audit_log OVERRIDING SYSTEM VALUE VALUES (1, 1, '2026-11-26 18:22:08.041165+00', 'system', 1, 'x', 'x', 'x', 'x', '\x78', '{}');
INSERT INTO public.campaign_audience VALUES (1, 1, '2026-11-20 12:00:00+00', 'x', 'x');
INSERT INTO public.campaign_days VALUES (1, 1, '2026-11-20', '', 'x', 'x', 1, 1, 1, 1, 1);
INSERT INTO public.campaign_members VALUES (1, 1, 'x', true, 1, '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00');
INSERT INTO public.campaign_people VALUES (1, 1, 'x', 1, 1, '2026-11-20 12:00:00+00', 0, 0);
INSERT INTO public.campaigns OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', 'x', 1, 'x', 'classic', 'draft', true, true, '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', false, false, false, '{"a": 1}', '{"a": 1}', '{"a": 1}', '{"a": 1}', '{"a": 1}', 1, '2026-11-26 18:22:08.043852+00', '2026-11-26 18:22:08.043852+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 'x', 0, 0, 0, 'x', '2026-11-20 12:00:00+00');
INSERT INTO public.connections OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', 'x', 'x', '{"a": 1}', '{x}', 'x', 1, 1, '2026-11-26 18:22:08.044644+00', '2026-11-26 18:22:08.044644+00', '2026-11-20 12:00:00+00');
INSERT INTO public.control_group_days VALUES (1, 1, '2026-11-20', 1, 0, 0, 0, 0, 0, '2026-11-26 18:22:08.04536+00');
INSERT INTO public.crashes OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 'x', '\x78', 'x', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 1);
INSERT INTO public.customer_attributes OVERRIDING SYSTEM VALUE VALUES (1, 5, 1, 'x', 'x', 'x', 'String', false, '2026-11-26 18:22:08.100327+00', '2026-11-20 12:00:00+00', false, false, false, NULL);
INSERT INTO public.customers VALUES (1, 0, 'x');
INSERT INTO public.data_exporters OVERRIDING SYSTEM VALUE VALUES (1, 2, 'x', 'x', 'aws_secret_key', 'x', '', 'x', 'x', 'x', 'x', 'x', 'x', '{1}', '{1}', '{x}', 'csv', false, 'x', 'x', 1, '2026-11-20 12:00:00+00', '{}', false, 0, '2026-11-20 12:00:00+00', 'x', '2026-11-20 12:00:00+00', 1, '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 1, '2026-11-26 18:22:08.047904+00', '2026-11-26 18:22:08.047904+00', '2026-11-20 12:00:00+00', 'x', '{}', 'AES256', NULL, false);
INSERT INTO public.deleted_entities VALUES (1, '2026-11-26 18:22:08.0485+00');
INSERT INTO public.device_users VALUES (1, 1, 'x', 'x', '2026-11-20 12:00:00+00');
INSERT INTO public.devices VALUES (1, 1, 'x', 'x', 'x', 'x', true, true, true, 0, 0, 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 0.5, 0.5, 1, '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-26 18:22:08.049166+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 'x', 'x', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00');
INSERT INTO public.dry_run_ids VALUES (1, 6, 'x', 1, 1);
INSERT INTO public.dry_run_sets VALUES (1, 6, 'x', 1, 1, '{x}', '{"2026-11-20 12:00:00+00"}');
INSERT INTO public.entities OVERRIDING SYSTEM VALUE VALUES (1, 'ent_1', 'One', '', true, 'Europe/Paris', 25, '1.sealed', '1.sealed', '2026-11-26 18:22:08.019284+00', NULL, '73f446c42df34ee9b9027519f897be3a', 0);
INSERT INTO public.event_definitions OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 1, 'x', 'x', false, '2026-11-26 18:22:08.050372+00', 1, '2026-11-26');
INSERT INTO public.event_messages VALUES (1, 1, '\x78', '2026-11-26 18:22:08.050797+00');
INSERT INTO public.events_2026_11 VALUES (1, 1, '2026-11-20 12:00:00+00', '2026-11-26 18:22:08.051074+00', 1, 1, 1, 1, 1, 'x', 'x', 'x', '{"a": 1}');
INSERT INTO public.export_deletions OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', 1, 'x', 1, 1, '2026-11-20 12:00:00+00', 1, '{"a": 1}', 'pending', 'x', '\x78', 0, '2026-11-20 12:00:00+00', 'x', '2026-11-20 12:00:00+00', '2026-11-26 18:22:08.051546+00');
INSERT INTO public.export_files VALUES (1, 1, 'x', 1, 'x', 1, 1, '\x78', 1, '\x78', 'x', '2026-11-26 18:22:08.101491+00', '2026-11-20 12:00:00+00');
INSERT INTO public.export_records VALUES (1, 1, 'x', 'x', 1, 1, 0, 0, '{"a": 1}', false, 'x', 1, '2026-11-20 12:00:00+00', 1);
INSERT INTO public.export_runs OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', 1, 'schedule', 1, '2026-11-20 12:00:00+00', '{}', 1, '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 'x', '{"a": 1}', 'accepted', false, 0, 'x', '2026-11-26 18:22:08.054652+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 0, 0, 'x', '2026-11-20 12:00:00+00', 'x', 'x', 'x', '\x78', '2026-11-20 12:00:00+00', 0, false, 'sending', 0, 'x', 'x', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 'x');
INSERT INTO public.feed_requests VALUES (1, 5, 'x', 1, 2, '2026-11-26 18:22:08.056174+00', 'x', 1, 1, 1, 1, 1, NULL, NULL, NULL, NULL);
INSERT INTO public.feed_waits VALUES (1, '2026-11-26 18:22:08.056568+00');
INSERT INTO public.file_deletions VALUES (1, 'x', '2026-11-26 18:22:08.057005+00');
INSERT INTO public.file_jobs OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', 'x', 'csv', '{"a": 1}', '\x78', 'x', 1, 'accepted', 0, 'x', '2026-11-26 18:22:08.057378+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 0, 'x', 1, 'x', 'x', 'sending', 0, 'x', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', NULL, 'x', 'x');
INSERT INTO public.file_store VALUES ('x', '2026-11-26 18:22:08.058019+00');
INSERT INTO public.funnels OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', 'x', 'x', 1, '{"a": 1}', '{1}', 1, '2026-11-26 18:22:08.061367+00', '2026-11-26 18:22:08.061367+00', '2026-11-20 12:00:00+00');
INSERT INTO public.gdpr_holds OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', 'user_id', 'x', 'hold', 'x', 1, '2026-11-26 18:22:08.062308+00');
INSERT INTO public.gdpr_identifiers VALUES (1, 1, 'user_id', 'x', 1, 'asked', false, 'x');
INSERT INTO public.gdpr_left_identifiers VALUES (1, 1, 1, 'user_id', 'x', 'x', 'shared');
INSERT INTO public.gdpr_mails OVERRIDING SYSTEM VALUE VALUES (1, 6, 1, 'held', 'x', 'sending', 0, 'x', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', NULL);
INSERT INTO public.gdpr_receipts OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', 'x', 'access', 1, '2026-11-26 18:22:08.066213+00', '{"\\x78"}', 'x');
INSERT INTO public.gdpr_request_people VALUES (1, 1, 1, 'x', 'x', '\x78', 'pending', '2026-11-20 12:00:00+00', 1, 'x', 1, '\x78', '{"a": 1}', 'x', '{"\\x78"}');
INSERT INTO public.gdpr_requests OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', 'access', 'sdk', 1, 'user', 1, false, '{}', 'waiting', 1, '2026-11-20 12:00:00+00', 0, 'x', '2026-11-26 18:22:08.071497+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-26 18:22:08.071497+00', 1, 'x', '{}', '{}', '2026-11-20 12:00:00+00', '{}', 'x', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '{}', '[]', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', false);
INSERT INTO public.idempotent_requests VALUES (1, '\x78', '\x78', '00000000-0000-4000-8000-000000000001', '2026-11-26 18:22:08.072499+00', '2026-11-20 12:00:00+00', 1, 'x', 'x');
INSERT INTO public.import_errors VALUES (1, 1, 1, 'x', 'ignored', '2026-11-26 18:22:08.073021+00', 'x', 'x', 'x', 'x', 'x', '\x78', 1, 1, 0, 0, false);
INSERT INTO public.import_lanes VALUES (1, 6, 1, 1, 0, 1, 0, 0, 0, 0, '{}', 0, 0, 0);
INSERT INTO public.imports OVERRIDING SYSTEM VALUE VALUES (1, 6, 'x', 'x', 1, 2, false, 'accepted', 0, 'x', '2026-11-26 18:22:08.07383+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 'x', 1, '\x78', 1, '\x78', true, 'x', 3, false, 'x', 'x', 'x', 1, 0, 'x', false, 1, 1, 'sending', 0, 'x', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '{}', '{"a": 1}', 'x', '{"a": 1}', '{"a": 1}', '2026-11-20 12:00:00+00', 1, '{"a": 1}');
INSERT INTO public.ingested_batches OVERRIDING SYSTEM VALUE VALUES (1, 1, '2026-11-26 18:22:08.074333+00', 1, 1, 1, 1);
INSERT INTO public.internal_errors VALUES (1, 'x', 'x', 'x', 'x', '2026-11-26 18:22:08.074626+00', '2026-11-26 18:22:08.074626+00', 1, false);
INSERT INTO public.invitations OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', 'x', '', '', '{x}', true, true, 1, '2026-11-26 18:22:08.075026+00', '\x78', '2026-11-27 18:22:08.075026+00', 'sending', 0, 'x', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00');
INSERT INTO public.key_lookups VALUES ('\x78', 'sor', 1, 1);
INSERT INTO public.label_targets VALUES (1, 1, 'event_definition', 1);
INSERT INTO public.labels OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', '2026-11-26 18:22:08.076233+00');
INSERT INTO public.live_calls OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, '2026-11-20 12:00:00+00', 'accepted', 'x', 'x', 'x', 'x', '{x}');
INSERT INTO public.locations_2026_11 VALUES (1, 1, '2026-11-20 12:00:00+00', '2026-11-26 18:22:08.077033+00', 1, 1, 0.5, 0.5, 'x', 'x');
INSERT INTO public.login_attempts VALUES ('\x78', '2026-11-20 12:00:00+00', 1, 900);
INSERT INTO public.memberships VALUES (1, 1, '{}', false);
INSERT INTO public.notify_mails VALUES (1, '2026-11-20', 1);
INSERT INTO public.operator_notices VALUES ('x', '2026-11-20 12:00:00+00');
INSERT INTO public.outcome_deliveries VALUES (1, 1, '2026-11-26 18:22:08.078731+00', 0, '2026-11-20 12:00:00+00', 1, 0, '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 'x');
INSERT INTO public.password_resets OVERRIDING SYSTEM VALUE VALUES (1, 'x', 'x', 1, 'x', '2026-11-26 18:22:08.079143+00', '\x78', '2026-11-27 18:22:08.079143+00', 'sending', 0, 'x', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00');
INSERT INTO public.provider_refusals VALUES (1, 1, 'x', 'x', '2026-11-26 18:22:08.079662+00');
INSERT INTO public.push_certificates OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 'x', '\x78', 'x', 'x', 'x', 'x', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', false, '2026-11-26 18:22:08.08006+00', '2026-11-26 18:22:08.08006+00');
INSERT INTO public.push_providers VALUES (1, 1, 'ios', 'x', '{}', '{}', 'x', 'x', 'x', '2026-11-26 18:22:08.080558+00', '2026-11-26 18:22:08.080558+00');
INSERT INTO public.refused_calls OVERRIDING SYSTEM VALUE VALUES (1, 1, '2026-11-26 18:22:08.080942+00', 1, 1, 'x', '\x78', 'x', 'x', 'x', '\x78', '{x}');
INSERT INTO public.report_rollups VALUES (1, '2026-11-20 12:00:00+00', '2026-11-20');
INSERT INTO public.run_alerts OVERRIDING SYSTEM VALUE VALUES (1, 1, NULL, 1, 1, 'x', 0, 'x', '2026-11-20 12:00:00+00');
INSERT INTO public.schema_migrations VALUES ('0001_house.sql', '2026-11-26 18:22:07.763747+00');
INSERT INTO public.schema_migrations VALUES ('0002_attributes.sql', '2026-11-26 18:22:07.772449+00');
INSERT INTO public.schema_migrations VALUES ('0003_imports.sql', '2026-11-26 18:22:07.777882+00');
INSERT INTO public.schema_migrations VALUES ('0004_import_lanes.sql', '2026-11-26 18:22:07.781219+00');
INSERT INTO public.schema_migrations VALUES ('0005_idempotency.sql', '2026-11-26 18:22:07.78312+00');
INSERT INTO public.schema_migrations VALUES ('0006_import_sources.sql', '2026-11-26 18:22:07.787513+00');
INSERT INTO public.schema_migrations VALUES ('0007_redriven_lines.sql', '2026-11-26 18:22:07.789023+00');
INSERT INTO public.schema_migrations VALUES ('0008_users.sql', '2026-11-26 18:22:07.795295+00');
INSERT INTO public.schema_migrations VALUES ('0009_feed.sql', '2026-11-26 18:22:07.799763+00');
INSERT INTO public.schema_migrations VALUES ('0010_profiles.sql', '2026-11-26 18:22:07.805654+00');
INSERT INTO public.schema_migrations VALUES ('0011_connections.sql', '2026-11-26 18:22:07.808047+00');
INSERT INTO public.schema_migrations VALUES ('0012_syncs.sql', '2026-11-26 18:22:07.818286+00');
INSERT INTO public.schema_migrations VALUES ('0013_apps.sql', '2026-11-26 18:22:07.824711+00');
INSERT INTO public.schema_migrations VALUES ('0014_push_certificates_labels.sql', '2026-11-26 18:22:07.830711+00');
INSERT INTO public.schema_migrations VALUES ('0015_data_wallet.sql', '2026-11-26 18:22:07.837412+00');
INSERT INTO public.schema_migrations VALUES ('0016_events.sql', '2026-11-26 18:22:07.849881+00');
INSERT INTO public.schema_migrations VALUES ('0017_read_fields.sql', '2026-11-26 18:22:07.850849+00');
INSERT INTO public.schema_migrations VALUES ('0018_sync_lanes.sql', '2026-11-26 18:22:07.852599+00');
INSERT INTO public.schema_migrations VALUES ('0020_data_exporters.sql', '2026-11-26 18:22:07.859632+00');
INSERT INTO public.schema_migrations VALUES ('0021_gdpr.sql', '2026-11-26 18:22:07.874238+00');
INSERT INTO public.schema_migrations VALUES ('0022_account_invitations.sql', '2026-11-26 18:22:07.878509+00');
INSERT INTO public.schema_migrations VALUES ('0023_user_token_keys.sql', '2026-11-26 18:22:07.880931+00');
INSERT INTO public.schema_migrations VALUES ('0024_identity_claims.sql', '2026-11-26 18:22:07.883394+00');
INSERT INTO public.schema_migrations VALUES ('0025_notify_mails.sql', '2026-11-26 18:22:07.884458+00');
INSERT INTO public.schema_migrations VALUES ('0026_patience.sql', '2026-11-26 18:22:07.885234+00');
INSERT INTO public.schema_migrations VALUES ('0027_deliveries.sql', '2026-11-26 18:22:07.886029+00');
INSERT INTO public.schema_migrations VALUES ('0028_sync_share.sql', '2026-11-26 18:22:07.886657+00');
INSERT INTO public.schema_migrations VALUES ('0029_file_formats.sql', '2026-11-26 18:22:07.887319+00');
INSERT INTO public.schema_migrations VALUES ('0032_live_calls.sql', '2026-11-26 18:22:07.88935+00');
INSERT INTO public.schema_migrations VALUES ('0033_filed_mails.sql', '2026-11-26 18:22:07.890577+00');
INSERT INTO public.schema_migrations VALUES ('0034_run_alerts.sql', '2026-11-26 18:22:07.892869+00');
INSERT INTO public.schema_migrations VALUES ('0035_run_alert_tries.sql', '2026-11-26 18:22:07.893996+00');
INSERT INTO public.schema_migrations VALUES ('0036_more_label_targets.sql', '2026-11-26 18:22:07.894618+00');
INSERT INTO public.schema_migrations VALUES ('0037_funnels.sql', '2026-11-26 18:22:07.89621+00');
INSERT INTO public.schema_migrations VALUES ('0040_file_jobs.sql', '2026-11-26 18:22:07.898525+00');
INSERT INTO public.schema_migrations VALUES ('0042_devices_first_seen.sql', '2026-11-26 18:22:07.899223+00');
INSERT INTO public.schema_migrations VALUES ('0043_segments.sql', '2026-11-26 18:22:07.902605+00');
INSERT INTO public.schema_migrations VALUES ('0044_tracked_counts.sql', '2026-11-26 18:22:07.904536+00');
INSERT INTO public.schema_migrations VALUES ('0050_push_providers.sql', '2026-11-26 18:22:07.905995+00');
INSERT INTO public.schema_migrations VALUES ('0051_campaigns_sends.sql', '2026-11-26 18:22:07.916375+00');
INSERT INTO public.schema_migrations VALUES ('0052_outcome_delivery.sql', '2026-11-26 18:22:07.918423+00');
INSERT INTO public.schema_migrations VALUES ('0053_shared_files.sql', '2026-11-26 18:22:07.919244+00');
INSERT INTO public.schema_migrations VALUES ('0054_devices_by_verified_user.sql', '2026-11-26 18:22:07.920527+00');
INSERT INTO public.schema_migrations VALUES ('0055_ended_inapp_messages.sql', '2026-11-26 18:22:07.92596+00');
INSERT INTO public.schema_migrations VALUES ('0056_campaign_runs.sql', '2026-11-26 18:22:07.956449+00');
INSERT INTO public.schema_migrations VALUES ('0057_campaign_people_inapp.sql', '2026-11-26 18:22:07.957393+00');
INSERT INTO public.schema_migrations VALUES ('0058_campaign_members.sql', '2026-11-26 18:22:07.959594+00');
INSERT INTO public.schema_migrations VALUES ('0059_audience_rounds.sql', '2026-11-26 18:22:07.960322+00');
INSERT INTO public.schema_migrations VALUES ('0060_control_groups.sql', '2026-11-26 18:22:07.961995+00');
INSERT INTO public.schema_migrations VALUES ('0061_campaign_tests.sql', '2026-11-26 18:22:07.9628+00');
INSERT INTO public.schema_migrations VALUES ('0062_messages_side_by_side.sql', '2026-11-26 18:22:07.963549+00');
INSERT INTO public.schema_migrations VALUES ('0070_file_store.sql', '2026-11-26 18:22:07.964537+00');
INSERT INTO public.schema_migrations VALUES ('0072_rebuilt_files.sql', '2026-11-26 18:22:07.967177+00');
INSERT INTO public.schema_migrations VALUES ('0073_erasure_faults.sql', '2026-11-26 18:22:07.967939+00');
INSERT INTO public.schema_migrations VALUES ('0075_ids_that_led_to_others.sql', '2026-11-26 18:22:07.968734+00');
INSERT INTO public.schema_migrations VALUES ('0076_others_in_archives.sql', '2026-11-26 18:22:07.969411+00');
INSERT INTO public.schema_migrations VALUES ('0077_refresh_begun.sql', '2026-11-26 18:22:07.96984+00');
INSERT INTO public.schema_migrations VALUES ('0078_identifier_attributes.sql', '2026-11-26 18:22:07.970429+00');
INSERT INTO public.schema_migrations VALUES ('0079_attention.sql', '2026-11-26 18:22:07.97303+00');
INSERT INTO public.schema_migrations VALUES ('0080_operator_notices.sql', '2026-11-26 18:22:07.974083+00');
INSERT INTO public.schema_migrations VALUES ('0081_step_attempts.sql', '2026-11-26 18:22:07.975525+00');
INSERT INTO public.schema_migrations VALUES ('0082_sent_batches.sql', '2026-11-26 18:22:07.976417+00');
INSERT INTO public.schema_migrations VALUES ('0095_given_up_errors.sql', '2026-11-26 18:22:07.976892+00');
INSERT INTO public.schema_migrations VALUES ('0096_waiting_for_slots.sql', '2026-11-26 18:22:07.978389+00');
INSERT INTO public.schema_migrations VALUES ('0100_unreadable_mails.sql', '2026-11-26 18:22:07.97967+00');
INSERT INTO public.schema_migrations VALUES ('0101_ending_campaigns.sql', '2026-11-26 18:22:07.980642+00');
INSERT INTO public.schema_migrations VALUES ('0102_deleted_entities.sql', '2026-11-26 18:22:07.982761+00');
INSERT INTO public.schema_migrations VALUES ('0105_subjects_of_calls.sql', '2026-11-26 18:22:07.983445+00');
INSERT INTO public.schema_migrations VALUES ('0117_settled_errors.sql', '2026-11-26 18:22:07.984277+00');
INSERT INTO public.schema_migrations VALUES ('0118_titles_between_words.sql', '2026-11-26 18:22:07.984838+00');
INSERT INTO public.schema_migrations VALUES ('0119_said_at.sql', '2026-11-26 18:22:07.985312+00');
INSERT INTO public.schema_migrations VALUES ('0140_sensitive_attributes.sql', '2026-11-26 18:22:07.985799+00');
INSERT INTO public.schema_migrations VALUES ('0150_erasing_since.sql', '2026-11-26 18:22:07.986231+00');
INSERT INTO public.schema_migrations VALUES ('0151_event_definitions_in_use.sql', '2026-11-26 18:22:07.987154+00');
INSERT INTO public.schema_migrations VALUES ('0160_unvouched_requests.sql', '2026-11-26 18:22:07.988553+00');
INSERT INTO public.schema_migrations VALUES ('0161_gdpr_digests.sql', '2026-11-26 18:22:07.989798+00');
INSERT INTO public.schema_migrations VALUES ('0163_kept_files.sql', '2026-11-26 18:22:07.990493+00');
INSERT INTO public.schema_migrations VALUES ('0164_kept_files_not_erased.sql', '2026-11-26 18:22:07.991312+00');
INSERT INTO public.schema_migrations VALUES ('0165_device_said_at.sql', '2026-11-26 18:22:07.997672+00');
INSERT INTO public.schema_migrations VALUES ('0166_device_logins_and_tokens.sql', '2026-11-26 18:22:07.998873+00');
INSERT INTO public.schema_migrations VALUES ('0170_traits_of_calls.sql', '2026-11-26 18:22:07.999529+00');
INSERT INTO public.schema_migrations VALUES ('0171_suspicious_ids.sql', '2026-11-26 18:22:08.000357+00');
INSERT INTO public.schema_migrations VALUES ('0172_failed_traits_live.sql', '2026-11-26 18:22:08.002067+00');
INSERT INTO public.schema_migrations VALUES ('0180_mapped_tables.sql', '2026-11-26 18:22:08.003459+00');
INSERT INTO public.schema_migrations VALUES ('0190_odd_cursors.sql', '2026-11-26 18:22:08.004197+00');
INSERT INTO public.schema_migrations VALUES ('0200_cells_without_column.sql', '2026-11-26 18:22:08.005362+00');
INSERT INTO public.schema_migrations VALUES ('0201_re_drives_said.sql', '2026-11-26 18:22:08.005777+00');
INSERT INTO public.schema_migrations VALUES ('0210_ambiguous_sets.sql', '2026-11-26 18:22:08.006177+00');
INSERT INTO public.schema_migrations VALUES ('0211_buckets_of_exporters.sql', '2026-11-26 18:22:08.006938+00');
INSERT INTO public.schema_migrations VALUES ('0212_reach_of_campaigns.sql', '2026-11-26 18:22:08.007736+00');
INSERT INTO public.schema_migrations VALUES ('0220_guessed_types.sql', '2026-11-26 18:22:08.008862+00');
INSERT INTO public.schema_migrations VALUES ('0240_folded_ids.sql', '2026-11-26 18:22:08.009961+00');
INSERT INTO public.schema_migrations VALUES ('0241_dry_run_ids.sql', '2026-11-26 18:22:08.011366+00');
INSERT INTO public.schema_migrations VALUES ('0245_erased_errors.sql', '2026-11-26 18:22:08.012608+00');
INSERT INTO public.segment_members VALUES (1, 1, 'x');
INSERT INTO public.segment_uses VALUES (1, 1, 1);
INSERT INTO public.segments OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', 1, 'x', 'x', '{"a": 1}', 1, '2026-11-26 18:22:08.083373+00', '2026-11-26 18:22:08.083373+00', '2026-11-20 12:00:00+00', '2026-11-26 18:22:08.083373+00', 0, '2026-11-20 12:00:00+00', 'x', 0, 0, 0, 0, 0, 0, 0, '2026-11-20 12:00:00+00');
INSERT INTO public.send_campaigns VALUES (1, 1, 1, 1);
INSERT INTO public.send_messages VALUES (1, 1, 1, 'x', '\x78', '{"a": 1}');
INSERT INTO public.send_paces VALUES (1, 1, '2026-11-20 12:00:00+00');
INSERT INTO public.sends OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', 'accepted', 0, 'x', '2026-11-26 18:22:08.084987+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '\x78', '\x78', 1, '2026-11-20 12:00:00+00', 1, 1, '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 0, 0, '2026-11-20 12:00:00+00');
INSERT INTO public.server_keys VALUES ('x', 1, 'x', '2026-11-26 18:22:08.085631+00', 'x', 'x');
INSERT INTO public.service_tokens OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', 'x', '\x78', '{x}', 1, '2026-11-26 18:22:08.085888+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00');
INSERT INTO public.session_heads VALUES (1, 1, 'x', 1, '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00');
INSERT INTO public.sessions_2026_11 VALUES (1, 1, '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-26 18:22:08.086693+00', 1, 0, 1, 1, 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x');
INSERT INTO public.sor_api_keys VALUES (1, 1, '\x78', 'x', '2026-11-26 18:22:08.105519+00');
INSERT INTO public.step_attempts VALUES (1, 'x', 'x', 'x', 1, 1, false, 'x', 0, '2026-11-26 18:22:08.087564+00');
INSERT INTO public.sync_batches VALUES (1, 1, 'x', 'x', 'x', 1);
INSERT INTO public.sync_log OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, '2026-11-26 18:22:08.08816+00', 'x');
INSERT INTO public.sync_pinned_batches VALUES (1, 1, 1, 1, 'x', 'x');
INSERT INTO public.sync_records VALUES (1, 1, 'x', 'x', '\x78', 1, 1);
INSERT INTO public.sync_runs VALUES (1, 7, 'x', 1, 'schedule', 1, '2026-11-20 12:00:00+00', '{}', false, 1, false, false, 1, 'accepted', 0, 'x', '2026-11-26 18:22:08.088873+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 'x', 'x', false, false, 0, 0, 0, 0, 0, 0, '{}', 0, 0, 'done', 'x', '{"a": 1}', '{}', '{}', 0, 'x', '2026-11-20 12:00:00+00', 'x', 'x', '{"a": 1}', 'sending', 0, 'x', 'x', 0, 0, '{0,0}', '2026-11-20 12:00:00+00', 0, 0.5, '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 'x', 0, 0);
INSERT INTO public.syncs OVERRIDING SYSTEM VALUE VALUES (1, 14, 'x', 'x', 1, 'x', 1, NULL, NULL, NULL, '{"a": 1}', 'full', NULL, false, 1, NULL, 'stop', '{"a": 1}', 1, NULL, NULL, 0, NULL, NULL, NULL, NULL, '2026-11-26 18:22:08.092226+00', '2026-11-26 18:22:08.092226+00', NULL, NULL, false);
INSERT INTO public.systems_of_records OVERRIDING SYSTEM VALUE VALUES (1, 1, 'x', 'x', 'app', false, 0, '{}', 1, '2026-11-26 18:22:08.092644+00', '2026-11-26 18:22:08.092644+00', '2026-11-20 12:00:00+00', 1);
INSERT INTO public.tokens VALUES ('\x78', 1, 1, '2026-11-26 18:22:08.093221+00', '2026-11-26 18:22:08.093221+00', '2026-11-20 12:00:00+00');
INSERT INTO public.tombstone_batches VALUES (1, 'x', 'raised', '2026-11-20 12:00:00+00', '{"\\x78"}', false);
INSERT INTO public.tombstones VALUES (1, '\x78', '2026-11-26 18:22:08.093995+00');
INSERT INTO public.tracked_counts VALUES (1, 1, '2026-11-20', 1, 0, 0, 0);
INSERT INTO public.unreadable_mails VALUES ('x', '2026-11-26 18:22:08.094591+00');
INSERT INTO public.user_aliases VALUES (1, 'x', 'x', '2026-11-26 18:22:08.094805+00', 1, 'x', false, 'confirmed', 1, '2026-11-20 12:00:00+00');
INSERT INTO public.users OVERRIDING SYSTEM VALUE VALUES (1, 'usr_1', 'ann@example.org', '', '', 'hash', false, NULL, '2026-11-26 18:22:08.019771+00');
INSERT INTO public.wallet_elements OVERRIDING SYSTEM VALUE VALUES (1, 5, 1, 1, 'x', 'x', 1, NULL);
INSERT INTO public.wallet_purpose_elements VALUES (1, 1, 1, 5, NULL);
INSERT INTO public.wallet_recipients OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 'x', 'x', 'x', '2026-11-26 18:22:08.096712+00', '2026-11-26 18:22:08.096712+00');
INSERT INTO public.wallet_settings VALUES (1, 1, '{x}', '2026-11-26 18:22:08.097185+00');
INSERT INTO public.wallet_texts OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 'legal_text', 'x', 'x', '{"a": 1}', '{"a": 1}', '2026-11-26 18:22:08.097568+00', '2026-11-26 18:22:08.097568+00');
SELECT pg_catalog.setval('public.app_api_keys_id_seq', 2, true);
SELECT pg_catalog.setval('public.app_groups_id_seq', 1, true);
SELECT pg_catalog.setval('public.app_token_keys_id_seq', 2, true);
SELECT pg_catalog.setval('public.apps_id_seq', 1, true);
SELECT pg_catalog.setval('public.attempt_ids', 1, true);
SELECT pg_catalog.setval('public.attribute_change_log_id_seq', 1, true);
SELECT pg_catalog.setval('public.audit_log_id_seq', 1, true);
SELECT pg_catalog.setval('public.campaigns_id_seq', 1, true);
SELECT pg_catalog.setval('public.connections_id_seq', 1, true);
SELECT pg_catalog.setval('public.crashes_id_seq', 1, true);
SELECT pg_catalog.setval('public.customer_attributes_id_seq', 5, true);
SELECT pg_catalog.setval('public.data_exporters_id_seq', 2, true);
SELECT pg_catalog.setval('public.entities_id_seq', 1, true);
SELECT pg_catalog.setval('public.event_definitions_id_seq', 1, true);
SELECT pg_catalog.setval('public.event_ids', 1, true);
SELECT pg_catalog.setval('public.export_deletions_id_seq', 1, true);
SELECT pg_catalog.setval('public.export_runs_id_seq', 1, true);
SELECT pg_catalog.setval('public.file_jobs_id_seq', 1, true);
SELECT pg_catalog.setval('public.funnels_id_seq', 1, true);
SELECT pg_catalog.setval('public.gdpr_holds_id_seq', 1, true);
SELECT pg_catalog.setval('public.gdpr_mails_id_seq', 6, true);
SELECT pg_catalog.setval('public.gdpr_receipts_id_seq', 1, true);
SELECT pg_catalog.setval('public.gdpr_requests_id_seq', 1, true);
SELECT pg_catalog.setval('public.imports_id_seq', 7, true);
SELECT pg_catalog.setval('public.ingested_batches_id_seq', 1, true);
SELECT pg_catalog.setval('public.invitations_id_seq', 1, true);
SELECT pg_catalog.setval('public.labels_id_seq', 1, true);
SELECT pg_catalog.setval('public.live_calls_id_seq', 1, true);
SELECT pg_catalog.setval('public.location_ids', 1, true);
SELECT pg_catalog.setval('public.password_resets_id_seq', 1, true);
SELECT pg_catalog.setval('public.push_certificates_id_seq', 1, true);
SELECT pg_catalog.setval('public.refused_calls_id_seq', 1, true);
SELECT pg_catalog.setval('public.run_alerts_id_seq', 1, true);
SELECT pg_catalog.setval('public.segments_id_seq', 1, true);
SELECT pg_catalog.setval('public.sends_id_seq', 1, true);
SELECT pg_catalog.setval('public.service_tokens_id_seq', 1, true);
SELECT pg_catalog.setval('public.session_ids', 1, true);
SELECT pg_catalog.setval('public.sync_log_id_seq', 1, true);
SELECT pg_catalog.setval('public.syncs_id_seq', 14, true);
SELECT pg_catalog.setval('public.systems_of_records_id_seq', 1, true);
SELECT pg_catalog.setval('public.tracked_counts_id_seq', 1, true);
SELECT pg_catalog.setval('public.users_id_seq', 1, true);
SELECT pg_catalog.setval('public.wallet_elements_id_seq', 5, true);
SELECT pg_catalog.setval('public.wallet_recipients_id_seq', 1, true);
SELECT pg_catalog.setval('public.wallet_texts_id_seq', 1, true);
ALTER TABLE ONLY public.app_api_keys
    ADD CONSTRAINT app_api_keys_entity_id_app_id_lookup_key UNIQUE (entity_id, app_id, lookup);
ALTER TABLE ONLY public.app_api_keys
    ADD CONSTRAINT app_api_keys_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.app_api_keys
    ADD CONSTRAINT app_api_keys_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.app_group_members
    ADD CONSTRAINT app_group_members_pkey PRIMARY KEY (entity_id, group_id, app_id);
ALTER TABLE ONLY public.app_groups
    ADD CONSTRAINT app_groups_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.app_groups
    ADD CONSTRAINT app_groups_entity_id_name_key UNIQUE (entity_id, name);
ALTER TABLE ONLY public.app_groups
    ADD CONSTRAINT app_groups_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.app_token_keys
    ADD CONSTRAINT app_token_keys_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.app_token_keys
    ADD CONSTRAINT app_token_keys_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_entity_id_package_name_key UNIQUE (entity_id, package_name);
ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (entity_id, campaign_id, id);
ALTER TABLE ONLY public.attribute_change_log
    ADD CONSTRAINT attribute_change_log_pkey PRIMARY KEY (entity_id, received_at, id);
ALTER TABLE ONLY public.attribute_values
    ADD CONSTRAINT attribute_values_pkey PRIMARY KEY (entity_id, sor_id, customer_id, customer_type, attribute_id);
ALTER TABLE ONLY public.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.campaign_audience
    ADD CONSTRAINT campaign_audience_pkey PRIMARY KEY (entity_id, send_id, due_at, person, device_id);
ALTER TABLE ONLY public.campaign_days
    ADD CONSTRAINT campaign_days_pkey PRIMARY KEY (entity_id, campaign_id, day, variant, channel, code);
ALTER TABLE ONLY public.campaign_members
    ADD CONSTRAINT campaign_members_pkey PRIMARY KEY (entity_id, send_id, person);
ALTER TABLE ONLY public.campaign_people
    ADD CONSTRAINT campaign_people_pkey PRIMARY KEY (entity_id, campaign_id, person);
ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT campaigns_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT campaigns_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.connections
    ADD CONSTRAINT connections_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.connections
    ADD CONSTRAINT connections_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.control_group_days
    ADD CONSTRAINT control_group_days_pkey PRIMARY KEY (entity_id, campaign_id, day);
ALTER TABLE ONLY public.crashes
    ADD CONSTRAINT crashes_entity_id_app_id_fingerprint_key UNIQUE (entity_id, app_id, fingerprint);
ALTER TABLE ONLY public.crashes
    ADD CONSTRAINT crashes_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.crashes
    ADD CONSTRAINT crashes_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.customer_attributes
    ADD CONSTRAINT customer_attributes_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.customer_attributes
    ADD CONSTRAINT customer_attributes_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.customers
    ADD CONSTRAINT customers_pkey PRIMARY KEY (entity_id, customer_id, customer_type);
ALTER TABLE ONLY public.data_exporters
    ADD CONSTRAINT data_exporters_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.data_exporters
    ADD CONSTRAINT data_exporters_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.deleted_entities
    ADD CONSTRAINT deleted_entities_pkey PRIMARY KEY (entity_id);
ALTER TABLE ONLY public.device_users
    ADD CONSTRAINT device_users_pkey PRIMARY KEY (entity_id, app_id, device_id, user_id);
ALTER TABLE ONLY public.devices
    ADD CONSTRAINT devices_pkey PRIMARY KEY (entity_id, app_id, device_id);
ALTER TABLE ONLY public.dry_run_ids
    ADD CONSTRAINT dry_run_ids_pkey PRIMARY KEY (entity_id, import_id, customer_id, customer_type);
ALTER TABLE ONLY public.dry_run_sets
    ADD CONSTRAINT dry_run_sets_pkey PRIMARY KEY (entity_id, import_id, customer_id, customer_type, attribute_id);
ALTER TABLE ONLY public.entities
    ADD CONSTRAINT entities_identifier_key UNIQUE (identifier);
ALTER TABLE ONLY public.entities
    ADD CONSTRAINT entities_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.event_definitions
    ADD CONSTRAINT event_definitions_entity_id_app_id_log_type_name_key UNIQUE (entity_id, app_id, log_type, name);
ALTER TABLE ONLY public.event_definitions
    ADD CONSTRAINT event_definitions_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.event_messages
    ADD CONSTRAINT event_messages_pkey PRIMARY KEY (entity_id, app_id, message_hash);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (entity_id, app_id, happened_at, id);
ALTER TABLE ONLY public.events_2026_11
    ADD CONSTRAINT events_2026_11_pkey PRIMARY KEY (entity_id, app_id, happened_at, id);
ALTER TABLE ONLY public.export_deletions
    ADD CONSTRAINT export_deletions_entity_id_exporter_id_request_identifier_r_key UNIQUE (entity_id, exporter_id, request_identifier, round, part);
ALTER TABLE ONLY public.export_deletions
    ADD CONSTRAINT export_deletions_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.export_deletions
    ADD CONSTRAINT export_deletions_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.export_files
    ADD CONSTRAINT export_files_pkey PRIMARY KEY (entity_id, run_id, data_type, part);
ALTER TABLE ONLY public.export_records
    ADD CONSTRAINT export_records_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.export_records
    ADD CONSTRAINT export_records_pkey PRIMARY KEY (entity_id, run_id, data_type);
ALTER TABLE ONLY public.export_runs
    ADD CONSTRAINT export_runs_entity_id_exporter_id_scheduled_for_key UNIQUE (entity_id, exporter_id, scheduled_for);
ALTER TABLE ONLY public.export_runs
    ADD CONSTRAINT export_runs_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.export_runs
    ADD CONSTRAINT export_runs_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.feed_requests
    ADD CONSTRAINT feed_requests_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.feed_requests
    ADD CONSTRAINT feed_requests_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.feed_waits
    ADD CONSTRAINT feed_waits_pkey PRIMARY KEY (entity_id);
ALTER TABLE ONLY public.file_deletions
    ADD CONSTRAINT file_deletions_pkey PRIMARY KEY (entity_id, file_key);
ALTER TABLE ONLY public.file_jobs
    ADD CONSTRAINT file_jobs_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.file_jobs
    ADD CONSTRAINT file_jobs_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.funnels
    ADD CONSTRAINT funnels_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.funnels
    ADD CONSTRAINT funnels_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.gdpr_holds
    ADD CONSTRAINT gdpr_holds_entity_id_customer_id_customer_type_kind_key UNIQUE (entity_id, customer_id, customer_type, kind);
ALTER TABLE ONLY public.gdpr_holds
    ADD CONSTRAINT gdpr_holds_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.gdpr_holds
    ADD CONSTRAINT gdpr_holds_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.gdpr_identifiers
    ADD CONSTRAINT gdpr_identifiers_pkey PRIMARY KEY (entity_id, request_id, kind, value);
ALTER TABLE ONLY public.gdpr_left_identifiers
    ADD CONSTRAINT gdpr_left_identifiers_pkey PRIMARY KEY (entity_id, request_id, ordinal, kind, value);
ALTER TABLE ONLY public.gdpr_mails
    ADD CONSTRAINT gdpr_mails_entity_id_request_id_kind_key UNIQUE (entity_id, request_id, kind);
ALTER TABLE ONLY public.gdpr_mails
    ADD CONSTRAINT gdpr_mails_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.gdpr_receipts
    ADD CONSTRAINT gdpr_receipts_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.gdpr_receipts
    ADD CONSTRAINT gdpr_receipts_entity_id_request_identifier_round_key UNIQUE (entity_id, request_identifier, round);
ALTER TABLE ONLY public.gdpr_receipts
    ADD CONSTRAINT gdpr_receipts_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.gdpr_request_people
    ADD CONSTRAINT gdpr_request_people_pkey PRIMARY KEY (entity_id, request_id, ordinal);
ALTER TABLE ONLY public.gdpr_requests
    ADD CONSTRAINT gdpr_requests_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.gdpr_requests
    ADD CONSTRAINT gdpr_requests_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.idempotent_requests
    ADD CONSTRAINT idempotent_requests_pkey PRIMARY KEY (entity_id, key_hash);
ALTER TABLE ONLY public.import_errors
    ADD CONSTRAINT import_errors_pkey PRIMARY KEY (entity_id, import_id, line, column_number);
ALTER TABLE ONLY public.import_lanes
    ADD CONSTRAINT import_lanes_pkey PRIMARY KEY (entity_id, import_id, lane);
ALTER TABLE ONLY public.imports
    ADD CONSTRAINT imports_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.imports
    ADD CONSTRAINT imports_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.ingested_batches
    ADD CONSTRAINT ingested_batches_pkey PRIMARY KEY (entity_id, received_at, id);
ALTER TABLE ONLY public.internal_errors
    ADD CONSTRAINT internal_errors_entity_id_kind_job_step_key UNIQUE NULLS NOT DISTINCT (entity_id, kind, job, step);
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_identifier_key UNIQUE (identifier);
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.key_lookups
    ADD CONSTRAINT key_lookups_pkey PRIMARY KEY (lookup);
ALTER TABLE ONLY public.label_targets
    ADD CONSTRAINT label_targets_pkey PRIMARY KEY (entity_id, label_id, target_kind, target_id);
ALTER TABLE ONLY public.labels
    ADD CONSTRAINT labels_entity_id_name_key UNIQUE (entity_id, name);
ALTER TABLE ONLY public.labels
    ADD CONSTRAINT labels_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.live_calls
    ADD CONSTRAINT live_calls_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.locations
    ADD CONSTRAINT locations_pkey PRIMARY KEY (entity_id, app_id, happened_at, id);
ALTER TABLE ONLY public.locations_2026_11
    ADD CONSTRAINT locations_2026_11_pkey PRIMARY KEY (entity_id, app_id, happened_at, id);
ALTER TABLE ONLY public.login_attempts
    ADD CONSTRAINT login_attempts_pkey PRIMARY KEY (subject);
ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT memberships_pkey PRIMARY KEY (user_id, entity_id);
ALTER TABLE ONLY public.notify_mails
    ADD CONSTRAINT notify_mails_pkey PRIMARY KEY (entity_id);
ALTER TABLE ONLY public.operator_notices
    ADD CONSTRAINT operator_notices_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.outcome_deliveries
    ADD CONSTRAINT outcome_deliveries_pkey PRIMARY KEY (entity_id, app_id);
ALTER TABLE ONLY public.password_resets
    ADD CONSTRAINT password_resets_identifier_key UNIQUE (identifier);
ALTER TABLE ONLY public.password_resets
    ADD CONSTRAINT password_resets_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.provider_refusals
    ADD CONSTRAINT provider_refusals_pkey PRIMARY KEY (entity_id, app_id);
ALTER TABLE ONLY public.push_certificates
    ADD CONSTRAINT push_certificates_entity_id_app_id_fingerprint_key UNIQUE (entity_id, app_id, fingerprint);
ALTER TABLE ONLY public.push_certificates
    ADD CONSTRAINT push_certificates_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.push_certificates
    ADD CONSTRAINT push_certificates_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.push_providers
    ADD CONSTRAINT push_providers_pkey PRIMARY KEY (entity_id, app_id, platform);
ALTER TABLE ONLY public.refused_calls
    ADD CONSTRAINT refused_calls_pkey PRIMARY KEY (entity_id, received_at, id);
ALTER TABLE ONLY public.report_rollups
    ADD CONSTRAINT report_rollups_pkey PRIMARY KEY (entity_id);
ALTER TABLE ONLY public.run_alerts
    ADD CONSTRAINT run_alerts_entity_id_sync_run_id_export_run_id_connection_i_key UNIQUE NULLS NOT DISTINCT (entity_id, sync_run_id, export_run_id, connection_id);
ALTER TABLE ONLY public.run_alerts
    ADD CONSTRAINT run_alerts_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (file);
ALTER TABLE ONLY public.segment_members
    ADD CONSTRAINT segment_members_pkey PRIMARY KEY (entity_id, segment_id, person);
ALTER TABLE ONLY public.segment_uses
    ADD CONSTRAINT segment_uses_pkey PRIMARY KEY (entity_id, segment_id, used_segment_id);
ALTER TABLE ONLY public.segments
    ADD CONSTRAINT segments_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.segments
    ADD CONSTRAINT segments_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.send_campaigns
    ADD CONSTRAINT send_campaigns_pkey PRIMARY KEY (entity_id, send_id, ordinal);
ALTER TABLE ONLY public.send_messages
    ADD CONSTRAINT send_messages_pkey PRIMARY KEY (entity_id, send_id, ordinal);
ALTER TABLE ONLY public.send_paces
    ADD CONSTRAINT send_paces_pkey PRIMARY KEY (entity_id, app_id);
ALTER TABLE ONLY public.sends
    ADD CONSTRAINT sends_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.sends
    ADD CONSTRAINT sends_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.server_keys
    ADD CONSTRAINT server_keys_pkey PRIMARY KEY (name, id);
ALTER TABLE ONLY public.service_tokens
    ADD CONSTRAINT service_tokens_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.service_tokens
    ADD CONSTRAINT service_tokens_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.service_tokens
    ADD CONSTRAINT service_tokens_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.session_heads
    ADD CONSTRAINT session_heads_pkey PRIMARY KEY (entity_id, app_id, subject);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (entity_id, app_id, started_at, id);
ALTER TABLE ONLY public.sessions_2026_11
    ADD CONSTRAINT sessions_2026_11_pkey PRIMARY KEY (entity_id, app_id, started_at, id);
ALTER TABLE ONLY public.sor_api_keys
    ADD CONSTRAINT sor_api_keys_pkey PRIMARY KEY (entity_id, sor_id, lookup);
ALTER TABLE ONLY public.step_attempts
    ADD CONSTRAINT step_attempts_pkey PRIMARY KEY (entity_id, kind, job, activity);
ALTER TABLE ONLY public.sync_batches
    ADD CONSTRAINT sync_batches_pkey PRIMARY KEY (entity_id, run_id);
ALTER TABLE ONLY public.sync_log
    ADD CONSTRAINT sync_log_pkey PRIMARY KEY (entity_id, run_id, id);
ALTER TABLE ONLY public.sync_pinned_batches
    ADD CONSTRAINT sync_pinned_batches_pkey PRIMARY KEY (entity_id, run_id, number);
ALTER TABLE ONLY public.sync_records
    ADD CONSTRAINT sync_records_pkey PRIMARY KEY (entity_id, sync_id, key);
ALTER TABLE ONLY public.sync_runs
    ADD CONSTRAINT sync_runs_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.sync_runs
    ADD CONSTRAINT sync_runs_entity_id_sync_id_scheduled_for_key UNIQUE (entity_id, sync_id, scheduled_for);
ALTER TABLE ONLY public.sync_runs
    ADD CONSTRAINT sync_runs_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.syncs
    ADD CONSTRAINT syncs_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.syncs
    ADD CONSTRAINT syncs_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.systems_of_records
    ADD CONSTRAINT systems_of_records_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.systems_of_records
    ADD CONSTRAINT systems_of_records_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (token_hash);
ALTER TABLE ONLY public.tombstone_batches
    ADD CONSTRAINT tombstone_batches_pkey PRIMARY KEY (entity_id, key);
ALTER TABLE ONLY public.tombstones
    ADD CONSTRAINT tombstones_pkey PRIMARY KEY (entity_id, customer_hash);
ALTER TABLE ONLY public.tracked_counts
    ADD CONSTRAINT tracked_counts_pkey PRIMARY KEY (entity_id, app_id, day, id);
ALTER TABLE ONLY public.unreadable_mails
    ADD CONSTRAINT unreadable_mails_pkey PRIMARY KEY (file);
ALTER TABLE ONLY public.user_aliases
    ADD CONSTRAINT user_aliases_pkey PRIMARY KEY (entity_id, previous_id, user_id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_uid_key UNIQUE (uid);
ALTER TABLE ONLY public.wallet_elements
    ADD CONSTRAINT wallet_elements_entity_id_recipient_id_technical_name_key UNIQUE (entity_id, recipient_id, technical_name);
ALTER TABLE ONLY public.wallet_elements
    ADD CONSTRAINT wallet_elements_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.wallet_purpose_elements
    ADD CONSTRAINT wallet_purpose_elements_pkey PRIMARY KEY (entity_id, purpose_id, "position");
ALTER TABLE ONLY public.wallet_recipients
    ADD CONSTRAINT wallet_recipients_entity_id_app_id_technical_name_key UNIQUE (entity_id, app_id, technical_name);
ALTER TABLE ONLY public.wallet_recipients
    ADD CONSTRAINT wallet_recipients_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.wallet_recipients
    ADD CONSTRAINT wallet_recipients_pkey PRIMARY KEY (entity_id, id);
ALTER TABLE ONLY public.wallet_settings
    ADD CONSTRAINT wallet_settings_pkey PRIMARY KEY (entity_id, app_id);
ALTER TABLE ONLY public.wallet_texts
    ADD CONSTRAINT wallet_texts_entity_id_app_id_kind_technical_name_key UNIQUE (entity_id, app_id, kind, technical_name);
ALTER TABLE ONLY public.wallet_texts
    ADD CONSTRAINT wallet_texts_entity_id_identifier_key UNIQUE (entity_id, identifier);
ALTER TABLE ONLY public.wallet_texts
    ADD CONSTRAINT wallet_texts_pkey PRIMARY KEY (entity_id, id);
CREATE INDEX app_api_keys_by_value ON public.app_api_keys USING btree (entity_id, lookup);
CREATE INDEX app_group_members_by_app ON public.app_group_members USING btree (entity_id, app_id);
CREATE INDEX app_token_keys_by_app ON public.app_token_keys USING btree (entity_id, app_id);
CREATE INDEX apps_by_parent ON public.apps USING btree (entity_id, parent_id) WHERE (parent_id IS NOT NULL);
CREATE INDEX attempts_by_device ON public.attempts USING btree (entity_id, device_id, id) WHERE (device_id IS NOT NULL);
CREATE INDEX attempts_by_inapp_end ON public.attempts USING btree (entity_id, campaign_id, inapp_until) WHERE ((inapp_until IS NOT NULL) AND (content IS NOT NULL));
CREATE INDEX attempts_by_send ON public.attempts USING btree (entity_id, send_id, message_ordinal) WHERE (send_id IS NOT NULL);
CREATE INDEX attempts_by_user ON public.attempts USING btree (entity_id, user_id, id) WHERE (user_id IS NOT NULL);
CREATE INDEX attempts_changed ON public.attempts USING brin (changed_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX attempts_created ON public.attempts USING brin (created_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX attempts_open ON public.attempts USING btree (entity_id, send_id, due_at) WHERE (state <> 'settled'::text);
CREATE INDEX attempts_settled ON public.attempts USING brin (settled_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX attribute_change_log_pending ON public.attribute_change_log USING btree (entity_id, id) WHERE pending;
CREATE INDEX audit_log_by_customer ON public.audit_log USING btree (entity_id, customer_hash, happened_at, id) WHERE (customer_hash IS NOT NULL);
CREATE INDEX audit_log_by_time ON public.audit_log USING btree (entity_id, happened_at, id);
CREATE INDEX campaign_members_by_person ON public.campaign_members USING btree (entity_id, person);
CREATE INDEX campaign_people_by_person ON public.campaign_people USING btree (entity_id, person);
CREATE UNIQUE INDEX campaigns_by_api_identifier ON public.campaigns USING btree (entity_id, api_identifier) WHERE (api_identifier IS NOT NULL);
CREATE INDEX campaigns_by_app ON public.campaigns USING btree (entity_id, app_id);
CREATE INDEX campaigns_ending ON public.campaigns USING btree (entity_id, id) WHERE ((status = ANY (ARRAY['canceled'::text, 'failed'::text])) AND (ended_at IS NULL));
CREATE INDEX campaigns_failed ON public.campaigns USING btree (entity_id, ended_at) WHERE (status = 'failed'::text);
CREATE INDEX campaigns_of_tests ON public.campaigns USING btree (entity_id, id) WHERE (test_of IS NOT NULL);
CREATE INDEX connections_by_creator ON public.connections USING btree (created_by);
CREATE UNIQUE INDEX connections_by_name ON public.connections USING btree (entity_id, name) WHERE (deleted_at IS NULL);
CREATE INDEX control_group_days_due ON public.control_group_days USING btree (entity_id, due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX crashes_by_occurrences ON public.crashes USING btree (entity_id, app_id, occurrences, id);
CREATE UNIQUE INDEX customer_attributes_by_key ON public.customer_attributes USING btree (entity_id, sor_id, key) WHERE (deleted_at IS NULL);
CREATE INDEX customers_by_fold ON public.customers USING btree (((((entity_id)::text || ' '::text) || "left"(NORMALIZE(lower((customer_id COLLATE pg_catalog.pg_c_utf8)), NFC), 256))));
CREATE INDEX data_exporters_by_creator ON public.data_exporters USING btree (created_by);
CREATE INDEX deleted_attributes ON public.customer_attributes USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX deleted_sors ON public.systems_of_records USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX device_users_by_fold ON public.device_users USING btree (((((entity_id)::text || ' '::text) || "left"(NORMALIZE(lower((user_id COLLATE pg_catalog.pg_c_utf8)), NFC), 256))));
CREATE INDEX device_users_by_user ON public.device_users USING btree (entity_id, user_id);
CREATE INDEX devices_by_push_token ON public.devices USING btree (entity_id, app_id, hashtextextended(push_token, (0)::bigint)) WHERE (push_token IS NOT NULL);
CREATE INDEX devices_by_user ON public.devices USING btree (entity_id, last_user_id) WHERE (last_user_id IS NOT NULL);
CREATE INDEX devices_by_verified_user ON public.devices USING btree (entity_id, app_id, verified_user_id) WHERE (verified_user_id IS NOT NULL);
CREATE INDEX devices_first_seen ON public.devices USING btree (entity_id, app_id, first_seen_at);
CREATE INDEX devices_received ON public.devices USING brin (received_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX event_messages_by_age ON public.event_messages USING btree (received_at);
CREATE INDEX events_by_crash ON ONLY public.events USING btree (entity_id, app_id, crash_id, happened_at) WHERE (crash_id IS NOT NULL);
CREATE INDEX events_2026_11_entity_id_app_id_crash_id_happened_at_idx ON public.events_2026_11 USING btree (entity_id, app_id, crash_id, happened_at) WHERE (crash_id IS NOT NULL);
CREATE INDEX events_by_device ON ONLY public.events USING btree (entity_id, device_id, happened_at) WHERE (device_id IS NOT NULL);
CREATE INDEX events_2026_11_entity_id_device_id_happened_at_idx ON public.events_2026_11 USING btree (entity_id, device_id, happened_at) WHERE (device_id IS NOT NULL);
CREATE INDEX events_by_user ON ONLY public.events USING btree (entity_id, user_id, happened_at) WHERE (user_id IS NOT NULL);
CREATE INDEX events_2026_11_entity_id_user_id_happened_at_idx ON public.events_2026_11 USING btree (entity_id, user_id, happened_at) WHERE (user_id IS NOT NULL);
CREATE INDEX events_received ON ONLY public.events USING brin (received_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX events_2026_11_received_at_idx ON public.events_2026_11 USING brin (received_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX export_runs_by_window ON public.export_runs USING btree (entity_id, exporter_id, window_end) WHERE (state = 'finished'::text);
CREATE INDEX export_runs_of_exporter ON public.export_runs USING btree (entity_id, exporter_id, id);
CREATE INDEX export_runs_to_clean ON public.export_runs USING btree (entity_id, exporter_id) WHERE ((attempt > 0) AND (NOT is_cleaned));
CREATE INDEX export_runs_under_way ON public.export_runs USING btree (received_at) WHERE (state = ANY (ARRAY['accepted'::text, 'running'::text]));
CREATE INDEX feed_inbox ON public.feed_requests USING btree (entity_id, id) INCLUDE (body_bytes, values_in, received_at) WHERE (done_at IS NULL);
CREATE INDEX feed_requests_by_age ON public.feed_requests USING btree (done_at) WHERE (done_at IS NOT NULL);
CREATE INDEX file_jobs_by_age ON public.file_jobs USING btree (first_ended_at);
CREATE INDEX file_jobs_by_request ON public.file_jobs USING btree (entity_id, asked_hash, id);
CREATE INDEX file_jobs_failed ON public.file_jobs USING btree (entity_id, ended_at) WHERE (state = 'failed'::text);
CREATE INDEX file_jobs_that_follow ON public.file_jobs USING btree (entity_id, follows) WHERE (follows IS NOT NULL);
CREATE UNIQUE INDEX file_jobs_under_way ON public.file_jobs USING btree (entity_id, asked_hash) WHERE (state = ANY (ARRAY['accepted'::text, 'running'::text]));
CREATE INDEX file_jobs_waiting ON public.file_jobs USING btree (received_at) WHERE (state = ANY (ARRAY['accepted'::text, 'running'::text]));
CREATE UNIQUE INDEX file_store_one ON public.file_store USING btree ((true));
CREATE INDEX gdpr_identifiers_by_via ON public.gdpr_identifiers USING btree (entity_id, via) WHERE (via IS NOT NULL);
CREATE INDEX gdpr_identifiers_of_person ON public.gdpr_identifiers USING btree (entity_id, request_id, ordinal);
CREATE INDEX gdpr_left_identifiers_by_value ON public.gdpr_left_identifiers USING btree (entity_id, value);
CREATE INDEX gdpr_left_identifiers_by_via ON public.gdpr_left_identifiers USING btree (entity_id, via) WHERE (via IS NOT NULL);
CREATE INDEX gdpr_mails_by_digest ON public.gdpr_mails USING btree (entity_id, digest_id) WHERE (digest_id IS NOT NULL);
CREATE INDEX gdpr_people_by_device ON public.gdpr_request_people USING btree (entity_id, device_id) WHERE (device_id IS NOT NULL);
CREATE INDEX gdpr_people_by_user ON public.gdpr_request_people USING btree (entity_id, user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX gdpr_receipts_by_subject ON public.gdpr_receipts USING gin (subjects);
CREATE INDEX gdpr_request_people_archives ON public.gdpr_request_people USING btree (entity_id) WHERE (archive_key IS NOT NULL);
CREATE INDEX gdpr_requests_by_expiry ON public.gdpr_requests USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX gdpr_requests_by_identifier ON public.gdpr_requests USING btree (identifier);
CREATE INDEX gdpr_requests_by_time ON public.gdpr_requests USING btree (entity_id, received_at);
CREATE INDEX gdpr_requests_by_update ON public.gdpr_requests USING btree (entity_id, updated_at);
CREATE INDEX gdpr_requests_open_from_devices ON public.gdpr_requests USING btree (entity_id, app_id) WHERE ((source = 'sdk'::text) AND (state = ANY (ARRAY['waiting'::text, 'accepted'::text, 'running'::text])));
CREATE INDEX gdpr_requests_to_work_off ON public.gdpr_requests USING btree (entity_id, id) WHERE (state = ANY (ARRAY['accepted'::text, 'running'::text]));
CREATE INDEX gdpr_requests_under_way ON public.gdpr_requests USING btree (received_at) WHERE (state = ANY (ARRAY['waiting'::text, 'accepted'::text, 'running'::text]));
CREATE INDEX gdpr_requests_unvouched ON public.gdpr_requests USING btree (entity_id, app_id, received_at) WHERE is_unvouched;
CREATE INDEX idempotent_requests_by_age ON public.idempotent_requests USING btree (received_at);
CREATE INDEX import_errors_by_original_line ON public.import_errors USING btree (entity_id, original_line, import_id) WHERE (original_line IS NOT NULL);
CREATE INDEX import_errors_settled ON public.import_errors USING btree (entity_id, import_id) WHERE ((redriven_by IS NOT NULL) OR is_erased);
CREATE INDEX imports_by_age ON public.imports USING btree (received_at);
CREATE INDEX imports_by_parent ON public.imports USING btree (entity_id, parent_id) WHERE (parent_id IS NOT NULL);
CREATE INDEX imports_by_sor ON public.imports USING btree (entity_id, sor_id, received_at);
CREATE INDEX imports_failed ON public.imports USING btree (entity_id, ended_at) WHERE (state = 'failed'::text);
CREATE INDEX imports_kept ON public.imports USING btree (entity_id) INCLUDE (sor_id, file_bytes, ended_at) WHERE ((file_key IS NOT NULL) AND (file_erased_at IS NULL) AND (state = ANY (ARRAY['accepted'::text, 'running'::text, 'finished'::text])));
CREATE INDEX imports_under_way ON public.imports USING btree (received_at) WHERE (state = ANY (ARRAY['accepted'::text, 'running'::text]));
CREATE INDEX internal_errors_by_age ON public.internal_errors USING btree (last_at);
CREATE UNIQUE INDEX invitations_by_email ON public.invitations USING btree (entity_id, lower(email));
CREATE INDEX invitations_by_expiry ON public.invitations USING btree (expires_at);
CREATE UNIQUE INDEX invitations_by_token ON public.invitations USING btree (token_hash);
CREATE INDEX key_lookups_by_owner ON public.key_lookups USING btree (entity_id, kind, owner_id);
CREATE INDEX label_targets_by_target ON public.label_targets USING btree (entity_id, target_kind, target_id);
CREATE INDEX live_calls_by_age ON public.live_calls USING btree (received_at);
CREATE INDEX live_calls_of_app ON public.live_calls USING btree (entity_id, app_id, id);
CREATE INDEX locations_by_device ON ONLY public.locations USING btree (entity_id, device_id, happened_at) WHERE (device_id IS NOT NULL);
CREATE INDEX locations_2026_11_entity_id_device_id_happened_at_idx ON public.locations_2026_11 USING btree (entity_id, device_id, happened_at) WHERE (device_id IS NOT NULL);
CREATE INDEX locations_by_user ON ONLY public.locations USING btree (entity_id, user_id, happened_at) WHERE (user_id IS NOT NULL);
CREATE INDEX locations_2026_11_entity_id_user_id_happened_at_idx ON public.locations_2026_11 USING btree (entity_id, user_id, happened_at) WHERE (user_id IS NOT NULL);
CREATE INDEX locations_received ON ONLY public.locations USING brin (received_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX locations_2026_11_received_at_idx ON public.locations_2026_11 USING brin (received_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX memberships_by_entity ON public.memberships USING btree (entity_id);
CREATE UNIQUE INDEX one_global_sor ON public.systems_of_records USING btree (entity_id) WHERE (type = 'global'::text);
CREATE UNIQUE INDEX one_running_export ON public.export_runs USING btree (entity_id, exporter_id) WHERE (state = 'running'::text);
CREATE UNIQUE INDEX one_running_sync_run ON public.sync_runs USING btree (entity_id, sync_id) WHERE ((state = 'running'::text) AND (NOT dry_run));
CREATE UNIQUE INDEX one_sor_of_an_app ON public.systems_of_records USING btree (entity_id, app_id) WHERE ((app_id IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX password_resets_by_expiry ON public.password_resets USING btree (expires_at);
CREATE UNIQUE INDEX password_resets_by_token ON public.password_resets USING btree (token_hash);
CREATE INDEX password_resets_by_user ON public.password_resets USING btree (user_id);
CREATE UNIQUE INDEX refused_calls_by_message ON public.refused_calls USING btree (entity_id, app_id, message_hash) NULLS NOT DISTINCT WHERE (message_hash IS NOT NULL);
CREATE INDEX run_alerts_by_connection ON public.run_alerts USING btree (entity_id, connection_id);
CREATE INDEX run_alerts_by_export_run ON public.run_alerts USING btree (entity_id, export_run_id) WHERE (export_run_id IS NOT NULL);
CREATE INDEX segment_members_by_person ON public.segment_members USING btree (entity_id, person);
CREATE INDEX segment_uses_by_used ON public.segment_uses USING btree (entity_id, used_segment_id);
CREATE INDEX segments_to_refresh ON public.segments USING btree (refresh_wanted_at);
CREATE INDEX send_campaigns_by_campaign ON public.send_campaigns USING btree (entity_id, campaign_id, send_id);
CREATE INDEX send_messages_by_user ON public.send_messages USING btree (entity_id, user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX sends_by_age ON public.sends USING btree (received_at);
CREATE UNIQUE INDEX sends_by_campaign ON public.sends USING btree (entity_id, campaign_id) WHERE (campaign_id IS NOT NULL);
CREATE UNIQUE INDEX sends_by_request_key ON public.sends USING btree (entity_id, request_key) WHERE (request_key IS NOT NULL);
CREATE INDEX sends_waiting ON public.sends USING btree (received_at) WHERE (state = ANY (ARRAY['accepted'::text, 'running'::text]));
CREATE INDEX service_tokens_by_creator ON public.service_tokens USING btree (created_by);
CREATE INDEX sessions_by_subject ON ONLY public.sessions USING btree (entity_id, subject, app_id, started_at);
CREATE INDEX sessions_2026_11_entity_id_subject_app_id_started_at_idx ON public.sessions_2026_11 USING btree (entity_id, subject, app_id, started_at);
CREATE INDEX sessions_by_user ON ONLY public.sessions USING btree (entity_id, user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX sessions_2026_11_entity_id_user_id_idx ON public.sessions_2026_11 USING btree (entity_id, user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX sessions_received ON ONLY public.sessions USING brin (received_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX sessions_2026_11_received_at_idx ON public.sessions_2026_11 USING brin (received_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX step_attempts_by_age ON public.step_attempts USING btree (begun_at);
CREATE INDEX sync_records_by_customer ON public.sync_records USING btree (entity_id, customer_id) WHERE (customer_id IS NOT NULL);
CREATE INDEX sync_runs_by_age ON public.sync_runs USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX sync_runs_by_root ON public.sync_runs USING btree (entity_id, root_id) WHERE (root_id IS NOT NULL);
CREATE INDEX sync_runs_canceled ON public.sync_runs USING btree (canceled_at) WHERE ((state = 'canceled'::text) AND (ended_at IS NULL));
CREATE INDEX sync_runs_of_sync ON public.sync_runs USING btree (entity_id, sync_id, id);
CREATE INDEX sync_runs_under_way ON public.sync_runs USING btree (received_at) WHERE (state = ANY (ARRAY['accepted'::text, 'running'::text]));
CREATE INDEX syncs_by_creator ON public.syncs USING btree (created_by);
CREATE UNIQUE INDEX syncs_by_name ON public.syncs USING btree (entity_id, name) WHERE (deleted_at IS NULL);
CREATE INDEX syncs_scheduled ON public.syncs USING btree (scheduled_until) WHERE ((schedule IS NOT NULL) AND (paused_at IS NULL) AND (deleted_at IS NULL));
CREATE INDEX tokens_by_expiry ON public.tokens USING btree (expires_at);
CREATE INDEX tokens_by_member ON public.tokens USING btree (user_id, entity_id);
CREATE INDEX tombstone_batches_to_search ON public.tombstone_batches USING btree (entity_id) WHERE search_pending;
CREATE INDEX tracked_counts_to_fold ON public.tracked_counts USING btree (id) WHERE (id > 0);
CREATE INDEX user_aliases_by_device ON public.user_aliases USING btree (entity_id, device_id) WHERE (device_id IS NOT NULL);
CREATE INDEX user_aliases_by_user ON public.user_aliases USING btree (entity_id, user_id);
CREATE UNIQUE INDEX users_by_email ON public.users USING btree (lower(email));
CREATE INDEX users_by_prefered_entity ON public.users USING btree (prefered_entity_id);
CREATE INDEX wallet_elements_by_category ON public.wallet_elements USING btree (entity_id, category_id) WHERE (category_id IS NOT NULL);
CREATE INDEX wallet_purpose_elements_by_element ON public.wallet_purpose_elements USING btree (entity_id, element_id) WHERE (element_id IS NOT NULL);
ALTER INDEX public.events_by_crash ATTACH PARTITION public.events_2026_11_entity_id_app_id_crash_id_happened_at_idx;
ALTER INDEX public.events_by_device ATTACH PARTITION public.events_2026_11_entity_id_device_id_happened_at_idx;
ALTER INDEX public.events_by_user ATTACH PARTITION public.events_2026_11_entity_id_user_id_happened_at_idx;
ALTER INDEX public.events_pkey ATTACH PARTITION public.events_2026_11_pkey;
ALTER INDEX public.events_received ATTACH PARTITION public.events_2026_11_received_at_idx;
ALTER INDEX public.locations_by_device ATTACH PARTITION public.locations_2026_11_entity_id_device_id_happened_at_idx;
ALTER INDEX public.locations_by_user ATTACH PARTITION public.locations_2026_11_entity_id_user_id_happened_at_idx;
ALTER INDEX public.locations_pkey ATTACH PARTITION public.locations_2026_11_pkey;
ALTER INDEX public.locations_received ATTACH PARTITION public.locations_2026_11_received_at_idx;
ALTER INDEX public.sessions_by_subject ATTACH PARTITION public.sessions_2026_11_entity_id_subject_app_id_started_at_idx;
ALTER INDEX public.sessions_by_user ATTACH PARTITION public.sessions_2026_11_entity_id_user_id_idx;
ALTER INDEX public.sessions_pkey ATTACH PARTITION public.sessions_2026_11_pkey;
ALTER INDEX public.sessions_received ATTACH PARTITION public.sessions_2026_11_received_at_idx;
CREATE TRIGGER audit_log_is_append_only BEFORE DELETE OR UPDATE ON public.audit_log FOR EACH ROW EXECUTE FUNCTION public.refuse_audit_change();
CREATE TRIGGER audit_log_is_not_truncated BEFORE TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_audit_change();
CREATE CONSTRAINT TRIGGER change_log_entry_is_dated AFTER INSERT ON public.attribute_change_log DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.date_change_log_entry();
CREATE TRIGGER gdpr_receipts_are_append_only BEFORE DELETE OR UPDATE ON public.gdpr_receipts FOR EACH ROW EXECUTE FUNCTION public.refuse_receipt_change();
CREATE TRIGGER gdpr_receipts_are_not_truncated BEFORE TRUNCATE ON public.gdpr_receipts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_receipt_change();
ALTER TABLE ONLY public.app_api_keys
    ADD CONSTRAINT app_api_keys_entity_id_app_id_fkey FOREIGN KEY (entity_id, app_id) REFERENCES public.apps(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.app_api_keys
    ADD CONSTRAINT app_api_keys_lookup_fkey FOREIGN KEY (lookup) REFERENCES public.key_lookups(lookup);
ALTER TABLE ONLY public.app_group_members
    ADD CONSTRAINT app_group_members_entity_id_app_id_fkey FOREIGN KEY (entity_id, app_id) REFERENCES public.apps(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.app_group_members
    ADD CONSTRAINT app_group_members_entity_id_group_id_fkey FOREIGN KEY (entity_id, group_id) REFERENCES public.app_groups(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.app_groups
    ADD CONSTRAINT app_groups_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.app_token_keys
    ADD CONSTRAINT app_token_keys_entity_id_app_id_fkey FOREIGN KEY (entity_id, app_id) REFERENCES public.apps(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_entity_id_parent_id_fkey FOREIGN KEY (entity_id, parent_id) REFERENCES public.apps(entity_id, id);
ALTER TABLE ONLY public.campaign_days
    ADD CONSTRAINT campaign_days_entity_id_campaign_id_fkey FOREIGN KEY (entity_id, campaign_id) REFERENCES public.campaigns(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.campaign_people
    ADD CONSTRAINT campaign_people_entity_id_campaign_id_fkey FOREIGN KEY (entity_id, campaign_id) REFERENCES public.campaigns(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT campaigns_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT campaigns_entity_id_app_id_fkey FOREIGN KEY (entity_id, app_id) REFERENCES public.apps(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT campaigns_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.connections
    ADD CONSTRAINT connections_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.connections
    ADD CONSTRAINT connections_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.control_group_days
    ADD CONSTRAINT control_group_days_entity_id_campaign_id_fkey FOREIGN KEY (entity_id, campaign_id) REFERENCES public.campaigns(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.customer_attributes
    ADD CONSTRAINT customer_attributes_entity_id_sor_id_fkey FOREIGN KEY (entity_id, sor_id) REFERENCES public.systems_of_records(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.data_exporters
    ADD CONSTRAINT data_exporters_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.data_exporters
    ADD CONSTRAINT data_exporters_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.dry_run_ids
    ADD CONSTRAINT dry_run_ids_entity_id_import_id_fkey FOREIGN KEY (entity_id, import_id) REFERENCES public.imports(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.dry_run_sets
    ADD CONSTRAINT dry_run_sets_entity_id_import_id_fkey FOREIGN KEY (entity_id, import_id) REFERENCES public.imports(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.event_definitions
    ADD CONSTRAINT event_definitions_entity_id_app_id_fkey FOREIGN KEY (entity_id, app_id) REFERENCES public.apps(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.export_deletions
    ADD CONSTRAINT export_deletions_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.export_files
    ADD CONSTRAINT export_files_entity_id_run_id_fkey FOREIGN KEY (entity_id, run_id) REFERENCES public.export_runs(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.export_records
    ADD CONSTRAINT export_records_entity_id_run_id_fkey FOREIGN KEY (entity_id, run_id) REFERENCES public.export_runs(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.export_runs
    ADD CONSTRAINT export_runs_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.feed_requests
    ADD CONSTRAINT feed_requests_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.feed_waits
    ADD CONSTRAINT feed_waits_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.file_deletions
    ADD CONSTRAINT file_deletions_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.file_jobs
    ADD CONSTRAINT file_jobs_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.file_jobs
    ADD CONSTRAINT file_jobs_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.file_jobs
    ADD CONSTRAINT file_jobs_entity_id_follows_fkey FOREIGN KEY (entity_id, follows) REFERENCES public.file_jobs(entity_id, id) ON DELETE SET NULL (follows);
ALTER TABLE ONLY public.funnels
    ADD CONSTRAINT funnels_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.funnels
    ADD CONSTRAINT funnels_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.gdpr_holds
    ADD CONSTRAINT gdpr_holds_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.gdpr_identifiers
    ADD CONSTRAINT gdpr_identifiers_entity_id_request_id_fkey FOREIGN KEY (entity_id, request_id) REFERENCES public.gdpr_requests(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.gdpr_left_identifiers
    ADD CONSTRAINT gdpr_left_identifiers_entity_id_request_id_fkey FOREIGN KEY (entity_id, request_id) REFERENCES public.gdpr_requests(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.gdpr_mails
    ADD CONSTRAINT gdpr_mails_entity_id_digest_id_fkey FOREIGN KEY (entity_id, digest_id) REFERENCES public.gdpr_mails(entity_id, id) ON DELETE SET NULL (digest_id);
ALTER TABLE ONLY public.gdpr_mails
    ADD CONSTRAINT gdpr_mails_entity_id_request_id_fkey FOREIGN KEY (entity_id, request_id) REFERENCES public.gdpr_requests(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.gdpr_request_people
    ADD CONSTRAINT gdpr_request_people_entity_id_request_id_fkey FOREIGN KEY (entity_id, request_id) REFERENCES public.gdpr_requests(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.gdpr_requests
    ADD CONSTRAINT gdpr_requests_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.idempotent_requests
    ADD CONSTRAINT idempotent_requests_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.import_lanes
    ADD CONSTRAINT import_lanes_entity_id_import_id_fkey FOREIGN KEY (entity_id, import_id) REFERENCES public.imports(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.imports
    ADD CONSTRAINT imports_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.internal_errors
    ADD CONSTRAINT internal_errors_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.key_lookups
    ADD CONSTRAINT key_lookups_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.label_targets
    ADD CONSTRAINT label_targets_entity_id_label_id_fkey FOREIGN KEY (entity_id, label_id) REFERENCES public.labels(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.labels
    ADD CONSTRAINT labels_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.live_calls
    ADD CONSTRAINT live_calls_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT memberships_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.notify_mails
    ADD CONSTRAINT notify_mails_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.outcome_deliveries
    ADD CONSTRAINT outcome_deliveries_entity_id_app_id_fkey FOREIGN KEY (entity_id, app_id) REFERENCES public.apps(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.password_resets
    ADD CONSTRAINT password_resets_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.provider_refusals
    ADD CONSTRAINT provider_refusals_entity_id_app_id_fkey FOREIGN KEY (entity_id, app_id) REFERENCES public.apps(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.push_certificates
    ADD CONSTRAINT push_certificates_entity_id_app_id_fkey FOREIGN KEY (entity_id, app_id) REFERENCES public.apps(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.push_providers
    ADD CONSTRAINT push_providers_entity_id_app_id_fkey FOREIGN KEY (entity_id, app_id) REFERENCES public.apps(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.report_rollups
    ADD CONSTRAINT report_rollups_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.run_alerts
    ADD CONSTRAINT run_alerts_entity_id_connection_id_fkey FOREIGN KEY (entity_id, connection_id) REFERENCES public.connections(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.run_alerts
    ADD CONSTRAINT run_alerts_entity_id_export_run_id_fkey FOREIGN KEY (entity_id, export_run_id) REFERENCES public.export_runs(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.run_alerts
    ADD CONSTRAINT run_alerts_entity_id_sync_run_id_fkey FOREIGN KEY (entity_id, sync_run_id) REFERENCES public.sync_runs(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.segment_uses
    ADD CONSTRAINT segment_uses_entity_id_segment_id_fkey FOREIGN KEY (entity_id, segment_id) REFERENCES public.segments(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.segment_uses
    ADD CONSTRAINT segment_uses_entity_id_used_segment_id_fkey FOREIGN KEY (entity_id, used_segment_id) REFERENCES public.segments(entity_id, id);
ALTER TABLE ONLY public.segments
    ADD CONSTRAINT segments_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.segments
    ADD CONSTRAINT segments_entity_id_app_id_fkey FOREIGN KEY (entity_id, app_id) REFERENCES public.apps(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.segments
    ADD CONSTRAINT segments_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.send_campaigns
    ADD CONSTRAINT send_campaigns_entity_id_campaign_id_fkey FOREIGN KEY (entity_id, campaign_id) REFERENCES public.campaigns(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.send_campaigns
    ADD CONSTRAINT send_campaigns_entity_id_send_id_fkey FOREIGN KEY (entity_id, send_id) REFERENCES public.sends(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.send_paces
    ADD CONSTRAINT send_paces_entity_id_app_id_fkey FOREIGN KEY (entity_id, app_id) REFERENCES public.apps(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sends
    ADD CONSTRAINT sends_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.sends
    ADD CONSTRAINT sends_entity_id_campaign_id_fkey FOREIGN KEY (entity_id, campaign_id) REFERENCES public.campaigns(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sends
    ADD CONSTRAINT sends_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.service_tokens
    ADD CONSTRAINT service_tokens_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.service_tokens
    ADD CONSTRAINT service_tokens_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sor_api_keys
    ADD CONSTRAINT sor_api_keys_entity_id_sor_id_fkey FOREIGN KEY (entity_id, sor_id) REFERENCES public.systems_of_records(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sor_api_keys
    ADD CONSTRAINT sor_api_keys_lookup_fkey FOREIGN KEY (lookup) REFERENCES public.key_lookups(lookup) ON DELETE CASCADE;
ALTER TABLE ONLY public.step_attempts
    ADD CONSTRAINT step_attempts_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sync_runs
    ADD CONSTRAINT sync_runs_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.syncs
    ADD CONSTRAINT syncs_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.syncs
    ADD CONSTRAINT syncs_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.systems_of_records
    ADD CONSTRAINT systems_of_records_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.systems_of_records
    ADD CONSTRAINT systems_of_records_entity_id_app_id_fkey FOREIGN KEY (entity_id, app_id) REFERENCES public.apps(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.systems_of_records
    ADD CONSTRAINT systems_of_records_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_user_id_entity_id_fkey FOREIGN KEY (user_id, entity_id) REFERENCES public.memberships(user_id, entity_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.tombstone_batches
    ADD CONSTRAINT tombstone_batches_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.tombstones
    ADD CONSTRAINT tombstones_entity_id_fkey FOREIGN KEY (entity_id) REFERENCES public.entities(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_prefered_entity_id_fkey FOREIGN KEY (prefered_entity_id) REFERENCES public.entities(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.wallet_elements
    ADD CONSTRAINT wallet_elements_entity_id_category_id_fkey FOREIGN KEY (entity_id, category_id) REFERENCES public.wallet_texts(entity_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.wallet_elements
    ADD CONSTRAINT wallet_elements_entity_id_recipient_id_fkey FOREIGN KEY (entity_id, recipient_id) REFERENCES public.wallet_recipients(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wallet_purpose_elements
    ADD CONSTRAINT wallet_purpose_elements_entity_id_element_id_fkey FOREIGN KEY (entity_id, element_id) REFERENCES public.wallet_elements(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wallet_purpose_elements
    ADD CONSTRAINT wallet_purpose_elements_entity_id_purpose_id_fkey FOREIGN KEY (entity_id, purpose_id) REFERENCES public.wallet_texts(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wallet_recipients
    ADD CONSTRAINT wallet_recipients_entity_id_app_id_fkey FOREIGN KEY (entity_id, app_id) REFERENCES public.apps(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wallet_settings
    ADD CONSTRAINT wallet_settings_entity_id_app_id_fkey FOREIGN KEY (entity_id, app_id) REFERENCES public.apps(entity_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.wallet_texts
    ADD CONSTRAINT wallet_texts_entity_id_app_id_fkey FOREIGN KEY (entity_id, app_id) REFERENCES public.apps(entity_id, id) ON DELETE CASCADE;
