import { archives } from './personal-data/archives.ts';
import { attributeChangeLog } from './personal-data/attribute-change-log.ts';
import { attributeValues } from './personal-data/attribute-values.ts';
import { auditLog } from './personal-data/audit-log.ts';
import { crashes } from './personal-data/crashes.ts';
import { customers } from './personal-data/customers.ts';
import { deviceUsers } from './personal-data/device-users.ts';
import { devices } from './personal-data/devices.ts';
import { dryRunSets } from './personal-data/dry-run-sets.ts';
import { events } from './personal-data/events.ts';
import { feedRequests } from './personal-data/feed-requests.ts';
import { gdprHolds } from './personal-data/gdpr-holds.ts';
import { gdprIdentifiers } from './personal-data/gdpr-identifiers.ts';
import { gdprLeftIdentifiers } from './personal-data/gdpr-left-identifiers.ts';
import { gdprReceipts } from './personal-data/gdpr-receipts.ts';
import { gdprRequestPeople } from './personal-data/gdpr-request-people.ts';
import { idempotentRequests } from './personal-data/idempotent-requests.ts';
import { importErrors } from './personal-data/import-errors.ts';
import { locations } from './personal-data/locations.ts';
import { outboxMails } from './personal-data/outbox.ts';
import { pinnedFiles } from './personal-data/pinned-files.ts';
import type { PersonalDataPlace } from './personal-data/place.ts';
import { refusedCalls } from './personal-data/refused-calls.ts';
import { sessionHeads } from './personal-data/session-heads.ts';
import { sessions } from './personal-data/sessions.ts';
import { syncBatches } from './personal-data/sync-batches.ts';
import { syncLog } from './personal-data/sync-log.ts';
import { syncPinnedBatches } from './personal-data/sync-pinned-batches.ts';
import { syncRecords } from './personal-data/sync-records.ts';
import { syncRuns } from './personal-data/sync-runs.ts';
import { syncs } from './personal-data/syncs.ts';
import { tombstoneBatches } from './personal-data/tombstone-batches.ts';
import { tombstones } from './personal-data/tombstones.ts';
import { userAliases } from './personal-data/user-aliases.ts';

/**
 * Every place that may hold something about a customer, in the order in which somebody is erased: the change log before
 * the customers, which are added from it, and batches before the records and errors that come of them; heads before the
 * sessions, and devices before who used them, by which they are found; archives before the rows that name their
 * files. A new table or file area joins here, or the list below.
 */
export const personalData: PersonalDataPlace[] = [
  attributeValues, attributeChangeLog, customers, dryRunSets, feedRequests, pinnedFiles, syncBatches, syncPinnedBatches, syncRecords,
  syncRuns, syncs, syncLog, importErrors, sessionHeads, sessions, events, locations, devices, deviceUsers, userAliases, crashes,
  refusedCalls, idempotentRequests, outboxMails, archives, gdprIdentifiers, gdprLeftIdentifiers, gdprRequestPeople, gdprHolds, auditLog,
  tombstones, tombstoneBatches, gdprReceipts,
];

/** Tables and file areas that hold nothing about customers. */
export const withoutPersonalData = [
  'schema_migrations', 'entities', 'users', 'memberships', 'tokens', 'service_tokens', 'login_attempts', 'invitations', 'password_resets',
  'server_keys', 'key_lookups',
  'systems_of_records', 'sor_api_keys', 'customer_attributes', 'imports', 'import_lanes', 'connections', 'keys/',
  'apps', 'app_groups', 'app_group_members', 'app_api_keys', 'app_token_keys', 'event_definitions', 'event_messages', 'ingested_batches',
  'push_certificates', 'labels', 'label_targets',
  'wallet_settings', 'wallet_texts', 'wallet_recipients', 'wallet_elements', 'wallet_purpose_elements',
  'data_exporters', 'export_runs', 'export_records', 'export_files',
  // Names nobody: of people there are ids in gdpr_request_people, and keyed hashes for exporters' lists, which go with the request.
  'gdpr_requests', 'gdpr_mails', 'notify_mails', 'export_deletions', 'tombstones/',
];
