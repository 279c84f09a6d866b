import { auditLog } from '../accounts/personal-data/audit-log.ts';
import { funnels } from '../analytics/personal-data/funnels.ts';
import { segmentMembers } from '../analytics/personal-data/segment-members.ts';
import { segments } from '../analytics/personal-data/segments.ts';
import { attributeChangeLog } from '../attributes/personal-data/attribute-change-log.ts';
import { attributeValues } from '../attributes/personal-data/attribute-values.ts';
import { customers } from '../attributes/personal-data/customers.ts';
import { campaigns } from '../campaigns/personal-data/campaigns.ts';
import { feedRequests } from '../feed/personal-data/feed-requests.ts';
import { fileJobs } from '../files/personal-data/file-jobs.ts';
import { files } from '../files/personal-data/files.ts';
import { dryRunIds } from '../imports/personal-data/dry-run-ids.ts';
import { importErrors } from '../imports/personal-data/import-errors.ts';
import { pinnedFiles } from '../imports/personal-data/pinned-files.ts';
import { dryRunSets } from '../syncs/personal-data/dry-run-sets.ts';
import { attempts } from '../sends/personal-data/attempts.ts';
import { campaignAudience } from '../sends/personal-data/campaign-audience.ts';
import { campaignMembers } from '../sends/personal-data/campaign-members.ts';
import { campaignPeople } from '../sends/personal-data/campaign-people.ts';
import { sendMessages } from '../sends/personal-data/send-messages.ts';
import { syncBatches } from '../syncs/personal-data/sync-batches.ts';
import { syncLog } from '../syncs/personal-data/sync-log.ts';
import { syncPinnedBatches } from '../syncs/personal-data/sync-pinned-batches.ts';
import { syncRecords } from '../syncs/personal-data/sync-records.ts';
import { syncRuns } from '../syncs/personal-data/sync-runs.ts';
import { syncs } from '../syncs/personal-data/syncs.ts';
import { crashes } from '../tracking/personal-data/crashes.ts';
import { deviceUsers } from '../tracking/personal-data/device-users.ts';
import { devices } from '../tracking/personal-data/devices.ts';
import { events } from '../tracking/personal-data/events.ts';
import { locations } from '../tracking/personal-data/locations.ts';
import { liveCalls } from '../tracking/personal-data/live-calls.ts';
import { refusedCalls } from '../tracking/personal-data/refused-calls.ts';
import { sessionHeads } from '../tracking/personal-data/session-heads.ts';
import { sessions } from '../tracking/personal-data/sessions.ts';
import { userAliases } from '../tracking/personal-data/user-aliases.ts';
import type { PersonalDataLocation } from './personal-data-location.ts';
import { archives } from './personal-data/archives.ts';
import { gdprHolds } from './personal-data/gdpr-holds.ts';
import { gdprIdentifiers } from './personal-data/gdpr-identifiers.ts';
import { gdprLeftIdentifiers } from './personal-data/gdpr-left-identifiers.ts';
import { gdprReceipts } from './personal-data/gdpr-receipts.ts';
import { gdprRequestPeople } from './personal-data/gdpr-request-people.ts';
import { idempotentRequests } from './personal-data/idempotent-requests.ts';
import { outboxMails } from './personal-data/outbox.ts';
import { scratch } from './personal-data/scratch.ts';
import { tombstoneBatches } from './personal-data/tombstone-batches.ts';
import { tombstones } from './personal-data/tombstones.ts';

/**
 * Every location that may hold something about a customer, in the order in which somebody is erased: the change log
 * before the customers, which are added from it, and batches before the records and errors that come of them; heads
 * before the sessions, and devices and members of segments before who used which device, by which they are found;
 * messages before the attempts that they become; files after the tables that they are built from; archives before the
 * rows that name their files; scratch folders after the jobs whose steps write there. A new table or file area joins
 * here, or the list below.
 */
export const personalData: PersonalDataLocation[] = [
  attributeValues,
  attributeChangeLog,
  customers,
  dryRunSets,
  dryRunIds,
  feedRequests,
  pinnedFiles,
  syncBatches,
  syncPinnedBatches,
  syncRecords,
  syncRuns,
  syncs,
  syncLog,
  importErrors,
  sessionHeads,
  sessions,
  events,
  locations,
  funnels,
  segments,
  segmentMembers,
  devices,
  deviceUsers,
  userAliases,
  crashes,
  refusedCalls,
  liveCalls,
  sendMessages,
  campaignAudience,
  campaignMembers,
  attempts,
  campaignPeople,
  campaigns,
  fileJobs,
  files,
  idempotentRequests,
  outboxMails,
  archives,
  gdprIdentifiers,
  gdprLeftIdentifiers,
  gdprRequestPeople,
  gdprHolds,
  scratch,
  auditLog,
  tombstones,
  tombstoneBatches,
  gdprReceipts,
];

/** Tables and file areas that hold nothing about customers. */
export const withoutPersonalData = [
  'schema_migrations',
  'entities',
  'users',
  'memberships',
  'tokens',
  'service_tokens',
  'login_attempts',
  'invitations',
  'password_resets',
  'server_keys',
  'key_lookups',
  'file_store',
  'store/',
  'systems_of_records',
  'sor_api_keys',
  'customer_attributes',
  'imports',
  'import_lanes',
  'connections',
  'keys/',
  'apps',
  'app_groups',
  'app_group_members',
  'app_api_keys',
  'app_token_keys',
  'event_definitions',
  'event_messages',
  'ingested_batches',
  'tracked_counts',
  'push_certificates',
  'push_providers',
  'labels',
  'label_targets',
  'segment_uses',
  'sends',
  'send_campaigns',
  'campaign_days',
  'control_group_days',
  'report_rollups',
  'send_paces',
  'outcome_deliveries',
  'wallet_settings',
  'wallet_texts',
  'wallet_recipients',
  'wallet_elements',
  'wallet_purpose_elements',
  'data_exporters',
  'export_runs',
  'run_alerts',
  'export_records',
  'export_files',
  'feed_waits',
  'deleted_entities',
  'internal_errors',
  'operator_notices',
  'unreadable_mails',
  'provider_refusals',
  'step_attempts',
  // Names nobody: of people there are ids in gdpr_request_people, and keyed hashes for exporters' lists, which go with
  // the request.
  'gdpr_requests',
  'gdpr_mails',
  'notify_mails',
  'export_deletions',
  'tombstones/',
  // Keys of files, which name nobody. The files are counted with their areas until they are gone.
  'file_deletions',
];
