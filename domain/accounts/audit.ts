/** What the audit log tells of: who did it, what, and to what. */

export const ACTOR_KINDS = ['user', 'service_token', 'sor_key', 'system'] as const;

export const AUDIT_ACTIONS = [
  'create', 'read', 'update', 'delete', 'import', 'feed', 'login', 'logout', 'check', 'discover',
  'approve', 'decline', 'erase', 'readmit', 'accept', 'export',
] as const;

export const SUBJECT_KINDS = [
  'session', 'system_of_record', 'customer_attribute', 'customer', 'import', 'feed_request', 'user', 'service_token', 'entity', 'audit_log',
  'connection', 'sync', 'sync_run', 'app', 'app_group', 'api_key', 'user_token_key', 'push_certificate', 'push_provider', 'label',
  'event_definition',
  'data_wallet', 'legal_text', 'data_category', 'recipient', 'purpose', 'data_exporter', 'export_run',
  'gdpr_request', 'gdpr_hold', 'gdpr_receipt', 'invitation', 'password_reset', 'crash', 'segment', 'funnel', 'file', 'campaign', 'send',
] as const;

/** An action and the kind of its subject, such as `create label`. */
export type Audited = `${(typeof AUDIT_ACTIONS)[number]} ${(typeof SUBJECT_KINDS)[number]}`;
