/** The personal-data registry: all locations of all features, in the order in which an erasure goes through them. */
import { auditLog } from '../accounts/personal-data.ts';
import { analyticsData } from '../analytics/personal-data.ts';
import { attributesData } from '../attributes/personal-data.ts';
import { campaigns } from '../campaigns/personal-data.ts';
import type { Queryable } from '../core/database.ts';
import { feedRequests } from '../feed/personal-data.ts';
import { filesData } from '../files/personal-data.ts';
import { importsData } from '../imports/personal-data.ts';
import { sendsData } from '../sends/personal-data.ts';
import { syncsData } from '../syncs/personal-data.ts';
import { trackingData } from '../tracking/personal-data.ts';
import { coreData } from './core-personal-data.ts';
import { gdprData } from './personal-data.ts';
import { type ErasingLocation, type PersonalDataLocation, TABLES_OF_FILES } from './personal-data-location.ts';

/** All locations in the order of erasure. A new table or file area joins here, or `withoutPersonalData`. */
const ORDER =
  `attribute_values attribute_change_log customers dry_run_sets dry_run_ids feed_requests imports/ sync_batches
  sync_pinned_batches sync_records sync_runs syncs sync_log sync_requests import_errors session_heads sessions events locations funnels
  segments segment_members segment_changes devices device_users user_aliases crashes refused_calls live_calls send_messages
  campaign_audience campaign_members attempts campaign_people campaigns file_jobs files/ idempotent_requests outbox/ access/
  gdpr_identifiers gdpr_left_identifiers gdpr_request_people gdpr_holds scratch/ audit_log tombstones tombstone_batches
  gdpr_receipts`.split(/\s+/);

/** Locations that must be erased before a location: while one of these fails, it waits. */
const AFTER: Record<string, readonly string[]> = {
  // A customer is added for each entry of the log.
  customers: ['attribute_change_log'],
  // Batches become records.
  sync_records: ['sync_batches', 'sync_pinned_batches'],
  // Refused values of a feed become errors.
  import_errors: ['feed_requests'],
  // A session finds its head; a head that stayed would add calls to a session that is gone.
  sessions: ['session_heads'],
  // The users of a device tell whether it belongs to one person.
  device_users: ['devices', 'segment_members', 'segment_changes'],
  // A refresh that removes a member writes a change.
  segment_changes: ['segment_members'],
  // Messages become attempts.
  attempts: ['send_messages'],
  // Files are built from tables.
  'files/': TABLES_OF_FILES,
  // Rows name the archives.
  gdpr_request_people: ['access/'],
};

const BY_FEATURE: Readonly<Record<string, readonly PersonalDataLocation[]>> = {
  accounts: [auditLog],
  analytics: analyticsData,
  attributes: attributesData,
  campaigns: [campaigns],
  core: coreData,
  feed: [feedRequests],
  files: filesData,
  gdpr: gdprData,
  imports: importsData,
  sends: sendsData,
  syncs: syncsData,
  tracking: trackingData,
};

const described = new Map(
  Object.entries(BY_FEATURE).flatMap(([feature, locations]) =>
    locations.map((location) => [location.name, { location, feature }] as const),
  ),
);

/** Every location that may hold something about a customer. */
export const personalData = ORDER.map((name) => described.get(name)!.location);

/** Returns the feature that describes a location of the registry. */
export const featureOf = (name: string): string => described.get(name)!.feature;

/** The locations that name people. The others hold keyed hashes. */
export const erasingLocations = personalData.filter((location): location is ErasingLocation => location.erase !== null);

/** `after`: the locations that an erasure erases before it. */
export type LocationToErase = { name: string; after: readonly string[] };

export function toErase({ name }: ErasingLocation): LocationToErase {
  return { name, after: AFTER[name] ?? [] };
}

/** Lists the locations that may have something of an entity's people: file areas, and tables with rows. */
export async function listLocations(db: Queryable, entityId: number): Promise<LocationToErase[]> {
  const isArea = ({ name }: ErasingLocation) => name.endsWith('/');
  const tables = erasingLocations.filter((location) => !isArea(location));
  const { rows } = await db.query<{ name: string }>(
    tables
      .map(({ name }) => `SELECT '${name}' AS name WHERE EXISTS (SELECT FROM ${name} WHERE entity_id = $1)`)
      .join(' UNION ALL '),
    [entityId],
  );
  const occupied = new Set(rows.map(({ name }) => name));
  return erasingLocations.filter((location) => isArea(location) || occupied.has(location.name)).map(toErase);
}

/** Tables and file areas that hold nothing about customers. */
export const withoutPersonalData = [
  `schema_migrations entities users memberships tokens service_tokens login_attempts invitations password_resets
  server_keys key_lookups file_store store/ systems_of_records sor_api_keys customer_attributes imports import_lanes
  connections keys/ apps app_groups app_group_members app_api_keys app_token_keys event_definitions event_messages
  ingested_batches tracked_counts push_certificates push_providers labels label_targets segment_uses segment_days sends
  send_campaigns campaign_days push_outcome_days control_group_days report_rollups send_paces outcome_deliveries
  wallet_settings wallet_texts
  wallet_recipients wallet_elements wallet_purpose_elements data_exporters export_runs run_alerts export_records
  export_files feed_waits deleted_entities internal_errors operator_notices unreadable_mails provider_refusals
  step_attempts`,
  // Ids of a request's people are in gdpr_request_people; exporters' lists hold keyed hashes, and go with the request.
  'gdpr_requests gdpr_mails notify_mails export_deletions tombstones/',
  // Keys of files, which hold no id. The files count in their areas until they are deleted.
  'file_deletions',
].flatMap((names) => names.split(/\s+/));
